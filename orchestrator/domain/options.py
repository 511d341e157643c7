"""Model options: sampling options, free per request, and load options, whose change needs a reload.

Source: ``api-native`` §6.
"""

from __future__ import annotations

import logging
import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from orchestrator.errors import OrchestratorError

logger = logging.getLogger(__name__)


class InvalidOption(OrchestratorError):
    """An option of the wrong type (status 500 on the wire, as Ollama answers)."""


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
        """These options with ``values`` of a request or Modelfile on top, key by key.

        Unknown names are logged and ignored, ``None`` keeps what is there. Raises ``InvalidOption``.
        """
        changes: dict[str, Any] = {}
        for name, value in values.items():
            reader = _READERS.get(name)
            if reader is None:
                logger.warning("invalid option provided", extra={"option": name})
            elif value is not None:
                changes[name] = reader(name, value)
        return replace(self, **changes) if changes else self


OPTION_NAMES: frozenset[str] = frozenset(field.name for field in fields(Options))

LOAD_OPTION_NAMES: tuple[str, ...] = (
    "num_ctx", "num_batch", "num_gpu", "main_gpu", "use_mmap", "num_thread", "draft_num_predict",
)  # fmt: skip


def float32(value: float) -> float:
    """``value`` rounded to single precision; out of its range is infinite."""
    try:
        rounded: float = struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)
    return rounded


def _int(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidOption(f'option "{name}" must be of type integer')
    # JSON numbers pass through doubles on their way, so larger integers lose their last digits
    return int(float(value))


def _float(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidOption(f'option "{name}" must be of type float32')
    return float32(float(value))


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


_READERS = {
    **dict.fromkeys(("num_ctx", "num_batch", "num_gpu", "main_gpu", "num_thread", "draft_num_predict"), _int),
    **dict.fromkeys(("num_keep", "seed", "num_predict", "top_k", "repeat_last_n"), _int),
    "use_mmap": _bool,
    **dict.fromkeys(("top_p", "min_p", "typical_p", "temperature", "repeat_penalty"), _float),
    **dict.fromkeys(("presence_penalty", "frequency_penalty"), _float),
    "stop": _strings,
}
