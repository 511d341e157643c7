"""Options beyond what any engine can take.

They are settled before anything is loaded, and before anything leaves to make room for it: held to the
largest value an engine reads where that means the same, refused where nothing does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from orchestrator.domain.options import WHOLE_OPTIONS, Options
from orchestrator.errors import BadRequest

MOST_THREADS = 512
"""Source: ggml ``GGML_MAX_N_THREADS``."""

_INT_MIN, _INT_MAX = -(2**31), 2**31 - 1
_INT64_MIN, _INT64_MAX = -(2**63), 2**63 - 1
_HELD = ("num_batch", "num_gpu", "draft_num_predict", "num_keep", "top_k", "repeat_last_n")
"""Where more than there can be is all of them. The window bounds ``num_predict``; a seed may be anything."""


class OptionOutOfRange(BadRequest):
    """An option no engine can be given, and that no other value stands for."""


def within_limits(options: Options) -> Options:
    """What an engine is given in place of ``options``. Raises ``OptionOutOfRange``."""
    if options.num_ctx > _INT_MAX:
        raise OptionOutOfRange(
            f'option "num_ctx" is {options.num_ctx}, and no context window is larger than {_INT_MAX} tokens'
        )
    if options.main_gpu is not None and not _INT_MIN <= options.main_gpu <= _INT_MAX:
        raise OptionOutOfRange(f'option "main_gpu" is {options.main_gpu}, and there is no such GPU')
    changes: dict[str, Any] = {name: _held(getattr(options, name)) for name in _HELD}
    if options.num_thread > MOST_THREADS:
        changes["num_thread"] = 0
    changes = {name: value for name, value in changes.items() if value != getattr(options, name)}
    return replace(options, **changes) if changes else options


def remarks(options: Mapping[str, Any]) -> Iterator[str]:
    """What is told of ``options`` of a request or model whose values do not count as they are."""
    for name, value in options.items():
        if name not in WHOLE_OPTIONS or isinstance(value, bool) or not isinstance(value, int | float):
            continue
        if not _INT64_MIN <= value <= _INT64_MAX:
            yield f'option "{name}" is out of range: it counts as {_INT64_MAX if value > 0 else _INT64_MIN}'
        if name == "num_thread" and value > MOST_THREADS:
            yield no_effect(name, f"an engine takes {MOST_THREADS} threads at most, so it uses one per core")
        if name == "num_batch" and value < 1:
            yield no_effect(name, "nothing is read in batches so small, so the engine uses its own size")


def no_effect(name: str, why: str) -> str:
    """The remark on an option that is set aside."""
    return f'option "{name}" has no effect: {why}'


def _held(value: int) -> int:
    return max(_INT_MIN, min(value, _INT_MAX))
