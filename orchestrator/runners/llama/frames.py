"""What llama-server streams, turned into items: one decoder per answer, fed with bytes as they come.

This runs once per token. Everything one read brought is decoded in one pass: one JSON array for all its
events, then one ``Chunk`` each.

Source: ``llama-server`` §7.2, §7.3, §8.1; ``prompts`` §1.9, §1.10.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from orchestrator.domain.chunks import (
    Chunk,
    Done,
    DoneReason,
    Item,
    StopDetail,
    TokenLogprob,
    ToolCall,
    TopLogprob,
    Usage,
)
from orchestrator.domain.json_value import parse_json
from orchestrator.errors import RunnerFailed
from orchestrator.runners.llama.stops import StopGuard
from orchestrator.runners.out_of_memory import says_out_of_memory
from orchestrator.runners.sse import EventDecoder, EventTooLong

Frame = Mapping[str, Any]

_REPEAT_LIMIT = 30
"""Equal pieces in a row, after the first, that are let through."""
_NS_PER_MS = 1_000_000
_ODD_MEMBERS = (AttributeError, TypeError, KeyError, ValueError, OverflowError)
"""What comes of a frame whose members are not what engines send: each is checked by being used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What of the answer's fine print depends on the request."""

    budget: int | None = None
    """The ``n_predict`` that was sent; ``None`` is no limit."""
    top_logprobs: int | None = None
    """As in the call: ``None`` is no log probabilities, 0 none but the token's own."""
    stops: tuple[str, ...] = ()

    @property
    def guard(self) -> StopGuard | None:
        """What keeps these stop strings from the client."""
        return StopGuard(self.stops) if any(self.stops) else None


class Decoder(ABC):
    """Reads one stream.

    ``done`` is set once the final frame has come, ``failure`` once something went wrong: the chunks before it
    are not lost, and nothing follows.
    """

    def __init__(self, wanted: Wanted, what: str) -> None:
        self.done: Done | None = None
        self.failure: RunnerFailed | None = None
        self._wanted = wanted
        self._what = what
        """The stream, as errors call it."""
        self._guard = wanted.guard
        self._events = EventDecoder()

    def feed(self, data: bytes) -> list[Item]:
        """The chunks that ``data`` completes."""
        items: list[Item] = []
        try:
            self._decode(_payloads(self._events, data, self._what), items)
        except RunnerFailed as failure:
            self.failure = failure
        except _ODD_MEMBERS as error:
            self.failure = RunnerFailed(f"error unmarshalling {self._what}: a member is of another type")
            self.failure.__cause__ = error
        return items

    def close(self) -> list[Item]:
        """The stream has ended: what was still held back."""
        return self.feed(b"\n")

    @abstractmethod
    def _decode(self, payloads: Sequence[bytes], items: list[Item]) -> None:
        """Add the chunks in ``payloads`` to ``items``. Raises ``RunnerFailed``."""


class CompletionDecoder(Decoder):
    """Reads the stream of ``/completion``."""

    def __init__(self, wanted: Wanted) -> None:
        super().__init__(wanted, "llama-server response")
        self._last_piece = ""
        self._repeats = 0
        self._pieces = 0

    def _decode(self, payloads: Sequence[bytes], items: list[Item]) -> None:
        if not payloads or self.done is not None:
            return
        wants_logprobs, guard = self._wanted.top_logprobs is not None, self._guard
        for frame in _frames(payloads, self._what):
            content = frame.get("content") or ""
            if frame.get("stop"):
                self._decode_last(frame, content, items)
                break
            if not content:
                if error := frame.get("error"):
                    raise _failure("llama-server error", error)
                continue
            piece = content.strip()
            if piece != self._last_piece:
                self._last_piece = piece
                self._repeats = 0
            elif piece:
                self._repeats += 1
                if self._repeats > _REPEAT_LIMIT:
                    self.done = Done(DoneReason.STOP, _usage(frame.get("timings")), StopDetail.REPEAT)
                    break
            if guard is not None:
                self._pieces += 1
                content = guard.take(content)
                if guard.found:
                    self.done = self._met_stop(frame, guard.found)
            if content or wants_logprobs:
                items.append(self._chunk(frame, content) if wants_logprobs else Chunk(content))
            if self.done is not None:
                break

    def _decode_last(self, frame: Frame, content: str, items: list[Item]) -> None:
        """The frame that says how the answer ended, with the text that is left."""
        if type(content) is not str:
            raise TypeError("text was expected")
        self.done = self._ending(frame)
        if self._guard is not None:
            content = self._guard.take(content) + self._guard.end(self.done.stop_sequence)
            self.done = _at_stop(self.done, self._guard.found)
        wants_logprobs = self._wanted.top_logprobs is not None
        if content or wants_logprobs and frame.get("completion_probabilities"):
            items.append(self._chunk(frame, content))

    def _met_stop(self, frame: Frame, stop: str) -> Done:
        """The end at a stop string that the engine has let through."""
        usage = Usage(
            prompt_tokens=frame.get("tokens_evaluated") or 0,
            completion_tokens=frame.get("tokens_predicted") or self._pieces,
        )
        return Done(DoneReason.STOP, usage, StopDetail.STOP_SEQUENCE, stop)

    def _chunk(self, frame: Frame, content: str) -> Chunk:
        return Chunk(content, logprobs=_logprobs(frame.get("completion_probabilities"), self._wanted))

    def _ending(self, frame: Frame) -> Done:
        usage = _usage(frame.get("timings"))
        match frame.get("stop_type"):
            case "limit":
                detail = StopDetail.WINDOW if frame.get("truncated") else _limit(usage, self._wanted)
                return Done(DoneReason.LENGTH, usage, detail)
            case "word":
                word = frame.get("stopping_word") or ""
                return Done(DoneReason.STOP, usage, StopDetail.STOP_SEQUENCE, word)
            case "eos":
                return Done(DoneReason.STOP, usage, StopDetail.EOS)
            case _:
                return Done(DoneReason.STOP, usage)


