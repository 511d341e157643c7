"""Prompts by renderers, as recorded."""

from __future__ import annotations

import re

import pytest

from orchestrator.errors import BadRequest
from orchestrator.renderers import registry
from tests import prompt_records
from tests.golden_records import Record, records


def outcome(name: str, record: Record) -> str | None:
    messages, tools, think = prompt_records.conversation(record)
    renderer = registry.get(name)
    if "error" in record:
        with pytest.raises(BadRequest, match=f"^{re.escape(record['error'])}$"):
            renderer.render(messages, tools or (), think)
        return None
    return renderer.render(messages, tools or (), think)


@pytest.mark.parametrize(("name", "record"), prompt_records.cases("renderers"))
def test_a_conversation_gives_the_recorded_prompt(name: str, record: Record) -> None:
    prompt = outcome(name, prompt_records.conversations()[record["id"]] | record)
    assert prompt in prompt_records.accepted("renderer", name, record, record.get("prompt"))


IMAGES = [record for record in records("prompts/images.jsonl") if "renderer" in record]


@pytest.mark.parametrize("record", [pytest.param(record, id=record["id"]) for record in IMAGES])
def test_images_are_tagged_as_recorded(record: Record) -> None:
    prompt = outcome(record["renderer"], record)
    assert prompt in prompt_records.accepted("renderer", record["renderer"], record, record.get("prompt"))
