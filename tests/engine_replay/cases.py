"""Recorded cases over a scripted engine: their steps, and what is wrong with the outcome.

Every case starts with nothing loaded. After each step the outcome is looked at until it is as recorded, or
until nothing has changed for a while: processes end and connections close a little after a reply.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.engine_replay.calls import GENERATING, call_differences
from tests.engine_replay.clients import send_and_leave
from tests.engine_replay.launches import launch_differences, marker
from tests.engine_replay.masks import expanded, value_differences
from tests.engine_replay.replies import reply_differences
from tests.engine_replay.stand_in import Event, StandIn
from tests.engine_replay.world import Store
from tests.http_replay.transport import Answer, Server

Case = Mapping[str, Any]
Step = Mapping[str, Any]

SETTLES_WITHIN_S = 2.0
POLL_S = 0.01
STAGGER_S = 0.03

_ANY_DIGEST = "re:[0-9a-f]{64}"
"""The recorder's imports were plain copies, ours have the normal form: other digests, a few more bytes."""
_IMPORT_GROWTH_BYTES = 64


class SetupFailed(Exception):
    """Something around a case did not work."""


@dataclass(slots=True)
class Room:
    """A daemon with its scripted engine, and the models made so far."""

    store: Store
    server: Server
    engine: StandIn
    environment: Mapping[str, str] = field(default_factory=dict)
    """What was added to the daemon's environment."""

    def run(self, case: Case) -> list[str]:
        """Do what the case did. What is wrong, each with the number of its step."""
        case = righted(case)
        for name in case["world"]:
            self.store.make(name)
        self._unload_everything()
        self.engine.script(case.get("script", {}))
        complaints = []
        markers: list[str] = []
        for index, step in enumerate(case["steps"]):
            lines, launches = self._step(step)
            complaints += [f"step {index}: {line}" for line in lines]
            markers += map(marker, launches)
        if len(set(markers)) < len(markers):
            complaints.append("a marker of media was used twice")
        return complaints

    def _step(self, step: Step) -> tuple[list[str], list[Event]]:
        if "script" in step:
            self.engine.script(step["script"])
        if step.get("kill_engine"):
            self.engine.kill()
        moment = self.engine.now()
        answers = list(self._answers(step))
        if step.get("free"):
            return [], []
        wrong_answers = list(self._wrong_answers(step, answers))
        deadline = time.monotonic() + SETTLES_WITHIN_S
        while True:
            outcome = self._outcome(moment, step)
            wrong = list(self._wrong_outcome(step, outcome))
            if not wrong or time.monotonic() > deadline:
                return wrong_answers + wrong, outcome.launches
            self.engine.wait(POLL_S)

    def _answers(self, step: Step) -> Iterator[Answer | None]:
        if "wait" in step:
            time.sleep(step["wait"])  # recorded: time itself is what the case is about
        elif "parallel" in step:
            yield from self._at_once(step["parallel"], step.get("stagger", STAGGER_S))
        elif "request" in step:
            yield self._answer(step["request"])

    def _answer(self, request: Mapping[str, Any]) -> Answer | None:
        if "json_text" in request:
            headers = {"Content-Type": "application/json", **request.get("headers", {})}
            request = {**request, "body": request["json_text"], "headers": headers}
            del request["json"]
        if "leave" in request:
            send_and_leave(self.server, request, **request["leave"])
            return None
        return self.server.send(request)

    def _at_once(self, requests: Sequence[Mapping[str, Any]], stagger_s: float) -> list[Answer | None]:
        answers: dict[int, Answer | None] = {}

        def ask(index: int) -> None:
            answers[index] = self._answer(requests[index])

        threads = [threading.Thread(target=ask, args=(index,)) for index in range(len(requests))]
        for thread in threads:
            thread.start()
            time.sleep(stagger_s)  # recorded: their order must be certain
        for thread in threads:
            thread.join()
        return [answers[index] for index in range(len(requests))]

    def _wrong_answers(self, step: Step, answers: Sequence[Answer | None]) -> Iterator[str]:
        wanted = step.get("responses") or [step.get("response")]
        for want, answer in zip(wanted, answers, strict=False):
            if want is not None and answer is not None:
                yield from reply_differences(expanded(want), answer)

    def _wrong_outcome(self, step: Step, outcome: Outcome) -> Iterator[str]:
        wanted = step.get("launches", [])
        if "launches" not in step.get("unchecked", ()):
            if len(wanted) != len(outcome.launches):
                yield f"{len(wanted)} starts of an engine expected, got {len(outcome.launches)}"
            for want, got in zip(wanted, outcome.launches, strict=False):
                yield from launch_differences(want, got, given=self.environment)
        any_order = "parallel" in step or outcome.embeds
        yield from call_differences(
            expanded(step.get("engine_requests", [])), outcome.calls, any_order=any_order
        )
        for key in ("loaded", "processes", "most_at_once", "engine_saw_disconnect"):
            if key in step and _any_order(step[key]) != (got := _any_order(getattr(outcome, key))):
                yield f"{key}: {step[key]} expected, got {got}"
        if "ps" in step:
            wanted = [{**model, "digest": _ANY_DIGEST} for model in step["ps"]]
            yield from value_differences(wanted, _known(outcome.ps, wanted), "ps")

    def _outcome(self, moment: int, step: Step) -> Outcome:
        events = self.engine.since(moment)
        ps = self._ps() if "loaded" in step or "ps" in step else []
        return Outcome(
            launches=[
                self._shown({"argv": e["argv"], "env": e["env"]}) for e in events if e["ev"] == "launch"
            ],
            calls=[_call(e) for e in events if e["ev"] == "request"],
            events=events,
            ps=ps,
            processes=len(self.engine.processes()),
        )

    def _ps(self) -> list[dict[str, Any]]:
        answer = self.server.send({"method": "GET", "path": "/api/ps"})
        models: list[dict[str, Any]] = answer.body["models"]
        return models

    def _shown(self, value: Any) -> Any:
        """``value`` with masks in the place of this daemon's own paths."""
        text = json.dumps(value).replace(str(self.engine.library), "$LIB")
        for path, name in self.store.paths.items():
            text = text.replace(path, f"$BLOB/{name}")
        return json.loads(text.replace(str(self.store.folder), "$MODELS"))

    def _unload_everything(self) -> None:
        deadline = time.monotonic() + SETTLES_WITHIN_S
        self.engine.script({})
        while (models := self._ps()) or self.engine.processes():
            for model in models:
                unload = {"model": model["model"], "keep_alive": 0}
                self.server.send({"method": "POST", "path": "/api/generate", "json": unload})
            if time.monotonic() > deadline:
                raise SetupFailed(f"loaded: {models}, processes: {self.engine.processes()}")
            self.engine.wait(POLL_S)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the engine and ``/api/ps`` tell after a step."""

    launches: list[Event]
    calls: list[Event]
    events: list[Event]
    ps: list[dict[str, Any]]
    processes: int

    @property
    def loaded(self) -> list[str]:
        return [model["name"] for model in self.ps]

    @property
    def embeds(self) -> bool:
        """Texts of one request may be embedded in any order."""
        return any(call["path"] == "/v1/embeddings" for call in self.calls)

    @property
    def most_at_once(self) -> int:
        """The largest number of generating calls that were open together."""
        most = open_now = 0
        for event in self.events:
            if event.get("path") in GENERATING and event["ev"] in ("request", "end"):
                open_now += 1 if event["ev"] == "request" else -1
                most = max(most, open_now)
        return most

    @property
    def engine_saw_disconnect(self) -> list[str]:
        return [event["path"] for event in self.events if event["ev"] == "client-gone"]


def righted(case: Case) -> dict[str, Any]:
    """The case with what is right in the place of what was recorded; what is free is left out."""
    result: dict[str, Any] = json.loads(json.dumps(case))
    for path, value in case.get("right", {}).items():
        *parents, last = path.split(".")
        _at(result, parents)[last] = value
    for path in case.get("free", ()):
        *parents, last = path.split(".")
        if not parents or parents == ["steps"]:
            result["steps"][int(last)]["free"] = True
            continue
        parent = _at(result, parents)
        parent.pop(last, None)
        parent.setdefault("unchecked", []).append(last)
    return result


def _at(value: Any, path: Sequence[str]) -> Any:
    for part in path:
        if part == "last_record":
            value = value["records"][-1] if value.get("records") else value["body"]
        else:
            value = value[int(part)] if isinstance(value, list) else value.setdefault(part, {})
    return value


def _any_order(value: Any) -> Any:
    return sorted(value) if isinstance(value, list) else value


def _call(event: Event) -> dict[str, Any]:
    text = event["body"]
    return {"path": event["path"], "body": json.loads(text) if text else {}, "text": text}


def _known(ps: Sequence[Mapping[str, Any]], want: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The members that the recording has; others are ours to add. Sizes are rounded to the recorded ones."""
    keys = {key for model in want for key in model}
    known = [{key: value for key, value in model.items() if key in keys} for model in ps]
    for model, wanted in zip(known, want, strict=False):
        for key in ("size", "size_vram"):
            if key in model and abs(model[key] - wanted.get(key, 0)) <= _IMPORT_GROWTH_BYTES:
                model[key] = wanted.get(key)
    return known
