"""The events of a chat completion, written token by token.

What runs once per token is one call of the JSON codec for its text and one join of bytes; everything around
the text is prepared once per answer. Source: ``api-compat`` §2.6.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from orchestrator.api.disclosures import told
from orchestrator.api.logprobs import logprob_members
from orchestrator.api.openai.answers import Answer, Costs, Question, total_usage
from orchestrator.api.openai.members import END, debug_members, event, tool_call_members, usage_members
from orchestrator.domain.chunks import Chunk, Done, DoneReason, Item, TokenLogprob, Usage
from orchestrator.inference.reply import Generation, RenderedPrompt

_TEXT = b'"\\u0000"'


class ChatEvents:
    """Writes the events of one choice."""

    def __init__(self, question: Question, index: int, costs: Costs) -> None:
        self._question = question
        self._index = index
        self._costs = costs
        self._common = question.identity.members("chat.completion.chunk")
        self._opened = self._called_tools = False
        self._head, _, self._tail = self._event({"content": "\0"}).rpartition(_TEXT)  # names may be odd, too

    def encode(self, batch: Sequence[Item], source: Generation | None = None) -> bytes:
        """The events of ``batch`` of ``source``. A chunk of text alone takes the short way."""
        out: list[bytes] = []
        head, tail, encode = self._head, self._tail, orjson.dumps
        for item in batch:
            if isinstance(item, Done):
                out += self._finished(item, source)
            elif item.thinking or item.tool_calls or item.logprobs or not self._opened:
                out += self._chunk(item)
            else:
                out.append(head + encode(item.content) + tail)
        return b"".join(out)

    def opening(self) -> bytes:
        """An event without content, as it stands before any."""
        return self._event({"role": "assistant", "content": ""})

    def _chunk(self, chunk: Chunk) -> list[bytes]:
        """Content and thoughts never share an event."""
        delta: dict[str, Any] = {} if self._opened else {"role": "assistant"}
        self._opened = True
        rest: dict[str, Any] = {"content": chunk.content}
        if chunk.tool_calls:
            self._called_tools = True
            rest["tool_calls"] = tool_call_members(chunk.tool_calls)
        if not chunk.thinking:
            return [self._event(delta | rest, chunk.logprobs)]
        if not chunk.content and not chunk.tool_calls:
            return [self._event(delta | rest | {"reasoning": chunk.thinking}, chunk.logprobs)]
        return [self._event(delta | {"reasoning": chunk.thinking}, chunk.logprobs), self._event(rest)]

    def _finished(self, done: Done, source: Generation | None) -> list[bytes]:
        """The end of the choice, and behind the last one the end of all."""
        out = [] if self._opened else [self.opening()]
        finish = finish_reason(done.reason, called_tools=self._called_tools)
        out.append(self._event({}, finish=finish, more=told(done, source, self._question.warnings)))
        total = self._costs.total_after(self._index, done.usage)
        if total is None:
            return out
        if self._question.include_usage:
            out.append(event({**self._common, "choices": [], "usage": usage_members(total)}))
        return [*out, END]

    def _event(
        self,
        delta: Mapping[str, Any],
        logprobs: Sequence[TokenLogprob] = (),
        *,
        finish: str | None = None,
        more: Mapping[str, Any] | None = None,
    ) -> bytes:
        choice: dict[str, Any] = {"index": self._index, "delta": delta, "finish_reason": finish}
        if logprobs:
            choice["logprobs"] = {"content": logprob_members(logprobs)}
        return event({**self._common, "choices": [choice], **(more or {})})


class ChatForm:
    """Chat completions."""

    def events(self, question: Question, index: int, costs: Costs) -> ChatEvents:
        return ChatEvents(question, index, costs)

    def whole(self, question: Question, answers: Sequence[Answer]) -> dict[str, Any]:
        return {
            **question.identity.members("chat.completion"),
            "choices": [_choice(index, answer) for index, answer in enumerate(answers)],
            "usage": usage_members(total_usage([answer.done.usage for answer in answers])),
            **told(answers[-1].done, answers[-1].source, question.warnings),
        }

    def rendered(self, question: Question, prompt: RenderedPrompt) -> dict[str, Any]:
        return {
            **question.identity.members("chat.completion"),
            "choices": [{"index": 0, "message": {"role": "", "content": ""}, "finish_reason": None}],
            "usage": usage_members(Usage()),
            "_debug_info": debug_members(prompt),
        }


def finish_reason(reason: DoneReason, *, called_tools: bool) -> str:
    """Why the answer ended; one that only stopped in order to call tools says so."""
    return "tool_calls" if called_tools and reason == DoneReason.STOP else str(reason)


def _choice(index: int, answer: Answer) -> dict[str, Any]:
    content, thinking, calls, logprobs = answer.whole
    message: dict[str, Any] = {"role": "assistant", "content": content}
    if thinking:
        message["reasoning"] = thinking
    if calls:
        message["tool_calls"] = tool_call_members(calls)
    finish = finish_reason(answer.done.reason, called_tools=bool(calls))
    choice: dict[str, Any] = {"index": index, "message": message, "finish_reason": finish}
    if logprobs:
        choice["logprobs"] = {"content": logprob_members(logprobs)}
    return choice
