"""The events of a streamed reply, written token by token.

What runs once per token is one call of the JSON codec for its text and one join of bytes; the rest of an
event of text is prepared when its block begins.

::

    (nothing) ─first item→ message_start ─┬─ text or thought → block open ─┐
                                          │         ↑ deltas ↺             │
                                          ├─ call → a block of its own ←───┤ another kind closes it
                                          └─ end → message_delta, message_stop

Source: ``api-compat`` §8.4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

import orjson

from orchestrator.api.anthropic.ending import stop_members, usage_members
from orchestrator.api.anthropic.message import MessageFrame, signature
from orchestrator.api.anthropic.searches import failed_search
from orchestrator.domain.chunks import Chunk, Done, Item, ToolCall
from orchestrator.inference.output import new_call_id
from orchestrator.inference.reply import Generation
from orchestrator.wire.json import dumps

PING = b'event: ping\ndata: {"type":"ping"}\n\n'

_TEXT = "text"
_THINKING = "thinking"
_EMPTY: dict[str, dict[str, str]] = {
    _TEXT: {"type": "text", "text": ""},
    _THINKING: {"type": "thinking", "thinking": "", "signature": ""},
}


@dataclass(slots=True)
class _Open:
    """A block whose end has not come."""

    kind: str
    before: bytes
    """An event of text in this block, up to the text."""


class Events:
    """Writes the events of one message."""

    def __init__(self, frame: MessageFrame, source: Generation | None = None) -> None:
        self._frame = frame
        self._source = source
        self._out: list[bytes] = []
        self._started = False
        self._index = 0
        self._open: _Open | None = None
        self._thought: list[str] = []
        self._thought_is_over = False
        self._called: set[str] = set()
        self._search: ToolCall | None = None

    def encode(self, batch: Sequence[Item]) -> bytes:
        """The events of a batch."""
        if not self._started:
            self._start(batch)
        encode = orjson.dumps
        for item in batch:
            if isinstance(item, Done):
                self._end(item)
                continue
            content, thinking, calls, _ = item
            if thinking:
                self._think(thinking)
            if content:
                block = self._open
                if block is None or block.kind != _TEXT:
                    block = self._begin(_TEXT)
                self._out.append(block.before + encode(content) + b"}}\n\n")
            for call in calls:
                self._call(call)
        out, self._out = self._out, []
        return b"".join(out)

    def _start(self, batch: Sequence[Item]) -> None:
        """The opening event, as soon as there is more than a search, which is told at the end."""
        shown = [item for item in batch if not self._is_only_search(item)]
        if not shown:
            return
        # calls and the end are one record in Ollama: what opens the message knows the true count
        known = shown[1] if _is_only_calls(shown[0]) and len(shown) > 1 else shown[0]
        counted = known.usage.prompt_tokens if isinstance(known, Done) else 0
        self._open_message(counted or self._frame.estimate)

    def _is_only_search(self, item: Item) -> bool:
        return _is_only_calls(item) and all(map(self._frame.is_search, item.tool_calls))

    def _open_message(self, input_tokens: int) -> None:
        self._started = True
        usage = {"input_tokens": input_tokens, "output_tokens": 0}
        unknown = {"stop_reason": None, "stop_sequence": None}
        self._put("message_start", message={**self._frame.members, "content": [], **unknown, "usage": usage})

    def _think(self, thinking: str) -> None:
        """Thoughts are one block: those after its end are not told, as Ollama does."""
        if self._thought_is_over:
            return
        block = self._open
        if block is None or block.kind != _THINKING:
            block = self._begin(_THINKING)
        if self._frame.signed:
            self._thought.append(thinking)
        self._out.append(block.before + dumps(thinking) + b"}}\n\n")

    def _call(self, call: ToolCall) -> None:
        """A call is a block of its own; one whose id was sent already is a repetition."""
        if self._frame.is_search(call):
            self._search = self._search or call
            return
        if call.id in self._called:
            return
        self._close()
        id_ = call.id or new_call_id()
        self._called.add(id_)
        self._put_start({"type": "tool_use", "id": id_, "name": call.name, "input": {}})
        delta = {"type": "input_json_delta", "partial_json": dumps(call.arguments).decode()}
        self._put("content_block_delta", index=self._index, delta=delta)
        self._put_stop()

    def _end(self, done: Done) -> None:
        self._close()
        if self._search is not None:
            for block in failed_search(self._search, self._frame.id):
                self._put_start(block)
                self._put_stop()
        ending = stop_members(done, self._frame.stops, calls_tool=bool(self._called))
        told = self._frame.disclosures(done, self._source)
        self._put("message_delta", delta=ending, usage=usage_members(done.usage), **told)
        self._put("message_stop")

    def _begin(self, kind: str) -> _Open:
        """Open a block of text or thoughts in place of the one that is open."""
        self._close()
        self._put_start(_EMPTY[kind])
        head = b'event: content_block_delta\ndata: {"type":"content_block_delta","index":%d,' % self._index
        block = _Open(kind, head + b'"delta":{"type":"%b_delta","%b":' % (kind.encode(), kind.encode()))
        self._open = block
        return block

    def _close(self) -> None:
        """End the open block, if there is one."""
        if self._open is None:
            return
        if self._open.kind == _THINKING:
            self._thought_is_over = True
            if self._frame.signed:
                delta = {"type": "signature_delta", "signature": signature("".join(self._thought))}
                self._put("content_block_delta", index=self._index, delta=delta)
        self._open = None
        self._put_stop()

    def _put_start(self, block: dict[str, Any]) -> None:
        self._put("content_block_start", index=self._index, content_block=block)

    def _put_stop(self) -> None:
        self._put("content_block_stop", index=self._index)
        self._index += 1

    def _put(self, event: str, **members: Any) -> None:
        self._out.append(b"event: %b\ndata: %b\n\n" % (event.encode(), dumps({"type": event, **members})))


def _is_only_calls(item: Item) -> TypeGuard[Chunk]:
    return isinstance(item, Chunk) and bool(item.tool_calls) and not item.content and not item.thinking
