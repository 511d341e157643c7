"""EmbeddingGemma: ``Gemma3TextModel``, with two dense layers behind the pooling.

Source: ``gguf-convert`` §5.2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from orchestrator.create.convert.base import OutputTensor
from orchestrator.create.convert.config import Config
from orchestrator.create.convert.decoder import (
    LAYER_NAMES,
    QK_NORM_NAMES,
    SANDWICH_NORM_NAMES,
    Metadata,
    decoder_file,
    head_lengths,
    standard_sizes,
)
from orchestrator.create.convert.encoder import pooling_of
from orchestrator.create.convert.errors import ConversionFailed
from orchestrator.create.convert.gemma import norms_from_zero, rope_bases, vocabulary_rows
from orchestrator.create.convert.naming import Renaming
from orchestrator.create.convert.tensors import output_tensor, renamed_tensors, tensors_of
from orchestrator.create.convert.tokenizer import read_tokenizer

if TYPE_CHECKING:
    from orchestrator.create.convert.base import GgufContent
    from orchestrator.create.convert.folder import ModelFolder

_NAMES = Renaming(
    {
        "embed_tokens.": "token_embd.",
        "layers.": "blk.",
        **LAYER_NAMES,
        **QK_NORM_NAMES,
        **SANDWICH_NORM_NAMES,
    }
)
_DENSE = {"2_Dense": "dense_2", "3_Dense": "dense_3"}
_WEIGHTS, _DENSE_WEIGHT = "model.safetensors", "linear.weight"
_CONTEXT, _EPSILON = 2048, 1e-6


def convert_embeddinggemma(folder: ModelFolder, config: Config) -> GgufContent:
    """The content of a ``gemma-embedding`` file."""
    modules = _modules(folder)
    keys = standard_sizes(config) | head_lengths(config.uint("head_dim"))
    keys |= {
        "context_length": keys["context_length"] or _CONTEXT,
        "attention.layer_norm_rms_epsilon": keys["attention.layer_norm_rms_epsilon"] or _EPSILON,
        "attention.sliding_window": config.uint("sliding_window"),
        **rope_bases(config),
        "pooling_type": pooling_of(folder, modules),
    }
    dense = []
    for path, name in _DENSE.items():
        keys |= _dense_keys(folder, path, name)
        dense.append(_dense_weight(folder, path, f"{name}.weight"))
    tokenizer = read_tokenizer(folder)
    if rows := config.uint("vocab_size"):
        tokenizer = tokenizer.cut(rows)
    renamed = norms_from_zero(renamed_tensors(folder, _renamed, config=config))
    tensors = vocabulary_rows(renamed, len(tokenizer.tokens), config)
    return decoder_file(folder, config, "gemma-embedding", keys, [*tensors, *dense], tokenizer)


def _renamed(name: str) -> str:
    bare = name.removeprefix("model.")
    return "output_norm.weight" if bare == "norm.weight" else _NAMES(bare)


def _modules(folder: ModelFolder) -> list[Any]:
    if not folder.has("modules.json"):
        raise ConversionFailed("embeddinggemma requires sentence-transformers modules.json")
    modules = folder.json("modules.json")
    if not isinstance(modules, list) or not all(isinstance(module, dict) for module in modules):
        raise ConversionFailed("parse modules.json: not a list of modules")
    paths = {str(module.get("path")) for module in modules}
    if any(path not in paths or not folder.has(f"{path}/{_WEIGHTS}") for path in _DENSE):
        raise ConversionFailed("embeddinggemma requires sentence-transformers 2_Dense and 3_Dense modules")
    return modules


def _dense_keys(folder: ModelFolder, path: str, name: str) -> Metadata:
    config = Config(folder.object(f"{path}/config.json"), path)
    if config.flag("bias"):
        raise ConversionFailed(f"embeddinggemma dense layer {path} has unsupported bias")
    sizes: Metadata = {
        f"{name}_feat_in": config.uint("in_features"),
        f"{name}_feat_out": config.uint("out_features"),
    }
    if not all(sizes.values()):
        raise ConversionFailed("embeddinggemma dense layer config missing in/out features")
    return sizes


def _dense_weight(folder: ModelFolder, path: str, name: str) -> OutputTensor:
    file = f"{path}/{_WEIGHTS}"
    for source in tensors_of(folder, file):
        if source.name == _DENSE_WEIGHT:
            return output_tensor(name, source)
    raise ConversionFailed(f"embeddinggemma dense module {file} missing {_DENSE_WEIGHT}")
