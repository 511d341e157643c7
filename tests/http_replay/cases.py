"""Recorded cases: the world they need, the steps around them, and what is wrong with an answer."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests import sample_models
from tests.golden_records import FOLDER
from tests.http_replay.streams import stream_differences
from tests.http_replay.transport import Answer, Server
from tests.http_replay.values import differences, short

Case = Mapping[str, Any]

_SETS = frozenset({"allow", "vary", "access-control-allow-methods", "access-control-allow-headers"})
_UNLOAD_ROUNDS = 100
COUNTED = {
    "usage.input_tokens_details.cached_tokens": "int",
    "data.response.usage.input_tokens_details.cached_tokens": "int",
}
"""What the recorded server always gives as 0, and an honest one counts."""


class SetupFailed(Exception):
    """A step before or after a case did not work."""


@dataclass(frozen=True, slots=True)
class World:
    """The models the cases use, and how they are made."""

    steps: tuple[Mapping[str, Any], ...]
    blobs: Mapping[str, Mapping[str, str]]
    derived: Mapping[str, Mapping[str, str]]

    @classmethod
    def read(cls, folder: Path = FOLDER / "http") -> World:
        """The recorded world."""
        content = json.loads((folder / "world.json").read_text())
        return cls(tuple(content["steps"]), content["blobs"], content["derived"])

    def build(self, server: Server) -> None:
        """Make all models. Raises ``SetupFailed``."""
        for step in self.steps:
            self.do(server, step)

    def do(self, server: Server, step: Mapping[str, Any]) -> None:
        """One step. Raises ``SetupFailed``."""
        match step.get("do"):
            case "upload":
                self._upload(server, step)
            case "blob":
                blob = self.blobs[step["name"]]
                body = {"body_gzip_base64": blob["gzip_base64"]}
                _expect(server.send(_post(f"/api/blobs/{blob['digest']}") | body), step, {200, 201})
            case "unload_all":
                _unload_all(server)
            case "sleep":
                time.sleep(step["s"])  # recorded: modification times have to differ
            case _:
                expected = step.get("expect")
                _expect(server.send(step, file=self.file), step, set(expected) if expected else None)

    def file(self, name: str) -> Path:
        """The model file that the steps call ``name``."""
        if derived := self.derived.get(name):
            return sample_models.with_chat_template(self.file(derived["from"]), derived["chat_template"])
        match name.partition("/"):
            case "smollm2.gguf", _, _:
                return sample_models.smollm2()
            case "gemma3-270m.gguf", _, _:
                return sample_models.gemma3()
            case "minilm", _, part:
                return sample_models.minilm(part)
        raise SetupFailed(f"no model file {name}")

    def _upload(self, server: Server, step: Mapping[str, Any]) -> None:
        path = f"/api/blobs/{step['digest']}"
        if server.send({"method": "HEAD", "path": path}).status == 200:
            return
        answer = server.send(_post(path) | {"body_fixture": step["fixture"]}, file=self.file)
        _expect(answer, step, {200, 201})


def run(world: World, server: Server, case: Case) -> list[str]:
    """Send one case's request, with the steps around it; what is wrong with the answer.

    Raises ``SetupFailed``.
    """
    for step in case.get("setup", ()):
        world.do(server, step)
    answer = server.send(case["request"])
    for step in case.get("after", ()):
        world.do(server, step)
    return [] if case.get("free") else list(answer_differences(case, answer))


def answer_differences(case: Case, answer: Answer) -> Iterator[str]:
    """What is wrong with an answer, ``right`` standing for the recorded one where there is such."""
    want, masks = {**case["response"], **case.get("right", {})}, {**COUNTED, **case.get("masks", {})}
    if want["status"] != answer.status and masks.get("$status") != "free":
        yield f"status: {want['status']} expected, got {answer.status} {short(answer.last)}"
    yield from _header_differences(want, answer, masks)
    if masks.get("$body") == "free":
        return
    if want["kind"] != answer.kind:
        yield f"body: {want['kind']} expected, got {answer.kind} {short(answer.last)}"
    elif want["kind"] in ("ndjson", "sse"):
        if want["transfer"] == "chunked" and answer.transfer == "length":
            yield "transfer: a stream must be chunked"
        yield from stream_differences(want["records"], answer.body, masks, now=answer.at)
    elif want["kind"] != "empty":
        yield from differences(want["body"], answer.body, masks, now=answer.at)


def _header_differences(want: Mapping[str, Any], answer: Answer, masks: Mapping[str, str]) -> Iterator[str]:
    for name in sorted(want["headers"].keys() | answer.headers.keys()):
        ours, theirs = want["headers"].get(name), answer.headers.get(name)
        if masks.get(f"${name}") == "free" or (name == "allow" and want["status"] in (204, 403)):
            continue
        if ours is None and name == "cache-control":
            continue
        if _normal(name, ours) != _normal(name, theirs):
            yield f"header {name}: {ours!r} expected, got {theirs!r}"


def _normal(name: str, value: str | None) -> object:
    if value is None:
        return None
    if name in _SETS:
        return {part.strip().lower() for part in value.split(",")}
    return value.lower().replace(" ", "") if name == "content-type" else value


def _post(path: str) -> dict[str, Any]:
    return {"method": "POST", "path": path}


def _expect(answer: Answer, step: Mapping[str, Any], statuses: set[int] | None) -> None:
    if statuses is not None:
        good = answer.status in statuses
    else:
        failed = isinstance(answer.last, dict) and "error" in answer.last
        good = 0 < answer.status < 500 and not failed
    if not good:
        raise SetupFailed(f"step {short(dict(step))}: status {answer.status} {short(answer.last)}")


def _unload_all(server: Server) -> None:
    for _ in range(_UNLOAD_ROUNDS):
        answer = server.send({"method": "GET", "path": "/api/ps"})
        loaded = answer.body.get("models") if isinstance(answer.body, dict) else None
        if not loaded:
            return
        for model in loaded:
            server.send(_post("/api/generate") | {"json": {"model": model["model"], "keep_alive": 0}})
        time.sleep(0.05)  # another process unloads; there is no event to wait for
    raise SetupFailed("models stay loaded")