@dataclass(slots=True)
class _CallInParts:
    """A tool call whose name, id and arguments come in pieces."""

    id: list[str] = field(default_factory=list)
    name: list[str] = field(default_factory=list)
    arguments: list[str] = field(default_factory=list)

    def add(self, delta: Mapping[str, Any]) -> None:
        function = delta.get("function") or {}
        self.id.append(delta.get("id") or "")
        self.name.append(function.get("name") or "")
        self.arguments.append(function.get("arguments") or "")

    def whole(self, index: int) -> ToolCall:
        name = "".join(self.name)
        return ToolCall(name, _arguments(name, "".join(self.arguments)), index, "".join(self.id))


class ChatDecoder(Decoder):
    """Reads the stream of ``/v1/chat/completions``."""

    def __init__(self, wanted: Wanted) -> None:
        super().__init__(wanted, "llama-server chat response")
        self._calls: dict[int, _CallInParts] = {}
        self._ending: Frame | None = None
        """What ended the answer, as ``/completion`` tells it, from an engine that was asked to say so."""

    def _decode(self, payloads: Sequence[bytes], items: list[Item]) -> None:
        payloads = [payload for payload in payloads if payload.rstrip() != b"[DONE]"]
        if not payloads:
            return
        wants_logprobs = self._wanted.top_logprobs is not None
        for frame in _frames(payloads, self._what):
            if error := frame.get("error"):
                raise _failure("llama-server chat error", error)
            choices = frame.get("choices")
            if self.done is not None:
                self._read_late_usage(frame)
                continue
            if ending := frame.get("__verbose"):
                self._ending = ending
            if not choices:
                continue
            choice = choices[0]
            delta = choice.get("delta") or {}
            for call in delta.get("tool_calls") or ():
                self._calls.setdefault(call.get("index") or 0, _CallInParts()).add(call)
            content = delta.get("content") or ""
            thinking = delta.get("reasoning_content") or ""
            if type(content) is not str or type(thinking) is not str:
                raise TypeError("text was expected")
            reason = choice.get("finish_reason")
            if self._guard is not None:
                content = self._guard.take(content) + ("" if reason is None else self._guard.end(""))
            logprobs = _chat_logprobs(choice, self._wanted) if wants_logprobs else ()
            if content or thinking or logprobs:
                items.append(Chunk(content, thinking, (), logprobs))
            if self._guard is not None and self._guard.found:
                items += self._finish("stop", frame)
                self.done = _at_stop(self.done, self._guard.found)
                break
            if reason is not None:
                items += self._finish(reason, frame)

    def _finish(self, reason: str, frame: Frame) -> list[Item]:
        usage = _usage(frame.get("timings"))
        if reason == "length":
            self.done = Done(DoneReason.LENGTH, usage, _limit(usage, self._wanted))
        else:
            self.done = self._stopped(usage)
        calls = tuple(call.whole(index) for index, call in sorted(self._calls.items(), key=_by_index))
        return [Chunk(tool_calls=calls)] if calls else []

    def _stopped(self, usage: Usage) -> Done:
        """The end at a stop string or of the model's turn: the last frame does not tell them apart."""
        if not self._wanted.stops:
            return Done(DoneReason.STOP, usage, StopDetail.EOS)
        ending = self._ending or {}
        if word := ending.get("stopping_word"):
            return Done(DoneReason.STOP, usage, StopDetail.STOP_SEQUENCE, word)
        detail = StopDetail.EOS if ending.get("stop_type") == "eos" else StopDetail.UNKNOWN
        return Done(DoneReason.STOP, usage, detail)

    def _read_late_usage(self, frame: Frame) -> None:
        """With ``include_usage`` the timings come in a frame after the finishing one."""
        if self.done is not None and self.done.usage == Usage() and (timings := frame.get("timings")):
            done = self.done
            self.done = Done(done.reason, _usage(timings), done.detail, done.stop_sequence)


