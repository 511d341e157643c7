"""The command line of the embedded engine: llama-server's own flags, in one table.

Each flag names the parameter of the wheel it sets and how its text is read. A flag that is not in the
table is an error, as it is for llama-server, so that a launch plan never loses a setting without anybody
noticing.

Source: ``llama-server`` §3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import xllamacpp
from xllamacpp import CommonParams

Setter = Callable[[CommonParams, str], None]


class InvalidArgument(Exception):
    """A flag the engine does not know, or a value it cannot read; str() is llama-server's own line."""


@dataclass(frozen=True, slots=True)
class Flag:
    """One flag: what it does to the parameters, and whether a value follows it."""

    names: tuple[str, ...]
    apply: Setter
    takes_value: bool = True


def parse_flags(argv: Sequence[str]) -> CommonParams:
    """The parameters ``argv`` (without the program's name) asks for. Raises ``InvalidArgument``."""
    params = CommonParams()
    words = iter(argv)
    for word in words:
        flag = _BY_NAME.get(word)
        if flag is None:
            raise InvalidArgument(f"error: invalid argument: {word}")
        text = next(words, None) if flag.takes_value else ""
        if text is None:
            raise InvalidArgument(f"error: expected value for argument: {word}")
        try:
            flag.apply(params, text)
        except (ValueError, KeyError, OverflowError) as error:
            raise InvalidArgument(f'error while handling argument "{word}": invalid value: {text}') from error
    return params


def _value(*names: str, to: str, read: Callable[[str], Any] = str) -> Flag:
    """A flag whose value goes to the parameters ``to``: dotted paths, more than one parted by blanks."""

    def apply(params: CommonParams, text: str) -> None:
        value = read(text)
        for path in to.split():
            _assign(params, path, value)

    return Flag(names, apply)


def _switch(*names: str, to: str, value: Any = True) -> Flag:
    """A flag without a value that sets the parameter ``to``."""
    return Flag(names, lambda params, _: _assign(params, to, value), takes_value=False)


def _ignored(*names: str) -> Flag:
    """A flag that asks for what the wheel does anyway, or cannot do without any harm."""
    return Flag(names, lambda _params, _text: None, takes_value=False)


def _assign(params: CommonParams, path: str, value: Any) -> None:
    *parents, name = path.split(".")
    setattr(reduce(getattr, parents, params), name, value)


def _one_of(**choices: Any) -> Callable[[str], Any]:
    """A reader of a fixed set of words; underscores stand for dashes."""
    words = {word.replace("_", "-"): value for word, value in choices.items()}
    return lambda text: words[text]


def _on_off(text: str) -> bool:
    return {"on": True, "off": False}[text]


def _cache_type(text: str) -> Any:
    return xllamacpp.ggml_type[f"GGML_TYPE_{text.upper()}"]


def _speculative_types(text: str) -> list[Any]:
    kinds = xllamacpp.common_speculative_type
    return [kinds[f"COMMON_SPECULATIVE_TYPE_{kind.upper().replace('-', '_')}"] for kind in text.split(",")]


def _add_adapters(params: CommonParams, text: str) -> None:
    # several adapters may be given at once, parted by commas, as in llama-server
    added = [xllamacpp.CommonAdapterLoraInfo(path, 1.0) for path in text.split(",")]
    params.lora_adapters = [*params.lora_adapters, *added]


def _rerank(params: CommonParams, _text: str) -> None:
    params.embedding = True
    params.pooling_type = xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_RANK


_FLASH_ATTENTION = _one_of(
    auto=xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_AUTO,
    on=xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_ENABLED,
    off=xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED,
)
_LOAD_MODE = _one_of(
    auto=xllamacpp.llama_load_mode.LLAMA_LOAD_MODE_AUTO,
    none=xllamacpp.llama_load_mode.LLAMA_LOAD_MODE_NONE,
    mmap=xllamacpp.llama_load_mode.LLAMA_LOAD_MODE_MMAP,
    mlock=xllamacpp.llama_load_mode.LLAMA_LOAD_MODE_MLOCK,
    dio=xllamacpp.llama_load_mode.LLAMA_LOAD_MODE_DIRECT_IO,
)
_SPLIT_MODE = _one_of(
    none=xllamacpp.llama_split_mode.LLAMA_SPLIT_MODE_NONE,
    layer=xllamacpp.llama_split_mode.LLAMA_SPLIT_MODE_LAYER,
    row=xllamacpp.llama_split_mode.LLAMA_SPLIT_MODE_ROW,
    tensor=xllamacpp.llama_split_mode.LLAMA_SPLIT_MODE_TENSOR,
)
_POOLING = _one_of(
    none=xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_NONE,
    mean=xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN,
    cls=xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_CLS,
    last=xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_LAST,
    rank=xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_RANK,
)

