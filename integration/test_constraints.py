"""Schemas and forced calls of tools: what a real model writes under a grammar is what was asked for."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

import httpx
import jsonschema
import pytest

from integration.conftest import CHAT_MODEL
from tests.sample_models import smollm2, with_chat_template

pytestmark = pytest.mark.timeout(180)

OPTIONS = {"temperature": 0, "seed": 7, "num_predict": 80, "num_ctx": 2048}
TEMPLATE = (
    "{{ if .Tools }}<|im_start|>system\nTools: {{ .Tools }}<|im_end|>\n{{ end }}"
    "{{ range .Messages }}<|im_start|>{{ .Role }}\n{{ .Content }}"
    "{{ if .ToolCalls }}{{ range .ToolCalls }}%s{{ end }}{{ end }}<|im_end|>\n{{ end }}"
    "<|im_start|>assistant\n"
)
CALL = '{"name": "{{ .Function.Name }}", "arguments": {{ .Function.Arguments }}}'
JINJA = (
    "{% if tools %}<|im_start|>system\nTools: {{ tools | tojson }}\nCall them like "
    '<tool_call>{"name": "f", "arguments": {}}</tool_call><|im_end|>\n{% endif %}'
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}"
    '{% if m.tool_calls %}{% for c in m.tool_calls %}<tool_call>{"name": "{{ c.function.name }}", '
    '"arguments": {{ c.function.arguments | tojson }}}</tool_call>{% endfor %}{% endif %}<|im_end|>\n'
    "{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
MODELS: dict[str, dict[str, Any]] = {
    "tagged": {"template": TEMPLATE % f"<tool_call>{CALL}</tool_call>"},
    "bare": {"template": TEMPLATE % CALL},
    "listed": {"template": TEMPLATE % f"[TOOL_CALLS] [{CALL}]"},
    **{
        name: {"template": TEMPLATE % CALL, "parser": name}
        for name in ("qwen3", "ministral", "deepseek3", "cohere")
    },
}

WEATHER: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather of a city",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string", "enum": ["Rome", "Oslo"]},
                "days": {"type": "integer"},
            },
            "required": ["city"],
        },
    },
}
CLOCK: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "get_time",
        "description": "The time",
        "parameters": {"type": "object", "properties": {}},
    },
}
TOOLS = [WEATHER, CLOCK]
PARAMETERS = {tool["function"]["name"]: tool["function"]["parameters"] for tool in TOOLS}
CONVERSATION = [
    {"role": "user", "content": "What will the weather be in Oslo?"},
    {
        "role": "assistant",
        "tool_calls": [{"function": {"name": "get_weather", "arguments": {"city": "Oslo"}}}],
    },
    {"role": "user", "content": "And in Rome?"},
]
"""The model is too small to call tools without having seen how."""


@pytest.fixture(scope="module")
def http(real_daemon: str) -> Iterator[httpx.Client]:
    """A client of a daemon that has models with several forms of calls."""
    with httpx.Client(base_url=f"http://{real_daemon}", timeout=120) as client:
        for name, members in MODELS.items():
            client.post("/api/create", json={"model": name, "from": CHAT_MODEL} | members).raise_for_status()
        _create_native(client)
        yield client


def _create_native(client: httpx.Client) -> None:
    file = with_chat_template(smollm2(), JINJA)
    content = file.read_bytes()
    digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
    client.post(f"/api/blobs/{digest}", content=content).raise_for_status()
    client.post("/api/create", json={"model": "native", "files": {"m.gguf": digest}}).raise_for_status()


def chat(http: httpx.Client, model: str, **members: Any) -> dict[str, Any]:
    """One reply: content, calls and the members of the last record."""
    body = {"model": model, "messages": CONVERSATION, "options": OPTIONS, "stream": False} | members
    answer = http.post("/api/chat", json=body)
    answer.raise_for_status()
    records = [json.loads(line) for line in answer.text.splitlines()]
    messages = [record["message"] for record in records]
    last: dict[str, Any] = records[-1]
    return last | {
        "content": "".join(message.get("content", "") for message in messages),
        "calls": [call["function"] for message in messages for call in message.get("tool_calls", ())],
    }


@pytest.mark.parametrize(
    ("model", "stream"),
    [*((model, False) for model in (*MODELS, "native")), ("tagged", True), ("qwen3", True), ("native", True)],
)
def test_a_forced_call_comes_back_as_a_call(http: httpx.Client, model: str, stream: bool) -> None:
    reply = chat(http, model, tools=TOOLS, tool_choice="required", stream=stream)
    assert reply["calls"]
    assert not reply["content"].strip() or reply["done_reason"] == "length"
    for call in reply["calls"]:
        jsonschema.validate(call["arguments"], PARAMETERS[call["name"]])


@pytest.mark.parametrize("model", [*MODELS, "native"])
def test_a_named_tool_is_the_one_that_is_called(http: httpx.Client, model: str) -> None:
    choice = {"type": "function", "function": {"name": "get_time"}}
    reply = chat(http, model, tools=TOOLS, tool_choice=choice)
    assert [(call["name"], call["arguments"]) for call in reply["calls"]] == [("get_time", {})]


@pytest.mark.parametrize("model", ["tagged", "native"])
def test_tools_that_may_not_be_called_are_not_shown(http: httpx.Client, model: str) -> None:
    shown = chat(http, model, tools=TOOLS, _debug_render_only=True) if model == "tagged" else None
    short = OPTIONS | {"num_predict": 4}
    hidden = chat(http, model, tools=TOOLS, tool_choice="none", options=short)
    plain = chat(http, model, options=short)
    assert hidden["prompt_eval_count"] == plain["prompt_eval_count"]
    assert not hidden["calls"]
    assert shown is None or "get_weather" in json.dumps(shown)


@pytest.mark.parametrize("choice", ["always", {"type": "function", "function": {"name": "missing"}}])
def test_a_choice_that_cannot_be_is_refused(http: httpx.Client, choice: Any) -> None:
    body = {"model": "tagged", "messages": CONVERSATION, "tools": TOOLS, "tool_choice": choice}
    answer = http.post("/api/chat", json=body)
    assert answer.status_code == 400
    assert "tool_choice" in answer.json()["error"]


SCHEMAS = [
    {
        "type": "object",
        "properties": {
            "color": {"enum": ["red", "blue"]},
            "count": {"type": "integer", "minimum": 1, "maximum": 3},
        },
        "required": ["color", "count"],
    },  # case B057
    {
        "type": "object",
        "properties": {
            "name": {"type": "string", "minLength": 2, "maxLength": 12},
            "born": {"type": "string", "format": "date"},
            "score": {"type": "number", "minimum": 0, "maximum": 1},
            "code": {"type": "string", "pattern": "^[A-Z]{2}-\\d{3}$"},
            "tags": {"type": "array", "items": {"enum": ["a", "b", "c"]}, "minItems": 1, "maxItems": 3},
        },
        "required": ["name", "born", "score", "code", "tags"],
    },
    {
        "$ref": "#/$defs/node",
        "$defs": {
            "node": {
                "type": "object",
                "properties": {
                    "id": {"type": "integer", "minimum": 0, "maximum": 9},
                    "next": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/leaf"}]},
                },
                "required": ["id", "next"],
            },
            "leaf": {"allOf": [{"$ref": "#/$defs/node"}, {"properties": {"next": {"type": "null"}}}]},
        },
    },
    {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "boolean"}], "items": False},
]


@pytest.mark.parametrize("schema", SCHEMAS)
@pytest.mark.parametrize("seed", [1, 2])
def test_a_reply_fits_its_schema(http: httpx.Client, schema: dict[str, Any], seed: int) -> None:
    options = OPTIONS | {"temperature": 0.8, "seed": seed, "num_predict": 300}
    body = {
        "model": "tagged",
        "prompt": "Give me an example.",
        "format": schema,
        "options": options,
        "stream": False,
    }
    reply = http.post("/api/generate", json=body).raise_for_status().json()
    assert reply["done_reason"] == "stop"
    jsonschema.validate(json.loads(reply["response"]), schema)


@pytest.mark.parametrize(
    "schema", [{"type": "banana"}, {"$ref": "#/nope"}, {"properties": {"a": {"type": "x"}}}]
)
def test_a_schema_that_cannot_be_is_never_passed_over(http: httpx.Client, schema: dict[str, Any]) -> None:
    answer = http.post(
        "/api/generate", json={"model": "tagged", "prompt": "x", "format": schema, "stream": False}
    )
    assert answer.status_code == 400
    assert "JSON schema error at #" in answer.json()["error"]
