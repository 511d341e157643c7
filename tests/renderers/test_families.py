"""Prompts by renderers, as recorded."""

from __future__ import annotations

import re
from contextlib import suppress
from time import process_time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.domain.chunks import ToolCall
from orchestrator.domain.requests import Message
from orchestrator.domain.think import Think
from orchestrator.domain.tools import Tool, parse_tool
from orchestrator.errors import BadRequest
from orchestrator.renderers import registry
from tests import prompt_records
from tests.golden_records import Record, records


def outcome(name: str, record: Record) -> str | None:
    messages, tools, think = prompt_records.conversation(record)
    renderer = registry.make(name)
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


TEXTS = st.sampled_from(
    ["", " ", "Hi", "<think>a</think>b", "</think>", "x\n", "<|channel>t<channel|>", "\x1c"]
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
CALLS = st.builds(ToolCall, st.text(max_size=4), st.dictionaries(st.text(max_size=3), VALUES, max_size=3))
MESSAGES = st.builds(
    Message,
    st.sampled_from(["system", "developer", "user", "assistant", "tool", "other"]),
    TEXTS,
    thinking=TEXTS,
    images=st.lists(st.just(b"i"), max_size=2).map(tuple),
    tool_calls=st.lists(CALLS, max_size=2).map(tuple),
)
TYPES = st.sampled_from(["string", "array", "object", "integer"])
SCHEMAS: st.SearchStrategy[Any] = st.recursive(
    st.fixed_dictionaries(
        {}, optional={"type": TYPES, "description": TEXTS, "enum": st.lists(VALUES, max_size=2)}
    ),
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "type": TYPES | st.lists(TYPES, max_size=2),
            "items": inner | VALUES,
            "anyOf": st.lists(inner, max_size=2),
            "properties": st.dictionaries(st.text(max_size=3), inner, max_size=2),
            "required": st.lists(st.text(max_size=3), max_size=2),
        },
    ),
    max_leaves=4,
)
TOOLS = st.builds(
    lambda name, properties: parse_tool(
        {
            "type": "function",
            "function": {"name": name, "parameters": {"type": "object", "properties": properties}},
        }
    ),
    st.text(max_size=4),
    st.dictionaries(st.text(max_size=3), SCHEMAS, max_size=2),
)
THINKS = st.sampled_from([None, Think(False), Think(True), Think(True, "low"), Think(True, "max")])


@pytest.mark.parametrize("name", registry.names())
@settings(max_examples=20, deadline=None)
@given(messages=st.lists(MESSAGES, max_size=5), tools=st.lists(TOOLS, max_size=2), think=THINKS)
def test_any_conversation_has_a_prompt_or_is_refused(
    name: str, messages: list[Message], tools: list[Tool], think: Think | None
) -> None:
    renderer = registry.make(name)
    with suppress(BadRequest):
        prompt = renderer.render(messages, tools, think)
        assert prompt == registry.make(name).render(tuple(messages), tuple(tools), think)
        assert name == "cohere" or prompt.startswith(renderer.leading_bos)


def conversation_of(length: int) -> list[Message]:
    call = ToolCall("look", {"city": "Oslo", "days": 2})
    turns = (Message("user", "Hi"), Message("assistant", "", tool_calls=(call,)), Message("tool", "ok"))
    return [turns[i % 3] for i in range(length)]


@pytest.mark.parametrize("name", registry.names())
def test_a_long_conversation_is_rendered_quickly(name: str) -> None:
    renderer = registry.make(name)
    messages = conversation_of(100)
    seconds = []
    for _ in range(3):
        start = process_time()
        renderer.render(messages, (), None)
        seconds.append(process_time() - start)
    assert min(seconds) < 0.005
