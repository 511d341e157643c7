"""The events and the reply of ``/v1/completions``. Thoughts are no part of the text, though they count.

Source: ``api-compat`` §3.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from orchestrator.api.disclosures import disclosures
from orchestrator.api.openai.members import FINGERPRINT, choices_usage, usage_members
from orchestrator.api.openai.records import END, Answer, Identity
from orchestrator.domain.chunks import Chunk, Done, Item, TokenLogprob, Usage
from orchestrator.inference.reply import Overflow, RenderedPrompt
from orchestrator.wire.json import dumps

_KIND = "text_completion"


class TextEvents:
    """Writes the events of one reply; its choices follow one another."""

    def __init__(self, identity: Identity, *, include_usage: bool = False, choices: int = 1) -> None:
        self._prefix = dumps({"id": identity.id, "object": _KIND})[:-1] + b',"created":'
        suffix: dict[str, Any] = {"model": identity.model, "system_fingerprint": FINGERPRINT}
        if include_usage:
            suffix["usage"] = usage_members(Usage())
        self._suffix = dumps(suffix)[1:-1]
        self._model = identity.model
        self._include_usage = include_usage
        self._last_choice = choices - 1
        self._index = 0
        self._usages: list[Usage] = []
        self._offset = 0

    def encode(self, batch: Sequence[Item], overflow: Overflow | None = None) -> bytes:
        """The events of ``batch``. A chunk of text alone takes the short way."""
        created = str(int(time.time())).encode()
        head = b"data: " + self._prefix + created + b',"choices":[{"text":'
        place = b',"index":' + str(self._index).encode() + b',"finish_reason":'
        tail = place + b"null}]," + self._suffix + b"}\n\n"
        out: list[bytes] = []
        for item in batch:
            if isinstance(item, Done):
                out.append(head + b'""' + place + self._finish(item, overflow))
                out += self._ending(item, created)
            elif item.logprobs:
                logprobs = dumps({"logprobs": self._logprobs(item)})[1:]
                rest = b"null," + logprobs + b"]," + self._suffix + b"}\n\n"
                out.append(head + orjson.dumps(item.content) + place + rest)
            else:
                out.append(head + orjson.dumps(item.content) + tail)
        return b"".join(out)

    def _finish(self, done: Done, overflow: Overflow | None) -> bytes:
        """The end of a choice's last event, from the reason on."""
        more = disclosures(done, overflow)
        end = b"," + dumps(more)[1:] if more else b"}"
        return orjson.dumps(str(done.reason)) + b"}]," + self._suffix + end + b"\n\n"

    def _logprobs(self, chunk: Chunk) -> dict[str, Any]:
        members = logprob_columns(chunk.logprobs, self._offset)
        self._offset += sum(len(entry.token) for entry in chunk.logprobs)
        return members

    def _ending(self, done: Done, created: bytes) -> list[bytes]:
        """What follows the end of a choice."""
        self._usages.append(done.usage)
        self._offset = 0
        self._index += 1
        if self._index <= self._last_choice:
            return []
        if not self._include_usage:
            return [END]
        usage = {
            "choices": [],
            "model": self._model,
            "system_fingerprint": FINGERPRINT,
            "usage": usage_members(choices_usage(self._usages)),
        }
        return [b"data: " + self._prefix + created + b"," + dumps(usage)[1:] + b"\n\n", END]


def text_completion(identity: Identity, answers: Sequence[Answer]) -> dict[str, Any]:
    """The whole reply, one choice per answer."""
    return {
        **identity.members(_KIND),
        "choices": [_choice(index, answer) for index, answer in enumerate(answers)],
        "usage": usage_members(choices_usage([answer.done.usage for answer in answers])),
        **disclosures(answers[-1].done, answers[-1].overflow),
    }


def rendered_text(identity: Identity, rendered: RenderedPrompt) -> dict[str, Any]:
    """The reply to ``_debug_render_only``."""
    info: dict[str, Any] = {"rendered_template": rendered.prompt}
    choice: Mapping[str, Any] = {"text": "", "index": 0, "finish_reason": None}
    usage = usage_members(Usage())
    return {**identity.members(_KIND), "choices": [choice], "usage": usage, "_debug_info": info}


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


def _choice(index: int, answer: Answer) -> dict[str, Any]:
    choice: dict[str, Any] = {
        "text": "".join(chunk.content for chunk in answer.chunks),
        "index": index,
        "finish_reason": str(answer.done.reason),
    }
    if logprobs := [entry for chunk in answer.chunks for entry in chunk.logprobs]:
        choice["logprobs"] = logprob_columns(logprobs)
    return choice
