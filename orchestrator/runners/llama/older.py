"""Engines of another release than ours: what to do about a flag that one does not know.

An engine says so itself, at once, and ends. What only makes a start quicker or quieter is left out the next
time; without anything else a model would not be served as it was asked for, so that is an error.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from orchestrator.errors import RunnerFailed

DISPENSABLE = {
    "--no-webui": 0,
    "--offline": 0,
    "--metrics": 0,
    "--no-log-prefix": 0,
    "--no-log-timestamps": 0,
    "--no-warmup": 0,
    "--fit": 1,
    "--cache-ram": 1,
    "--spec-draft-backend-sampling": 0,
}
"""Flags that an engine may lack, with how many values follow each."""

_UNKNOWN = re.compile(r"error: invalid argument: (--?[\w-]+)")


class UnknownFlag(RunnerFailed):
    """An engine ended because it does not know a flag that it needs to know."""

    hint = (
        "the engine is older or newer than the release this program was made for; "
        "build that one with `orch engine build`, or unset ORCH_LLAMA_SERVER"
    )

    def __init__(self, message: str, flag: str) -> None:
        super().__init__(message)
        self.flag = flag


def unknown_flag(words: str) -> str | None:
    """The flag that an engine complains about in its last words."""
    match = _UNKNOWN.search(words)
    return match[1] if match else None


def without(argv: Sequence[str], lacking: Collection[str]) -> tuple[str, ...]:
    """``argv`` without dispensable flags that an engine lacks."""
    return tuple(_without(argv, lacking)) if lacking else tuple(argv)


def _without(argv: Sequence[str], lacking: Collection[str]) -> Iterator[str]:
    skip = 0
    for word in argv:
        if skip:
            skip -= 1
        elif word in lacking:
            skip = DISPENSABLE[word]
        else:
            yield word
