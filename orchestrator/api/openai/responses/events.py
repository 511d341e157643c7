"""The events of a streamed response. Source: ``api-compat`` §6.5.

One item is open at a time: it is closed before the next one begins, so that indices count up and each item
has one. The keys of an event are sorted, as clients of Ollama know them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import orjson

from orchestrator.api.logprobs import logprob_members
from orchestrator.api.openai.arguments import arguments_text
from orchestrator.api.openai.responses import output
from orchestrator.api.openai.responses.frame import ResponseFrame, random_number
from orchestrator.api.openai.responses.output import Item
from orchestrator.domain.chunks import Chunk, TokenLogprob, ToolCall, Usage

_MARK = "\0"
_MARK_JSON = b'"\\u0000"'
_NUMBER_MARK = -(1 << 40)
_NUMBER_JSON = str(_NUMBER_MARK).encode()


class ResponseEvents:
    """Writes the events of one response. A chunk of text alone takes the short way."""

    def __init__(self, frame: ResponseFrame) -> None:
        self._frame = frame
        self._number = 0
        self._finished: list[Item] = []
        self._message: _OpenText | None = None
        self._reasoning: _OpenText | None = None
        self._had_message = False

    def begin(self) -> bytes:
        """The first two events."""
        response = self._frame.begun()
        return self._event("response.created", response=response) + self._event(
            "response.in_progress", response=response
        )

    def encode(self, chunks: Sequence[Chunk]) -> bytes:
        """The events of what was generated."""
        out: list[bytes] = []
        for chunk in chunks:
            if self._message and not (chunk.thinking or chunk.tool_calls or chunk.logprobs):
                if chunk.content:
                    out.append(self._message.delta(chunk.content, self._next()))
            else:
                out += self._general(chunk)
        return b"".join(out)

    def search_begins(self, number: int, query: str) -> bytes:
        """A search is under way."""
        id_ = self._frame.search_id(number)
        closing = self._close()
        item = output.search_item(id_, query, begun=True)
        place = {"item_id": id_, "output_index": self._index}
        return b"".join(
            [
                *closing,
                self._event("response.output_item.added", output_index=self._index, item=item),
                self._event("response.web_search_call.in_progress", **place),
                self._event("response.web_search_call.searching", **place),
            ]
        )

    def search_ends(self, number: int, query: str) -> bytes:
        """It has brought results."""
        id_ = self._frame.search_id(number)
        done = self._event("response.web_search_call.completed", item_id=id_, output_index=self._index)
        return done + self._done(output.search_item(id_, query))

    def end(self, usage: Usage, told: dict[str, Any]) -> bytes:
        """The last events; ``told`` are members of our own."""
        closing = b"".join(self._close())
        response = self._frame.completed(self._finished or None, usage, told)
        return closing + self._event("response.completed", response=response)

    def failed(self, message: str, code: str = "api_error", usage: Usage | None = None) -> bytes:
        """The end of a response that broke off."""
        return self._event("response.failed", response=self._frame.failed(message, code, usage))

    @property
    def _index(self) -> int:
        """The place of the open item, or of the next one."""
        return len(self._finished)

    def _general(self, chunk: Chunk) -> list[bytes]:
        out: list[bytes] = []
        if chunk.thinking:
            out += self._open_reasoning()
            assert self._reasoning is not None
            out.append(self._reasoning.delta(chunk.thinking, self._next()))
        if chunk.content:
            out += self._open_message()
            assert self._message is not None
            if chunk.logprobs:
                out.append(self._delta_with_logprobs(self._message, chunk))
            else:
                out.append(self._message.delta(chunk.content, self._next()))
        for number, call in enumerate(chunk.tool_calls):
            out += self._close()
            out += self._call(number, call)
        return out

    def _open_reasoning(self) -> list[bytes]:
        if self._reasoning:
            return []
        closing = self._close()
        id_ = f"rs_{random_number()}"
        template = {"item_id": id_, "output_index": self._index, "summary_index": 0}
        self._reasoning = _OpenText(id_, "response.reasoning_summary_text.delta", template)
        item = output.reasoning_item(id_, None)
        return [*closing, self._event("response.output_item.added", output_index=self._index, item=item)]

    def _open_message(self) -> list[bytes]:
        if self._message:
            return []
        closing = self._close()
        number = self._frame.number
        id_ = f"msg_{number}_{self._index - 1}" if self._had_message else f"msg_{random_number()}"
        self._had_message = True
        place = {"item_id": id_, "output_index": self._index, "content_index": 0}
        self._message = _OpenText(id_, "response.output_text.delta", {**place, "logprobs": []})
        item = output.message_item(id_, None)
        return [
            *closing,
            self._event("response.output_item.added", output_index=self._index, item=item),
            self._event("response.content_part.added", **place, part=output.text_part("")),
        ]

    def _close(self) -> list[bytes]:
        if reasoning := self._reasoning:
            self._reasoning = None
            place = {"item_id": reasoning.id, "output_index": self._index, "summary_index": 0}
            done = self._event("response.reasoning_summary_text.done", **place, text=reasoning.text)
            return [done, self._done(output.reasoning_item(reasoning.id, reasoning.text))]
        if message := self._message:
            self._message = None
            place = {"item_id": message.id, "output_index": self._index, "content_index": 0}
            part = output.text_part(message.text, message.logprobs)
            return [
                self._event(
                    "response.output_text.done", **place, text=message.text, logprobs=part["logprobs"]
                ),
                self._event("response.content_part.done", **place, part=part),
                self._done(output.message_item(message.id, part)),
            ]
        return []

    def _call(self, number: int, call: ToolCall) -> list[bytes]:
        """One of the calls that came together, which are numbered from 0."""
        id_ = f"fc_{random_number()}_{number}"
        place = {"item_id": id_, "output_index": self._index}
        arguments = arguments_text(call.arguments)
        begun = output.call_item(id_, call, begun=True)
        return [
            self._event("response.output_item.added", output_index=self._index, item=begun),
            self._event("response.function_call_arguments.delta", **place, delta=arguments),
            self._event("response.function_call_arguments.done", **place, arguments=arguments),
            self._done(output.call_item(id_, call)),
        ]

    def _done(self, item: Item) -> bytes:
        index = self._index
        self._finished.append(item)
        return self._event("response.output_item.done", output_index=index, item=item)

    def _delta_with_logprobs(self, message: _OpenText, chunk: Chunk) -> bytes:
        message.keep(chunk.content, chunk.logprobs)
        members = {**message.place, "logprobs": logprob_members(chunk.logprobs)}
        return self._event("response.output_text.delta", **members, delta=chunk.content)

    def _next(self) -> int:
        number, self._number = self._number, self._number + 1
        return number

    def _event(self, kind: str, **members: Any) -> bytes:
        return _event(kind, {**members, "type": kind, "sequence_number": self._next()})


class _OpenText:
    """An item that text is added to, its event prepared around the text."""

    def __init__(self, id_: str, kind: str, place: dict[str, Any]) -> None:
        self.id = id_
        self.place = place
        self.logprobs: list[TokenLogprob] = []
        self._texts: list[str] = []
        whole = _event(kind, {**place, "delta": _MARK, "sequence_number": _NUMBER_MARK, "type": kind})
        self._before, rest = whole.split(_MARK_JSON)
        self._between, self._after = rest.split(_NUMBER_JSON)

    @property
    def text(self) -> str:
        """All of it so far."""
        return "".join(self._texts)

    def keep(self, text: str, logprobs: Sequence[TokenLogprob] = ()) -> None:
        """Remember text that was sent."""
        self._texts.append(text)
        self.logprobs += logprobs

    def delta(self, text: str, number: int) -> bytes:
        """The event that adds ``text``."""
        self._texts.append(text)
        return self._before + orjson.dumps(text) + self._between + b"%d" % number + self._after


def _event(kind: str, members: dict[str, Any]) -> bytes:
    return b"event: " + kind.encode() + b"\ndata: " + _sorted_json(members) + b"\n\n"


def _sorted_json(value: Any) -> bytes:
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except orjson.JSONEncodeError:  # integers beyond 64 bits
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
        return text.encode(errors="replace")
