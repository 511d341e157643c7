"""What in the environment is hardly meant: names that nobody reads, settings that undo one another."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING

from orchestrator.domain.durations import KeepAlive

if TYPE_CHECKING:
    from orchestrator.config import Config
    from orchestrator.environment import Environ, Variable

PREFIXES = ("OLLAMA_", "ORCH_")
"""What names of variables begin with that can only be for us."""


def unread(environ: Environ, known: Collection[str]) -> tuple[str, ...]:
    """The variables for us that nobody reads."""
    return tuple(sorted(name for name in environ if name.startswith(PREFIXES) and name not in known))


def told_of_unread(names: Iterable[str], known: Collection[str]) -> str:
    """One line for all of them, each with the name that may have been meant."""
    from difflib import get_close_matches  # takes long, and is hardly ever needed

    close = {name: get_close_matches(name, known, n=1, cutoff=0.8) for name in names}
    parts = (f"{name} (did you mean {found[0]}?)" if found else name for name, found in close.items())
    return f"unknown environment variables ignored: {', '.join(parts)}"


def contradictions(config: Config) -> Iterator[str]:
    """One text for each pair of settings that cannot both hold, and for what holds."""
    low, high, usual = config.keep_alive_min, config.keep_alive_max, config.keep_alive
    if low.ns > high.ns:
        yield f"ORCH_KEEP_ALIVE_MIN={low} is more than ORCH_KEEP_ALIVE_MAX={high}: {low} holds for all"
    elif "OLLAMA_KEEP_ALIVE" in config.given and not low.ns <= usual.ns <= high.ns:
        bound, value = ("MIN", low) if usual.ns < low.ns else ("MAX", high)
        yield f"OLLAMA_KEEP_ALIVE={_shown(usual)} is beyond ORCH_KEEP_ALIVE_{bound}={value}: {value} holds"
    if config.llama_server is not None and config.engine == "embedded":
        yield "ORCH_LLAMA_SERVER names an engine, ORCH_ENGINE=embedded another: ORCH_LLAMA_SERVER holds"


def unequal_aliases(environ: Environ, variables: Iterable[Variable]) -> Iterator[str]:
    """One text for each variable whose other spelling says something else; values may be secret."""
    for variable in variables:
        texts = {name: text for name in (variable.name, *variable.aliases) if (text := environ.get(name))}
        if len(set(texts.values())) > 1:
            first, *others = texts
            yield f"{first} and {', '.join(others)} differ: {first} holds"


def _shown(value: KeepAlive) -> str:
    return "for ever" if value.is_forever else str(value)
