"""Calls to a llama-server: what is asked, what comes back, and in what words failures are told.

Source: ``llama-server`` §6–8; ``scheduler`` §15; ``api-native`` §3.3.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import suppress
from typing import Any

import orjson

from orchestrator.domain.chunks import Done, DoneReason, Item, StopDetail
from orchestrator.errors import EngineRefused, RunnerFailed, UnreadableAnswer
from orchestrator.runners.base import Embedding, Ranking
from orchestrator.runners.connection import Answer, AnswerCutOff, Channel, EngineUnreachable
from orchestrator.runners.llama.bodies import Body, encode
from orchestrator.runners.llama.frames import Decoder

_TOO_LONG = (
    "too large",
    "context size",
    "context length",
    "physical batch size",
    "exceeds the available context",
)
"""Words by which an engine says that a text is longer than it can embed."""


class StreamCutOff(RunnerFailed):
    """The engine broke off in the middle of an answer; nothing further is to be expected of its process."""


class CallCutOff(RunnerFailed):
    """The connection was lost before an answer was complete; ``failing`` says which call's."""

    def __init__(self, failing: str, why: str) -> None:
        super().__init__(f"{failing}: {why}")
        self.failing = failing


async def generate(channel: Channel, path: str, body: Body, decoder: Decoder) -> AsyncGenerator[list[Item]]:
    """Stream an answer: batches of chunks, then ``Done``.

    Raises ``EngineRefused``, ``EngineUnreachable``, ``StreamCutOff``, ``RunnerFailed``.
    """
    items: list[Item] = []
    async with channel.exchange("POST", path, encode(body)) as answer:
        if answer.status >= 400:
            raise EngineRefused(_text(await _what_there_is(answer)), status=answer.status)
        try:
            while data := await answer.read():
                items += decoder.feed(data)
                if decoder.failure is not None:
                    break
                if decoder.done is not None:
                    if decoder.done.detail is StopDetail.REPEAT:
                        break
                    # what is left is read before the end is told: the caller may call the engine again
                    continue
                if items:
                    yield items
                    items = []
            else:
                items += decoder.close()
        except AnswerCutOff as error:
            if decoder.done is None:
                raise StreamCutOff(str(error)) from error
    if decoder.failure is not None:
        if items:
            yield items
        raise decoder.failure
    items.append(decoder.done or Done(DoneReason.STOP))
    yield items


async def apply_template(channel: Channel, body: Body) -> str:
    """The prompt that the engine's template makes of a chat."""
    status, raw = await _call(channel, "/apply-template", body, failing="llama-server apply-template error")
    if status >= 400:
        raise EngineRefused(_text(raw), status=status)
    try:
        document = _object(raw)
    except ValueError as error:
        raise RunnerFailed(f"error unmarshalling llama-server template response: {error}") from error
    if problem := document.get("error"):
        raise RunnerFailed(f"llama-server template error: {_message(problem) or problem}")
    return str(document.get("prompt") or "")


async def tokenize(channel: Channel, body: Body) -> list[int]:
    """Token ids of a text."""
    document = await _call_simply(channel, "/tokenize", body, name="tokenize")
    return list(document.get("tokens") or ())


async def detokenize(channel: Channel, body: Body) -> str:
    """The text of token ids."""
    document = await _call_simply(channel, "/detokenize", body, name="detokenize")
    return str(document.get("content") or "")


async def embed(channel: Channel, body: Body) -> Embedding:
    """The vector of one text. An answer that holds none is told as a refusal (400), as Ollama does."""
    status, raw = await _call(channel, "/v1/embeddings", body, failing="do embedding request")
    if status >= 400:
        raise _refusal(status, raw, too_long="the input length exceeds the context length")
    try:
        return read_embedding(orjson.loads(raw))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise UnreadableAnswer(f"unmarshal embedding response: json: {error}") from error


def read_embedding(document: Any) -> Embedding:
    """The vector in an answer of either route. Raises ``UnreadableAnswer`` if it is empty (case B015)."""
    if document == []:
        raise UnreadableAnswer("empty embedding response")
    entries = document["data"] if isinstance(document, dict) else document
    if not entries:
        raise ValueError("cannot unmarshal object without data")
    entry = entries[0]
    vector = entry["embedding"]
    if vector and isinstance(vector[0], list):
        vector = vector[0]
    if not vector:
        raise UnreadableAnswer("empty embedding response")
    usage = document.get("usage") if isinstance(document, dict) else None
    tokens = (usage or {}).get("prompt_tokens") or entry.get("tokens_evaluated") or 0
    return Embedding(tuple(0.0 if number is None else float(number) for number in vector), tokens)


async def rerank(channel: Channel, body: Body) -> Ranking:
    """The scores of the documents in ``body``."""
    status, raw = await _call(channel, "/v1/rerank", body, failing="do rerank request")
    if status >= 400:
        raise _refusal(status, raw, too_long="query and document together exceed the context length")
    try:
        document = _object(raw)
        scores = {entry["index"]: float(entry["relevance_score"]) for entry in document["results"]}
        tokens = int((document.get("usage") or {}).get("prompt_tokens") or 0)
        return Ranking(tuple(scores[index] for index in range(len(body["documents"]))), tokens)
    except (ValueError, TypeError, KeyError) as error:
        raise RunnerFailed(f"unmarshal rerank response: {error!r}") from error


async def _call(channel: Channel, path: str, body: Body, *, failing: str) -> tuple[int, bytes]:
    """Status and body of an answer. Raises ``CallCutOff``, named ``failing``."""
    try:
        async with channel.exchange("POST", path, encode(body)) as answer:
            return answer.status, await answer.read_all()
    except (EngineUnreachable, AnswerCutOff) as error:
        raise CallCutOff(failing, str(error)) from error


async def _call_simply(channel: Channel, path: str, body: Body, *, name: str) -> dict[str, Any]:
    """The JSON object of an answer; whatever goes wrong is a ``RunnerFailed``."""
    status, raw = await _call(channel, path, body, failing=f"{name} error")
    if status >= 400:
        raise RunnerFailed(f"{name} error: {_text(raw)}")
    try:
        return _object(raw)
    except ValueError as error:
        raise RunnerFailed(f"unmarshal {name} response: {error}") from error


async def _what_there_is(answer: Answer) -> bytes:
    """As much as can be had of a body whose proper end does not matter."""
    pieces = []
    with suppress(AnswerCutOff):
        while data := await answer.read():
            pieces.append(data)
    return b"".join(pieces)


def _object(raw: bytes) -> dict[str, Any]:
    document = orjson.loads(raw)
    if not isinstance(document, dict):
        raise ValueError("an object was expected")
    return document


def _refusal(status: int, raw: bytes, *, too_long: str) -> EngineRefused:
    """What an error answer is told as; ``too_long`` is said of a text that the model cannot take whole."""
    message = message_in(raw)
    if any(words in message for words in _TOO_LONG):
        return EngineRefused(too_long, status=400)
    return EngineRefused(message, status=status)


def message_in(raw: bytes) -> str:
    """The message inside an error body, else the body itself."""
    try:
        problem = _object(raw).get("error")
    except ValueError:
        return _text(raw)
    return _message(problem) or _text(raw)


def _message(problem: Any) -> str:
    if isinstance(problem, dict):
        problem = problem.get("message")
    return problem if isinstance(problem, str) else ""


def _text(raw: bytes) -> str:
    return raw.decode(errors="replace").strip()
