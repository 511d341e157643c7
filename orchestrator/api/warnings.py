"""What is told of the parts of a request that have no effect.

Most are names that nobody knows. What else a dialect passes over, its own module says in the words of
``no_effect``.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from orchestrator.domain.option_limits import remarks
from orchestrator.domain.options import OPTION_NAMES

logger = logging.getLogger(__name__)


def request_warnings(
    unknown: Sequence[str], options: Mapping[str, Any], known: Collection[str]
) -> tuple[str, ...]:
    """One text for each of the ``unknown`` keys, for each option there is none of (case B067), and for each
    whose value does not count as it is.

    ``known`` are the keys that may have been meant.
    """
    strange = (name for name, value in options.items() if value is not None and name not in OPTION_NAMES)
    return (*_ignored("key", unknown, known), *_ignored("option", strange, OPTION_NAMES), *remarks(options))


def no_effect(where: str, why: str) -> str:
    """The text for a value that is passed over."""
    return f"{where} has no effect: {why}"


def logged(passed_over: Iterable[str]) -> tuple[str, ...]:
    """The same texts, the operator told of them as well."""
    texts = tuple(passed_over)
    if texts:
        logger.warning("values in request ignored: %s", "; ".join(texts))
    return texts


def _ignored(what: str, names: Iterable[str], known: Collection[str]) -> Iterable[str]:
    for name in names:
        close = get_close_matches(name.rpartition(".")[2], known, n=1)
        hint = f', did you mean "{close[0]}"?' if close else ""
        yield f'unknown {what} "{name}" ignored{hint}'