def _at_stop(done: Done | None, stop: str) -> Done | None:
    """``done``, if no stop string came through; else the end there."""
    if done is None or not stop:
        return done
    return replace(done, reason=DoneReason.STOP, detail=StopDetail.STOP_SEQUENCE, stop_sequence=stop)


def _by_index(entry: tuple[int, _CallInParts]) -> int:
    return entry[0]


def _payloads(events: EventDecoder, data: bytes, what: str) -> list[bytes]:
    try:
        return events.feed(data)
    except EventTooLong as error:
        raise RunnerFailed(f"{what} {error}") from error


def _frames(payloads: Sequence[bytes], what: str) -> Iterable[Frame]:
    """The JSON objects of all payloads. Raises ``RunnerFailed``."""
    try:
        frames: list[Frame] = orjson.loads(b"[%b]" % b",".join(payloads))
    except orjson.JSONDecodeError:
        return (_frame(payload, what) for payload in payloads)
    if set(map(type, frames)) != {dict}:
        return (_frame(payload, what) for payload in payloads)
    return frames


def _frame(payload: bytes, what: str) -> Frame:
    """One JSON object, more patient with odd text than the fast reader. Raises ``RunnerFailed``."""
    try:
        # halves of surrogate pairs and bytes that are no UTF-8 become replacement characters
        text = payload.decode(errors="replace")
        frame = parse_json(text, object_hook=_mended)
    except ValueError as error:
        raise RunnerFailed(f"error unmarshalling {what}: {error}") from error
    if not isinstance(frame, dict):
        raise RunnerFailed(f"error unmarshalling {what}: an object was expected")
    return frame


def _mended(value: dict[str, Any]) -> dict[str, Any]:
    return {key: _without_halves(entry) for key, entry in value.items()}


def _without_halves(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _failure(what: str, error: Any) -> RunnerFailed:
    """An error frame in the middle of a stream."""
    message = error.get("message") if isinstance(error, Mapping) else error
    text = f"{what}: {message}"
    return RunnerFailed(text, out_of_memory=says_out_of_memory(text))


def _limit(usage: Usage, wanted: Wanted) -> StopDetail:
    """Which limit was met, told by the count of tokens."""
    within_budget = wanted.budget is None or usage.completion_tokens < wanted.budget
    return StopDetail.WINDOW if within_budget else StopDetail.BUDGET


def _usage(timings: Mapping[str, Any] | None) -> Usage:
    if not timings:
        return Usage()
    cached = timings.get("cache_n") or 0
    return Usage(
        prompt_tokens=cached + (timings.get("prompt_n") or 0),
        cached_tokens=cached,
        prompt_duration_ns=int((timings.get("prompt_ms") or 0) * _NS_PER_MS),
        completion_tokens=timings.get("predicted_n") or 0,
        completion_duration_ns=int((timings.get("predicted_ms") or 0) * _NS_PER_MS),
        draft_tokens=timings.get("draft_n") or 0,
        draft_accepted=timings.get("draft_n_accepted") or 0,
    )


def _chat_logprobs(choice: Mapping[str, Any], wanted: Wanted) -> tuple[TokenLogprob, ...]:
    return _logprobs((choice.get("logprobs") or {}).get("content"), wanted)


def _logprobs(entries: Sequence[Mapping[str, Any]] | None, wanted: Wanted) -> tuple[TokenLogprob, ...]:
    if not entries:
        return ()
    return tuple(
        TokenLogprob(
            entry.get("token") or "",
            _logprob(entry),
            tuple(
                TopLogprob(top.get("token") or "", _logprob(top))
                for top in entry.get("top_logprobs") or entry.get("top_probs") or ()
            )
            if wanted.top_logprobs
            else (),
        )
        for entry in entries
    )


def _logprob(entry: Mapping[str, Any]) -> float:
    value = entry.get("logprob")
    return float((entry.get("prob") if value is None else value) or 0.0)


def _arguments(name: str, text: str) -> Mapping[str, Any]:
    """The arguments of a tool call, exact integers kept. Raises ``RunnerFailed``."""
    if not text.strip():
        return {}
    try:
        arguments = parse_json(text)
    except ValueError as error:
        raise _invalid_arguments(name, str(error)) from error
    if arguments is None:
        return {}
    if not isinstance(arguments, dict):
        raise _invalid_arguments(name, "an object was expected")
    return arguments


def _invalid_arguments(name: str, why: str) -> RunnerFailed:
    return RunnerFailed(f'llama-server returned invalid tool call arguments for "{name}": {why}')
