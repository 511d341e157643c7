"""Recorded requests over a scripted engine: what a real daemon asks of it, and what its clients get."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import cast

import pytest

from tests.engine_replay.rooms import Rooms, surroundings
from tests.golden_records import Record, records

FILES = ("launch", "requests", "failures", "sequences")

_DEVICES = "placement on GPUs"

WAITING = {
    r"\w+/gpu-.*": _DEVICES,
}
"""Patterns of cases that need what is not there yet → what that is. Emptied as it comes."""

DIFFERENT = {
    r"requests/media-unknown-(chat|gen)": "what is no image is refused before an engine sees it (case B150)",
    r"requests/deferred-(nothink-.*|(olmo3|vl-think)-(json|schema)|qwen3-json|stream-false|think-schema)": (
        "the second run goes on from the thought, token for token; an answer without one is constrained too"
    ),
    r"requests/(deferred-off-vl-think-.*|think-False-.*-vl-think)": "with think off an answer is content",
    r"requests/(gen-system-harmony|think-(None|True|high|medium)-chat-harmony)": (
        "text without harmony's framing is content, not lost"
    ),
    r"requests/tools-rendered-calls": "text that turned out to be no call comes before the last record",
    r"requests/(all-.*params|over-params-(empty-)?stop)": "stops of a model hold beside those of a request",
    r"requests/img-template-override": "images are tagged in a template that the request brings too",
    r"failures/(tokenize|apply-template)-(?!empty).*-chat|failures/(tokenize-final-.*|apply-template-400)": (
        "a chat that fits for certain is not measured, so a broken measure does not show"
    ),
    r"failures/tokenize-empty-trunc": "one message, which cannot be dropped, is measured only to be cut",
    r"failures/final-(content|only)-gen.*": "text in the engine's last frame comes before the last record",
    r"failures/done-only-chat": "a stream without an end still gets a last record",
    r"failures/frame-oom-gen.*": "want of memory told in a completion's stream makes room, as in a chat's",
    r"requests/anth-tool-history": "a tool's result names the tool it comes from",
    r"requests/anth-all-native": "an engine that renders is asked which stop sequence was met",
    r"failures/(anth|oai)-frame": "a stream that broke off says why",
    r"requests/oai-.*-max_completion_tokens-.*": "max_completion_tokens is a limit",
    r"requests/oai-.*-n-[0-9a-f]+": "n is how many answers there are",
    r"requests/oai-tools-choice": "a model is not shown tools that it may not call",
    r"requests/transcription": "a transcription is not called a stream",
    r"failures/embed-second-fails": "texts behind one that failed are not sent any more",
    r"sequences/alias-one-runner": "an engine with its templates off serves no model that needs them",
    r"sequences/evict-recency-ignored": "the model that rested longest leaves, not the one loaded first",
    r"sequences/cancel-load": "a load whose client left goes on unless it is in somebody's way",
}
"""Patterns of cases in which we differ on purpose → why. Each must differ. See docs/differences.md."""

TRUSTED = "a good health check holds for a second"
SMALLER_WINDOW = "a smaller window is served by a larger one that is loaded"


def _parameters() -> Iterator[object]:
    everything = [record for name in FILES for record in records(f"engine/{name}.jsonl")]
    for record in sorted(everything, key=surroundings):
        yield pytest.param(record, id=record["id"], marks=_marks(record))


def _marks(record: Record) -> list[pytest.MarkDecorator]:
    if reason := _reason(WAITING, record):
        return [pytest.mark.skip(reason=f"waits for {reason}")]
    if reason := (
        _reason(DIFFERENT, record) or _reload_for_a_smaller_window(record) or _refusal_for_its_health(record)
    ):
        return [pytest.mark.xfail(reason=reason, strict=True, raises=AssertionError)]
    return []


def _reason(patterns: Mapping[str, str], record: Record) -> str:
    return next((why for pattern, why in patterns.items() if re.fullmatch(pattern, record["id"])), "")


def _reload_for_a_smaller_window(record: Record) -> str:
    """The reason to differ if the recorded server started a model anew for nothing else."""
    before: list[str] = []
    for step in record["steps"]:
        starts = [launch["argv"] for launch in step.get("launches", ())]
        if before and starts and "num_ctx" in json.dumps([step.get("request"), step.get("parallel")]):
            after = starts[0]
            if _without_window(before) == _without_window(after) and _window(after) < _window(before):
                return SMALLER_WINDOW
        before = starts[-1] if starts else before
    return ""


def _refusal_for_its_health(record: Record) -> str:
    """The reason to differ if a running engine that was well a moment ago is refused for what it says."""
    for step in record["steps"][1:]:
        if "health" in step.get("script", {}) and step["response"]["status"] != 200:
            return TRUSTED
    return ""


def _window(argv: Sequence[str]) -> int:
    return int(argv[argv.index("-c") + 1])


def _without_window(argv: Sequence[str]) -> list[str]:
    """The command line without the window and the batch that follows from it."""
    skipped = {argv.index(flag) + 1 for flag in ("-c", "-b", "-ub") if flag in argv}
    return [argument for place, argument in enumerate(argv) if place not in skipped]


@pytest.fixture(scope="session")
def rooms(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rooms]:
    """Daemons over scripted engines, for the cases that were chosen."""
    chosen = [
        item.callspec.params
        for item in request.session.items
        if isinstance(item, pytest.Function)
        and item.originalname == "test_engine_and_client_see_what_is_recorded"
        and not item.get_closest_marker("skip")
    ]
    cases = [cast(Record, parameters["case"]) for parameters in chosen]
    rooms = Rooms(tmp_path_factory.mktemp("engine"), cases)
    yield rooms
    rooms.close()


@pytest.mark.parametrize("case", list(_parameters()))
def test_engine_and_client_see_what_is_recorded(case: Record, rooms: Rooms) -> None:
    wrong = rooms.room(case).run(case)
    assert not wrong, "\n".join(wrong)
