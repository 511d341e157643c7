"""Structured output: with a thought before it, enforced as far as possible, the rest told."""

from __future__ import annotations

import json
from contextlib import closing
from typing import Any

import pytest
from ollama import Client

from integration.cases.place import PLAIN, THINKING, Place, deltas, folded, told
from integration.conftest import CHAT_MODEL

SUMMARY = {"type": "object", "properties": {"summary": {"type": "string"}}, "required": ["summary"]}
MARK_AND_NUMBER = {
    "mark": {"type": "string", "enum": ["red", "blue"]},
    "n": {"type": "integer", "minimum": 1, "maximum": 3},
}
CHOICE = {"type": "object", "properties": MARK_AND_NUMBER, "required": ["mark", "n"]}
THOUGHT = ["<think>", "Let me", " see.", "</think>", "\n\n", '{"', "{"]
ANSWER = ['{"', 'summary": "x"}']


def thinkers(here: Place) -> dict[str, str]:
    return {
        "template": here.model("thinker", template=THINKING),
        "qwen3.5": here.model("t-qwen35", renderer="qwen3.5", parser="qwen3.5"),
        "deepseek3": here.model("t-deepseek", renderer="deepseek3.1", parser="deepseek3"),
        "qwen3-vl": here.model("t-vl", renderer="qwen3-vl-thinking", parser="qwen3-vl-thinking"),
    }


# case B055, case B056
@pytest.mark.parametrize("kind", ["template", "qwen3.5", "deepseek3", "qwen3-vl"])
@pytest.mark.parametrize("format", [SUMMARY, "json"])
def test_the_constraint_begins_after_the_thought(here: Place, kind: str, format: Any) -> None:
    model = thinkers(here)[kind]
    thought = THOUGHT if kind == "template" else THOUGHT[1:]
    for stream in (True, False):
        here.says(thought, ANSWER)
        found = (
            folded(here.streamed(model, "hi", think=True, format=format))
            if stream
            else told(here.chat(model, "hi", think=True, format=format))
        )
        assert found["thinking"] == "Let me see."
        assert json.loads(found["content"]) == {"summary": "x"}
        free, constrained = here.calls("/completion")
        assert not {"json_schema", "grammar"} & free.keys()
        assert {"json_schema", "grammar"} & constrained.keys()
        assert "Let me see." in constrained["prompt"]


# case B056
def test_a_native_model_thinks_before_its_json(here: Place) -> None:
    model = here.native("native-thinks", "{{ messages }}<think>{{ enable_thinking }}</think>")
    parts = [{"reasoning_content": "Let me see."}, {"content": '{"summary": "x"}'}]
    here.script(answers={"/v1/chat/completions": [{"sse": deltas(*parts)}]})
    found = told(here.chat(model, "hi", think=True, format="json"))
    assert (found["thinking"], found["content"]) == ("Let me see.", '{"summary": "x"}')
    sent = here.calls("/v1/chat/completions")[0]
    assert sent["response_format"] == {"type": "json_object"}
    assert sent["chat_template_kwargs"]["enable_thinking"] is True


# case B056
@pytest.mark.parametrize("think", [True, None])
def test_generate_tells_that_a_format_leaves_no_room_for_a_thought(here: Place, think: Any) -> None:
    here.says(['{"summary": "x"}'])
    body = here.generate(thinkers(here)["template"], think=think, format="json").body
    assert any("thought" in warning for warning in body["warnings"])
    assert "warnings" not in here.generate(thinkers(here)["template"], think=False, format="json").body


# case B057
@pytest.mark.parametrize("stream", [True, False])
def test_what_holds_is_given_to_the_engine(here: Place, stream: bool) -> None:
    model = here.model("templated", template=PLAIN)
    assert "warnings" not in here.chat(model, "hi", format=CHOICE, stream=stream).last
    assert here.calls("/completion")[0]["json_schema"] == CHOICE


# case B057
def test_what_the_engine_would_lose_goes_to_it_as_a_grammar(here: Place) -> None:
    model = here.model("templated", template=PLAIN)
    schema = {"type": "number", "minimum": 1, "maximum": 3}
    assert "warnings" not in here.chat(model, "hi", format=schema).body
    sent = here.calls("/completion")[0]
    assert "json_schema" not in sent
    assert sent["grammar"].startswith("root")


# case B057
@pytest.mark.parametrize("route", ["chat", "generate", "native"])
@pytest.mark.parametrize(
    ("schema", "pointer"),
    [
        (
            {"type": "object", "properties": {"n": {"type": "integer", "multipleOf": 5}}},
            "#/properties/n/multipleOf",
        ),
        ({"type": "array", "items": {"type": "string"}, "uniqueItems": True}, "#/uniqueItems"),
        (
            {"type": "object", "properties": {"e": {"type": "string", "format": "email"}}},
            "#/properties/e/format",
        ),
        ({"type": "object", "patternProperties": {"^x": {}}}, "#/patternProperties"),
        ({"not": {"type": "string"}}, "#/not"),
    ],
)
def test_what_nobody_enforces_is_told(here: Place, route: str, schema: Any, pointer: str) -> None:
    if route == "generate":
        answer = here.generate(here.model("templated", template=PLAIN), format=schema)
    else:
        model = here.native("native") if route == "native" else here.model("templated", template=PLAIN)
        answer = here.chat(model, "hi", format=schema)
    assert answer.status == 200, answer
    assert any(pointer in warning for warning in answer.body["warnings"])


# case B057
def test_a_real_engine_keeps_to_the_schema(real_daemon: str) -> None:
    properties = {**MARK_AND_NUMBER, "x": {"type": "number", "minimum": 0, "maximum": 1}}
    bounded = {**CHOICE, "properties": properties}
    with closing(Client(f"http://{real_daemon}")) as client:
        for seed in (1, 2):
            options = {"seed": seed, "temperature": 2.0, "num_predict": 200}
            reply = client.generate(CHAT_MODEL, "Say green and 17.", format=bounded, options=options)
            found = json.loads(reply.response or "")
            assert found["mark"] in ("red", "blue")
            assert found["n"] in (1, 2, 3)
            assert 0 <= found.get("x", 0) <= 1
