"""LoRA adapters, as PEFT and MLX write them, for models of Llama and Gemma 2.

Source: ``gguf-convert`` §6.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from orchestrator.create.convert.base import GgufContent
from orchestrator.create.convert.config import Config
from orchestrator.create.convert.decoder import LAYER_NAMES, Metadata
from orchestrator.create.convert.errors import ConversionFailed
from orchestrator.create.convert.naming import Renaming
from orchestrator.create.convert.reshaping import rotated, transposed
from orchestrator.create.convert.tensors import renamed_tensors

if TYPE_CHECKING:
    from orchestrator.create.convert.base import OutputTensor
    from orchestrator.create.convert.folder import ModelFolder
    from orchestrator.files.gguf import GgufConfig

_NAMES = Renaming(
    {
        "base_model.model.": "",
        "model.layers": "blk",
        **LAYER_NAMES,
        "lora_A.weight": "weight.lora_a",
        "lora_B.weight": "weight.lora_b",
        "lora_a": "weight.lora_a",
        "lora_b": "weight.lora_b",
    }
)
_LLAMA, _GEMMA2 = "llama", "gemma2"
_DOWN, _UP = ".lora_a", ".lora_b"


def convert_adapter(folder: ModelFolder, base: GgufConfig) -> GgufContent:
    """The content of an adapter's file for the model that ``base`` tells of. Raises ``ConversionFailed``."""
    config = Config(folder.object("adapter_config.json"), "adapter")
    if base.architecture not in (_LLAMA, _GEMMA2):
        raise ConversionFailed("unsupported architecture")
    metadata: Metadata = {
        "general.type": "adapter",
        "general.file_type": 1,
        "general.version": "v0.2",
        "adapter.type": "lora",
        "adapter.lora.alpha": config.section("lora_parameters").float("alpha") or config.float("lora_alpha"),
    }
    heads = base.uint("attention.head_count")
    key_heads = base.uint("attention.head_count_kv") or heads
    if base.architecture == _LLAMA:
        metadata |= {"attention.head_count": heads, "attention.head_count_kv": key_heads}
    tensors = _oriented(folder)
    if base.architecture == _LLAMA:
        tensors = rotated(tensors, heads, key_heads)
    return GgufContent(base.architecture, metadata, list(tensors))


def _oriented(folder: ModelFolder) -> Iterator[OutputTensor]:
    """The tensors with the rank where the engine wants it; MLX has rows and columns exchanged."""
    for tensor in renamed_tensors(folder, _NAMES):
        if len(tensor.shape) != 2:
            raise ConversionFailed(f'tensor "{tensor.name}" of shape {list(tensor.shape)} is no matrix')
        rows, columns = tensor.shape
        turned = rows > columns if tensor.name.endswith(_DOWN) else rows < columns
        yield transposed(tensor) if turned and tensor.name.endswith((_DOWN, _UP)) else tensor
