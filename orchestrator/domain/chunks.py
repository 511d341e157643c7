"""What a generation gives: chunks of output, then one ``Done``.

``Chunk`` is created once per token, so it is a named tuple: immutable, and cheap to build.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple


class TopLogprob(NamedTuple):
    """One alternative the model weighed at a position."""

    token: str
    logprob: float


class TokenLogprob(NamedTuple):
    """The token that was taken, its log probability, and the alternatives asked for."""

    token: str
    logprob: float
    top: tuple[TopLogprob, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call the model wants made. ``arguments`` keeps the order of keys and exact integers."""

    name: str
    arguments: Mapping[str, Any]
    index: int = 0
    """Place among the calls of one response, from 0."""
    id: str = ""


class Chunk(NamedTuple):
    """A piece of a generation. Any of the fields may be empty."""

    content: str = ""
    thinking: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    logprobs: tuple[TokenLogprob, ...] = ()


class DoneReason(StrEnum):
    """Why a reply ended, in Ollama's words."""

    STOP = "stop"
    LENGTH = "length"
    LOAD = "load"
    UNLOAD = "unload"


class StopDetail(StrEnum):
    """What ended the generation, told apart more finely than ``DoneReason`` (case B007)."""

    EOS = "eos"
    """The model ended its turn."""
    STOP_SEQUENCE = "stop_sequence"
    BUDGET = "num_predict"
    """The token budget of the request was used up."""
    WINDOW = "context_full"
    """The context window was full."""
    REPEAT = "repetition"
    """The guard against endless repetition."""
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Usage:
    """What a generation cost, as the engine counted it. Durations are nanoseconds."""

    prompt_tokens: int = 0
    """Tokens of the prompt, those reused from the engine's cache included."""
    cached_tokens: int = 0
    prompt_duration_ns: int = 0
    completion_tokens: int = 0
    completion_duration_ns: int = 0
    draft_tokens: int = 0
    draft_accepted: int = 0


@dataclass(frozen=True, slots=True)
class Done:
    """The end of a generation: always the last item, exactly one."""

    reason: DoneReason
    usage: Usage = Usage()
    detail: StopDetail = StopDetail.UNKNOWN
    stop_sequence: str = ""
    """The stop string that was met, when one was."""
    context: tuple[int, ...] = ()
    """Token ids of prompt and reply, where the request wants them (generate)."""
    warnings: tuple[str, ...] = ()
    """What of the request the answer did not meet."""


Item = Chunk | Done
"""What streams are made of."""

Batches = AsyncGenerator[Sequence[Item], None]
"""A stream: one batch, never an empty one, per read of the socket. Whoever opens it closes it."""


def folded(items: Iterable[Item]) -> tuple[Chunk, Done]:
    """A whole stream as one chunk and its end; one that was left before its end just stopped."""
    chunks: list[Chunk] = []
    done = Done(DoneReason.STOP)
    for item in items:
        if isinstance(item, Done):
            done = item
        else:
            chunks.append(item)
    whole = Chunk(
        "".join(chunk.content for chunk in chunks),
        "".join(chunk.thinking for chunk in chunks),
        tuple(call for chunk in chunks for call in chunk.tool_calls),
        tuple(entry for chunk in chunks for entry in chunk.logprobs),
    )
    return whole, done
