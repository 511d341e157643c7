"""What is told of names in a request that nobody knows: of keys, options and roles."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from orchestrator.domain.options import OPTION_NAMES

logger = logging.getLogger(__name__)

_ROLES = ("system", "user", "assistant", "tool", "developer")


def request_warnings(
    unknown: Sequence[str], options: Mapping[str, Any], known: Collection[str]
) -> tuple[str, ...]:
    """One text for each of the ``unknown`` keys and for each option there is none of (case B067).

    ``known`` are the keys that may have been meant. Of options there are, the inference tells more.
    """
    strange = (name for name, value in options.items() if value is not None and name not in OPTION_NAMES)
    return (*_ignored("key", unknown, known), *_ignored("option", strange, OPTION_NAMES))


def unusual_roles(roles: Iterable[str]) -> Iterator[str]:
    """One text for each message whose role a template may not know."""
    for index, role in enumerate(roles):
        if role in _ROLES:
            continue
        if not role:
            yield f"messages[{index}] has no role: the model's template may leave it out"
            continue
        meant = _meant(role, _ROLES)
        usual = f'did you mean "{meant}"?' if meant else f"usual are {', '.join(_ROLES)}"
        yield f'messages[{index}].role "{role}" counts only where the model\'s template knows it; {usual}'


def logged(passed_over: Iterable[str]) -> tuple[str, ...]:
    """The same texts, the operator told of them as well."""
    texts = tuple(passed_over)
    if texts:
        logger.warning("values in request ignored: %s", "; ".join(texts))
    return texts


def _ignored(what: str, names: Iterable[str], known: Collection[str]) -> Iterable[str]:
    for name in names:
        meant = _meant(name.rpartition(".")[2], known)
        hint = f', did you mean "{meant}"?' if meant else ""
        yield f'unknown {what} "{name}" ignored{hint}'


def _meant(word: str, known: Collection[str]) -> str:
    """The known word that comes closest; empty if none is close."""
    return next(iter(get_close_matches(word, known, n=1)), "")
