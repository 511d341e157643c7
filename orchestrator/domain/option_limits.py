"""Options beyond what any engine can take.

They are settled before anything is loaded, and before anything leaves to make room for it: held to the
largest value an engine reads where that means the same, refused where nothing does.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from orchestrator.domain.options import Options
from orchestrator.errors import BadRequest

MOST_THREADS = 512
"""Source: ggml ``GGML_MAX_N_THREADS``."""

_BUDGET_PER_CONTEXT = 10
_CHEAP_LOOK_BACK = 1 << 16

INT_MIN, INT_MAX = -(2**31), 2**31 - 1
HELD_OPTIONS = ("num_batch", "num_gpu", "draft_num_predict", "num_keep", "top_k", "repeat_last_n")
"""Where more than there can be is all of them. The window bounds ``num_predict``; a seed may be anything."""


class OptionOutOfRange(BadRequest):
    """An option no engine can be given, and that no other value stands for."""


def within_limits(options: Options) -> Options:
    """What an engine is given in place of ``options``. Raises ``OptionOutOfRange``."""
    if options.num_ctx > INT_MAX:
        raise OptionOutOfRange(
            f'option "num_ctx" is {options.num_ctx}, and no context window is larger than {INT_MAX} tokens'
        )
    if options.main_gpu is not None and not INT_MIN <= options.main_gpu <= INT_MAX:
        raise OptionOutOfRange(f'option "main_gpu" is {options.main_gpu}, and there is no such GPU')
    changes: dict[str, Any] = {name: _held(getattr(options, name)) for name in HELD_OPTIONS}
    if options.num_thread > MOST_THREADS:
        changes["num_thread"] = 0
    changes = {name: value for name, value in changes.items() if value != getattr(options, name)}
    return replace(options, **changes) if changes else options


def longest_answer(num_ctx: int) -> int:
    """The largest budget of tokens that is passed on; an unlimited one becomes it."""
    return _BUDGET_PER_CONTEXT * num_ctx


def longest_look_back(num_ctx: int) -> int:
    """The largest ``repeat_last_n`` that is passed on, for the engine reserves room for each token."""
    return max(num_ctx + longest_answer(num_ctx), _CHEAP_LOOK_BACK)


def _held(value: int) -> int:
    return max(INT_MIN, min(value, INT_MAX))
