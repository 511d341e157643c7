"""The records of a native reply to chat and generate, written token by token.

What runs once per token is one call of the JSON codec for its text and one join of bytes: everything around
the text is prepared once per reply, the time once per batch.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import orjson

from orchestrator.api.disclosures import told, warning_members
from orchestrator.api.logprobs import logprob_members
from orchestrator.api.native.convert import tool_call_members, usage_members
from orchestrator.domain.chunks import Chunk, Done, DoneReason, Item, folded
from orchestrator.inference.reply import Generation, RenderedPrompt
from orchestrator.units import rfc3339_utc
from orchestrator.wire.json import dumps

_TEXT = b"\0"


class Shape(Protocol):
    """What differs between the records of chat and of generate: the members and their order."""

    empty: Mapping[str, Any]
    """The member that carries text, empty of everything."""

    def text(self, text: bytes) -> bytes:
        """A record of text alone, from its first own member to the end of the line."""

    def partial(self, chunk: Chunk) -> dict[str, Any]:
        """A record of more than text, or of none."""

    def final(self, chunk: Chunk, done: Done, metrics: Mapping[str, int]) -> dict[str, Any]:
        """The last record."""


class ChatShape:
    """``message`` with role and content."""

    empty: Mapping[str, Any] = {"message": {"role": "", "content": ""}}

    def text(self, text: bytes) -> bytes:
        return b'"message":{"role":"assistant","content":' + text + b'},"done":false}\n'

    def partial(self, chunk: Chunk) -> dict[str, Any]:
        return {"message": self._message(chunk), "done": False, **_logprobs(chunk)}

    def final(self, chunk: Chunk, done: Done, metrics: Mapping[str, int]) -> dict[str, Any]:
        ending = {"done": True, "done_reason": str(done.reason)}
        return {"message": self._message(chunk), **ending, **_logprobs(chunk), **metrics}

    def _message(self, chunk: Chunk) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": chunk.content}
        if chunk.thinking:
            message["thinking"] = chunk.thinking
        if chunk.tool_calls:
            message["tool_calls"] = tool_call_members(chunk.tool_calls)
        return message


class GenerateShape:
    """``response`` and, at the end, ``context``. Tool calls appear in the last record alone."""

    empty: Mapping[str, Any] = {"response": ""}

    def text(self, text: bytes) -> bytes:
        return b'"response":' + text + b',"done":false}\n'

    def partial(self, chunk: Chunk) -> dict[str, Any]:
        return {**self._response(chunk), "done": False, **_logprobs(chunk)}

    def final(self, chunk: Chunk, done: Done, metrics: Mapping[str, int]) -> dict[str, Any]:
        record = {**self._response(chunk), "done": True, "done_reason": str(done.reason)}
        if done.context:
            record["context"] = list(done.context)
        record |= metrics
        if chunk.tool_calls:
            record["tool_calls"] = tool_call_members(chunk.tool_calls)
        return record | _logprobs(chunk)

    def _response(self, chunk: Chunk) -> dict[str, Any]:
        response = {"response": chunk.content}
        return response | {"thinking": chunk.thinking} if chunk.thinking else response


class Records:
    """Writes the records of one generation. ``warnings`` join those of the generation."""

    def __init__(
        self, model: str, shape: Shape, generation: Generation, warnings: Sequence[str] = ()
    ) -> None:
        self._model = model
        self._shape = shape
        self._generation = generation
        self._warnings = warnings
        self._prefix = b'{"model":' + dumps(model) + b',"created_at":"'
        before, after = shape.text(_TEXT).split(_TEXT)
        self._before_text, self._after_text = b'",' + before, after

    def lines(self, batch: Sequence[Item]) -> bytes:
        """One line per item. A chunk of text alone takes the short way."""
        now = rfc3339_utc(time.time_ns())
        head = self._prefix + now.encode() + self._before_text
        tail, encode = self._after_text, orjson.dumps
        out: list[bytes] = []
        batch, last = _with_the_last(batch)
        for item in batch:
            if isinstance(item, Done):
                out.append(dumps(self._final(last, item, now)) + b"\n")
            elif item.thinking or item.tool_calls or item.logprobs:
                out.append(dumps(self._record(now) | self._shape.partial(item)) + b"\n")
            else:
                out.append(head + encode(item.content) + tail)
        return b"".join(out)

    def folded(self, items: Sequence[Item]) -> bytes:
        """The whole reply as one object, without a line end."""
        whole, done = folded(items)
        return dumps(self._final(whole, done, rfc3339_utc(time.time_ns())))

    def _final(self, chunk: Chunk, done: Done, now: str) -> dict[str, Any]:
        metrics = usage_members(
            done.usage,
            total_duration_ns=time.perf_counter_ns() - self._generation.started_ns,
            load_duration_ns=self._generation.load_duration_ns,
        )
        record = self._record(now) | self._shape.final(chunk, done, metrics)
        return record | told(done, self._generation, self._warnings)

    def _record(self, now: str) -> dict[str, Any]:
        return {"model": self._model, "created_at": now}


def _with_the_last(batch: Sequence[Item]) -> tuple[Sequence[Item], Chunk]:
    """``batch``, and the calls that go along in the last record because they came with the end."""
    if len(batch) < 2 or not isinstance(batch[-1], Done):
        return batch, Chunk()
    match batch[-2]:
        case Chunk("", "", calls, ()) if calls:
            return [*batch[:-2], batch[-1]], Chunk(tool_calls=calls)
    return batch, Chunk()


def residency_record(model: str, shape: Shape, reason: DoneReason, warnings: Sequence[str] = ()) -> bytes:
    """The answer to a request that only loads or unloads."""
    record = {"model": model, "created_at": rfc3339_utc(time.time_ns())}
    return dumps(record | shape.final(Chunk(), Done(reason), {}) | warning_members(warnings))


def debug_record(model: str, shape: Shape, rendered: RenderedPrompt) -> bytes:
    """The answer to ``_debug_render_only``."""
    info: dict[str, Any] = {"rendered_template": rendered.prompt}
    if rendered.media_count:
        info["image_count"] = rendered.media_count
    record = {"model": model, "created_at": rfc3339_utc(time.time_ns()), **shape.empty}
    return dumps(record | {"done": False, "_debug_info": info})


def _logprobs(chunk: Chunk) -> dict[str, Any]:
    return {"logprobs": logprob_members(chunk.logprobs)} if chunk.logprobs else {}
