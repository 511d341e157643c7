"""Model options: sampling options, free per request, and load options, whose change needs a reload.

Source: ``api-native`` §6.
"""

from __future__ import annotations

import logging
import math
import re
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from orchestrator.errors import BadRequest, OrchestratorError

logger = logging.getLogger(__name__)

_INT64_MAX = 2**63 - 1


class InvalidOption(OrchestratorError):
    """An option of the wrong type (status 500 on the wire, as Ollama answers)."""


class InvalidParameter(BadRequest):
    """A parameter, given as text, that is unknown or has no such value."""


@dataclass(frozen=True, slots=True)
class Options:
    """Every option with its default. ``None`` is "not given" where that differs from a value."""

    # load options
    num_ctx: int = 0
    """Tokens of context per slot; 0 is settled by ``inference`` before a load."""
    num_batch: int = 512
    num_gpu: int = -1
    """Layers on the GPU; negative lets the engine decide."""
    main_gpu: int | None = None
    use_mmap: bool | None = None
    num_thread: int = 0
    draft_num_predict: int = 4
    # sampling options
    num_keep: int = 4
    seed: int = -1
    num_predict: int = -1
    top_k: int = 40
    top_p: float = 0.9
    min_p: float = 0.0
    typical_p: float = 1.0
    repeat_last_n: int = 64
    temperature: float = 0.8
    repeat_penalty: float = 1.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    stop: tuple[str, ...] = ()

    def updated(self, values: Mapping[str, Any]) -> Options:
        """These options with ``values`` on top, see ``read_options``. Raises ``InvalidOption``."""
        changes = read_options(values)
        return replace(self, **changes) if changes else self


def read_options(values: Mapping[str, Any]) -> dict[str, Any]:
    """The options among ``values`` of a request or Modelfile, by name.

    Unknown names are logged and ignored, ``None`` is as if not given. Raises ``InvalidOption``.
    """
    found: dict[str, Any] = {}
    for name, value in values.items():
        if value is None:
            continue
        reader = _READERS.get(name)
        if reader is None:
            logger.warning("invalid option provided", extra={"option": name, **_advice(name)})
        else:
            found[name] = reader(name, value)
    return found


OPTION_NAMES: frozenset[str] = frozenset(field.name for field in fields(Options))

WHOLE_OPTIONS: tuple[str, ...] = (
    "num_ctx", "num_batch", "num_gpu", "main_gpu", "num_thread", "draft_num_predict",
    "num_keep", "seed", "num_predict", "top_k", "repeat_last_n",
)  # fmt: skip
"""Options that are whole numbers."""

FLOAT_OPTIONS: tuple[str, ...] = (
    "top_p", "min_p", "typical_p", "temperature", "repeat_penalty", "presence_penalty", "frequency_penalty",
)  # fmt: skip
"""Options that are numbers in single precision."""

LOAD_OPTION_NAMES: tuple[str, ...] = (
    "num_ctx", "num_batch", "num_gpu", "main_gpu", "use_mmap", "num_thread", "draft_num_predict",
)  # fmt: skip


_RETIRED = {
    "mirostat": "use temperature, top_p and min_p",
    "mirostat_eta": "use temperature, top_p and min_p",
    "mirostat_tau": "use temperature, top_p and min_p",
    "tfs_z": "use min_p",
    "penalize_newline": "the penalties hold for all tokens alike",
    "num_gqa": "the model's file says it",
    "rope_frequency_base": "the model's file says it",
    "rope_frequency_scale": "the model's file says it",
    "f16_kv": "set OLLAMA_KV_CACHE_TYPE",
    "low_vram": "set num_gpu to fewer layers",
    "logits_all": "ask for logprobs",
    "vocab_only": "models are loaded whole",
    "use_mlock": "set use_mmap to true, and LLAMA_ARG_LOAD_MODE=mlock for the server",
    "numa": "set LLAMA_ARG_NUMA for the server",
    "embedding_only": "models for embeddings are recognised",
}
"""Options of earlier times that engines no longer have, with what to do instead."""


def _advice(name: str) -> dict[str, str]:
    """What to do about an option that nobody reads any more; nothing for a mere mistake."""
    return {"advice": f"it was removed: {_RETIRED[name]}"} if name in _RETIRED else {}


