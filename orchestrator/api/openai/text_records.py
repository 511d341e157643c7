"""The events and the reply of ``/v1/completions``. Thoughts are no part of the text, though they count.

Source: ``api-compat`` §3.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import orjson

from orchestrator.api.disclosures import told
from orchestrator.api.openai.answers import Answer, Costs, Question, total_usage
from orchestrator.api.openai.identity import FINGERPRINT
from orchestrator.api.openai.members import END, debug_members, usage_members
from orchestrator.domain.chunks import Chunk, Done, Item, TokenLogprob, Usage
from orchestrator.inference.reply import Generation, RenderedPrompt
from orchestrator.wire.json import dumps

_KIND = "text_completion"


class TextEvents:
    """Writes the events of one choice."""

    def __init__(self, question: Question, index: int, costs: Costs) -> None:
        self._question = question
        self._index = index
        self._costs = costs
        self._prefix = dumps({"id": question.identity.id, "object": _KIND})[:-1] + b',"created":'
        self._names = {"model": question.identity.model, "system_fingerprint": FINGERPRINT}
        usage = {"usage": usage_members(Usage())} if question.include_usage else {}
        self._suffix = dumps({**self._names, **usage})[1:-1]
        self._offset = _echoed(question)

    def opening(self) -> bytes:
        """An event without text."""
        return self.encode([Chunk()])

    def encode(self, batch: Sequence[Item], source: Generation | None = None) -> bytes:
        """The events of ``batch`` of ``source``. A chunk of text alone takes the short way."""
        created = str(int(time.time())).encode()
        head = b"data: " + self._prefix + created + b',"choices":[{"text":'
        place = b',"index":' + str(self._index).encode() + b',"finish_reason":'
        tail = place + b"null}]," + self._suffix + b"}\n\n"
        out: list[bytes] = []
        for item in batch:
            if isinstance(item, Done):
                out.append(head + b'""' + place + self._finish(item, source))
                out += self._ending(item, created)
            elif item.logprobs:
                logprobs = dumps({"logprobs": self._logprobs(item)})[1:]
                rest = b"null," + logprobs + b"]," + self._suffix + b"}\n\n"
                out.append(head + orjson.dumps(item.content) + place + rest)
            else:
                out.append(head + orjson.dumps(item.content) + tail)
        return b"".join(out)

    def _finish(self, done: Done, source: Generation | None) -> bytes:
        """The end of a choice's last event, from the reason on."""
        more = told(done, source, self._question.warnings)
        end = b"," + dumps(more)[1:] if more else b"}"
        return orjson.dumps(str(done.reason)) + b"}]," + self._suffix + end + b"\n\n"

    def _logprobs(self, chunk: Chunk) -> dict[str, Any]:
        members = logprob_columns(chunk.logprobs, self._offset)
        self._offset += sum(len(entry.token) for entry in chunk.logprobs)
        return members

    def _ending(self, done: Done, created: bytes) -> list[bytes]:
        """What follows the end of the choice: behind the last one, the end of all."""
        total = self._costs.total_after(self._index, done.usage)
        if total is None:
            return []
        if not self._question.include_usage:
            return [END]
        usage = {"choices": [], **self._names, "usage": usage_members(total)}
        return [b"data: " + self._prefix + created + b"," + dumps(usage)[1:] + b"\n\n", END]


class TextForm:
    """Completions."""

    def events(self, question: Question, index: int, costs: Costs) -> TextEvents:
        return TextEvents(question, index, costs)

    def whole(self, question: Question, answers: Sequence[Answer]) -> dict[str, Any]:
        return {
            **question.identity.members(_KIND),
            "choices": [_choice(question, index, answer) for index, answer in enumerate(answers)],
            "usage": usage_members(total_usage([answer.done.usage for answer in answers])),
            **told(answers[-1].done, answers[-1].source, question.warnings),
        }

    def rendered(self, question: Question, prompt: RenderedPrompt) -> dict[str, Any]:
        return {
            **question.identity.members(_KIND),
            "choices": [{"text": "", "index": 0, "finish_reason": None}],
            "usage": usage_members(Usage()),
            "_debug_info": debug_members(prompt),
        }


def logprob_columns(logprobs: Sequence[TokenLogprob], offset: int = 0) -> dict[str, Any]:
    """Log probabilities in the older form, a list per column; ``offset`` is where the first token stands."""
    offsets = []
    for entry in logprobs:
        offsets.append(offset)
        offset += len(entry.token)
    return {
        "tokens": [entry.token for entry in logprobs],
        "token_logprobs": [entry.logprob for entry in logprobs],
        "top_logprobs": [{top.token: top.logprob for top in entry.top} for entry in logprobs],
        "text_offset": offsets,
    }


def _choice(question: Question, index: int, answer: Answer) -> dict[str, Any]:
    choice: dict[str, Any] = {
        "text": answer.whole.content,
        "index": index,
        "finish_reason": str(answer.done.reason),
    }
    if answer.whole.logprobs:
        choice["logprobs"] = logprob_columns(answer.whole.logprobs, _echoed(question))
    return choice


def _echoed(question: Question) -> int:
    """How many characters of the prompt stand in front of the answer."""
    return sum(len(chunk.content) for chunk in question.echo)
