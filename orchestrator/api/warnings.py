"""What is told of names in a request that nobody knows."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from orchestrator.domain.options import OPTION_NAMES

logger = logging.getLogger(__name__)


def request_warnings(
    unknown: Sequence[str], options: Mapping[str, Any], known: Collection[str]
) -> tuple[str, ...]:
    """One text for each of the ``unknown`` keys and for each option there is none of (case B067).

    ``known`` are the keys that may have been meant. Of options there are, the inference tells more.
    """
    strange = (name for name, value in options.items() if value is not None and name not in OPTION_NAMES)
    return (*_ignored("key", unknown, known), *_ignored("option", strange, OPTION_NAMES))


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