def float32(value: float) -> float:
    """``value`` rounded to single precision; out of its range is infinite."""
    try:
        rounded: float = struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)
    return rounded


def shortest_float32(value: float) -> float:
    """The number of fewest digits that is ``value`` in single precision; what is written as JSON."""
    rounded = float32(value)
    for digits in range(1, 9):
        candidate = float(f"{rounded:.{digits}g}")
        if float32(candidate) == rounded:
            return candidate
    return float(f"{rounded:.9g}")


def format_parameters(given: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Typed values of parameters given as text, as in a Modelfile or after ``/set parameter``.

    The first text counts, except for lists, which take all. Raises ``InvalidParameter`` with Ollama's words.
    """
    return {name: _typed(name, texts) for name, texts in given.items()}


def _typed(name: str, texts: Sequence[str]) -> Any:
    match _READERS.get(name):
        case None:
            raise InvalidParameter(f"unknown parameter '{name}'")
        case reader if reader is _strings:
            return list(texts)
        case reader:
            kind, parse = _PARSERS[reader]
            value = parse(texts[0])
            if value is None:
                raise InvalidParameter(f"invalid {kind} value [{' '.join(texts)}]")
            return value


def _parse_int(text: str) -> int | None:
    if not re.fullmatch(r"[+-]?[0-9]{1,400}", text):
        return None
    value = int(text)
    return value if -_INT64_MAX - 1 <= value <= _INT64_MAX else None


def _parse_float(text: str) -> float | None:
    if _DECIMAL_FLOAT.fullmatch(text):
        value = float(text)
    elif _HEX_FLOAT.fullmatch(text):
        value = float.fromhex(text.replace("_", ""))
    else:
        return None
    return shortest_float32(value) if math.isfinite(float32(value)) else None


_DIGITS, _HEX_DIGITS = r"[0-9]+(?:_[0-9]+)*", r"_?[0-9a-fA-F]+(?:_[0-9a-fA-F]+)*"
_DECIMAL_FLOAT = re.compile(rf"[+-]?(?:{_DIGITS}\.?(?:{_DIGITS})?|\.{_DIGITS})(?:[eE][+-]?[0-9]+)?")
_HEX_FLOAT = re.compile(
    rf"[+-]?0[xX](?:{_HEX_DIGITS}\.?(?:{_HEX_DIGITS})?|\.{_HEX_DIGITS})[pP][+-]?[0-9]{{1,4}}"
)

_BOOL_WORDS = {
    **dict.fromkeys(("1", "t", "T", "TRUE", "true", "True"), True),
    **dict.fromkeys(("0", "f", "F", "FALSE", "false", "False"), False),
}


def _int(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidOption(f'option "{name}" must be of type integer')
    # JSON numbers pass through doubles on their way, so larger integers lose their last digits
    return int(max(-_INT64_MAX - 1, min(_double(value), _INT64_MAX)))


def _float(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidOption(f'option "{name}" must be of type float32')
    return float32(_double(value))


def _double(value: float) -> float:
    try:
        return float(value)
    except OverflowError:  # an integer of more than 308 digits
        return math.inf if value > 0 else -math.inf


def _bool(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise InvalidOption(f'option "{name}" must be of type boolean')
    return value


def _strings(name: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise InvalidOption(f'option "{name}" must be of type array')
    if not all(isinstance(entry, str) for entry in value):
        raise InvalidOption(f'option "{name}" must be of an array of strings')
    return tuple(value)


_READERS: Mapping[str, Callable[[str, Any], Any]] = {
    **dict.fromkeys(WHOLE_OPTIONS, _int),
    "use_mmap": _bool,
    **dict.fromkeys(FLOAT_OPTIONS, _float),
    "stop": _strings,
}

_PARSERS: Mapping[Callable[[str, Any], Any], tuple[str, Callable[[str], Any]]] = {
    _int: ("int", _parse_int),
    _float: ("float", _parse_float),
    _bool: ("bool", _BOOL_WORDS.get),
}
"""How the text of a parameter is parsed, by the reader of its JSON value."""
