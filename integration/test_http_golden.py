"""Recorded HTTP cases against a real daemon with a real engine: what clients see must be what they know."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from orchestrator.runners.engines import EngineKind
from tests.engine_choice import CHOSEN
from tests.golden_records import Record, records
from tests.http_replay.cases import World, run
from tests.http_replay.daemon import running_daemon
from tests.http_replay.registry import at_registry, recorded_registry
from tests.http_replay.transport import Server

CASES = "http/transcripts.jsonl"

EMBEDDED = {
    r"create/quantize-(q4km|q4k)": "a llama-quantize comes with a native engine",
    r"generate/format-json-stream|chat/format-json|oai-chat/format-upper": "the engine in the wheel gets a "
    "grammar of ours for any JSON object, under which the model chooses other words",
}
"""Patterns of cases that the native engine answers as recorded, and the embedded one does not → why."""

DIFFERENT = {
    r"\w+/keep-alive-bad(-10-string|-minus-string)?": "a keep_alive of digits is seconds (case B091)",
    r"generate/option-repeat_penalty-0": "the engine is never asked for a penalty that it refuses",
    r"create/from-upper": "names are found in any case, in every verb (case B136)",
    r"embeddings/name-upper": "names are found in any case, in every verb (case B136)",
    r"anthropic/thinking-block-history": "our engines begin their answer with a thought here",
    r"path/post-v1-messages-count_tokens": "tokens are counted before they are sent",
    r"oai-chat/max-completion-tokens-ignored": "max_completion_tokens is a limit",
    r"oai-chat/unknown-keys": "n is how many answers there are",
    r"oai-embed/nested": "token ids are embedded",
    r"(generate|chat)/think-false-parser|oai-chat/reasoning-object": "with think off it is content",
    r"chat/long-last-(gemma|native)": "one policy for all models: the middle is cut, and told of (case B002)",
    r"chat/debug-images-qwen": "images are tagged for renderers that would pass them over",
    r"method/brew-api-tags": "a method that HTTP does not know is a 400 of the HTTP parser, not a 405",
}
"""Patterns of cases where we answer otherwise on purpose → how."""


def _parameter(record: Record) -> Any:
    known = {**DIFFERENT, **(EMBEDDED if CHOSEN is EngineKind.EMBEDDED else {})}
    reason = next((why for pattern, why in known.items() if re.fullmatch(pattern, record["id"])), "")
    marks = [pytest.mark.skip(reason=reason)] if reason else []
    return pytest.param(record, id=record["id"], marks=marks)


@pytest.fixture(scope="session")
def world() -> World:
    return World.read()


@pytest.fixture(scope="session")
def daemon(world: World, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A daemon with all models of the records."""
    with running_daemon(tmp_path_factory.mktemp("http")) as server:
        world.build(server)
        yield server


@pytest.fixture(scope="session")
def registry() -> Iterator[str]:
    """Where the registry of the records is."""
    with recorded_registry() as address:
        yield address


@pytest.mark.timeout(180)
@pytest.mark.parametrize("record", [_parameter(record) for record in records(CASES)])
def test_the_answer_is_the_recorded_one(record: Record, world: World, daemon: Server, registry: str) -> None:
    differences = run(world, daemon, at_registry(record, registry))
    assert not differences, "\n".join(differences)