FLAGS: tuple[Flag, ...] = (
    # where the model is, where to listen
    _value("-m", "--model", to="model.path"),
    _value("--host", to="hostnames", read=lambda text: [text]),
    _value("--port", to="port", read=int),
    _value("--api-key", to="api_keys", read=lambda text: text.split(",")),
    _value("--threads-http", to="n_threads_http", read=int),
    _value("--sse-ping-interval", to="sse_ping_interval", read=int),
    _switch("--no-webui", "--no-ui", to="ui", value=False),
    _switch("--offline", to="offline"),
    _switch("--metrics", to="endpoint_metrics"),
    _switch("--slots", to="endpoint_slots"),
    _switch("--no-slots", to="endpoint_slots", value=False),
    # context and slots
    _value("-c", "--ctx-size", to="n_ctx", read=int),
    _value("-np", "--parallel", to="n_parallel", read=int),
    _value("-b", "--batch-size", to="n_batch", read=int),
    _value("-ub", "--ubatch-size", to="n_ubatch", read=int),
    _value("--keep", to="n_keep", read=int),
    _switch("--context-shift", to="ctx_shift"),
    _switch("--no-context-shift", to="ctx_shift", value=False),
    _value("-ctk", "--cache-type-k", to="cache_type_k", read=_cache_type),
    _value("-ctv", "--cache-type-v", to="cache_type_v", read=_cache_type),
    _value("-cram", "--cache-ram", to="cache_ram_mib", read=int),
    _switch("-kvu", "--kv-unified", to="kv_unified"),
    # computing
    _value("-fa", "--flash-attn", to="flash_attn_type", read=_FLASH_ATTENTION),
    _value("-t", "--threads", to="cpuparams.n_threads cpuparams_batch.n_threads", read=int),
    _value("-tb", "--threads-batch", to="cpuparams_batch.n_threads", read=int),
    _value("-ngl", "--gpu-layers", "--n-gpu-layers", to="n_gpu_layers", read=int),
    _value("-sm", "--split-mode", to="split_mode", read=_SPLIT_MODE),
    _value("-mg", "--main-gpu", to="main_gpu", read=int),
    _value("-fit", "--fit", to="fit_params", read=_on_off),
    _value("-fitc", "--fit-ctx", to="fit_params_min_ctx", read=int),
    _switch("--warmup", to="warmup"),
    _switch("--no-warmup", to="warmup", value=False),
    _value("--load-mode", to="load_mode", read=_LOAD_MODE),
    # templates and output
    _switch("--jinja", to="use_jinja"),
    _switch("--no-jinja", to="use_jinja", value=False),
    _value("--chat-template", to="chat_template"),
    _switch("--prefill-assistant", to="prefill_assistant"),
    _switch("--no-prefill-assistant", to="prefill_assistant", value=False),
    # embeddings
    _switch("--embedding", "--embeddings", to="embedding"),
    _value("--pooling", to="pooling_type", read=_POOLING),
    Flag(("--rerank", "--reranking"), _rerank, takes_value=False),
    # projectors, adapters, drafts
    _value("-mm", "--mmproj", to="mmproj.path"),
    _switch("--mmproj-offload", to="mmproj_use_gpu"),
    _switch("--no-mmproj-offload", to="mmproj_use_gpu", value=False),
    _value("--image-min-tokens", to="image_min_tokens", read=int),
    _value("--image-max-tokens", to="image_max_tokens", read=int),
    Flag(("--lora",), _add_adapters),
    _value("--spec-type", to="speculative.types", read=_speculative_types),
    _value("--spec-draft-n-max", to="speculative.draft.n_max", read=int),
    _value("--spec-draft-n-min", to="speculative.draft.n_min", read=int),
    _value("--spec-draft-model", to="speculative.draft.mparams.path"),
    _switch("--spec-draft-backend-sampling", to="speculative.draft.backend_sampling"),
    # the log: the wheel always writes prefixes, which the reader of the log takes off
    _value("-lv", "--verbosity", "--log-verbosity", to="verbosity", read=int),
    _ignored("--no-log-prefix", "--no-log-timestamps"),
)

_BY_NAME: Mapping[str, Flag] = {name: flag for flag in FLAGS for name in flag.names}
