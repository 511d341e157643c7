"""Whatever stands in a body, it is answered, in words for people, and is never a fault of ours."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from integration.cases.place import TOOLS, Json, Place
from integration.toy import send_body
from tests.http_replay.transport import Answer

ODD: list[Any] = [None, -1, 10**30, True, "banana", "\0", "\ud800", [None], {}, {"": None}]
LEAKS = re.compile(
    r"Traceback|Value error|Input should|<class|NoneType|object at 0x|unhashable|has no attribute|codec can't"
    r"|not subscriptable|positional argument|KeyError|TypeError|\[Errno"
)
Path = tuple[str | int, ...]

MODEL = "hostile"
SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}}
FUNCTION = {
    "name": "f",
    "description": "d",
    "parameters": {
        "type": "object",
        "properties": {"a": {"type": "string", "enum": ["x"]}},
        "required": ["a"],
    },
}
CALL = {"id": "x", "type": "function", "function": {"name": "f", "arguments": "{}"}}
BODIES: dict[str, Json] = {
    "/api/generate": {
        "prompt": "hi",
        "suffix": "",
        "system": "s",
        "template": "{{ .Prompt }}",
        "context": [1],
        "format": SCHEMA,
        "images": [],
        "keep_alive": "5m",
        "options": {"stop": ["x"], "num_ctx": 4096},
        "think": False,
        "top_logprobs": 1,
        "logprobs": True,
    },
    "/api/chat": {
        "messages": [
            {"role": "user", "content": "hi", "images": [], "thinking": "t"},
            {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": {"a": 1}}}]},
            {"role": "tool", "content": "x", "tool_name": "f"},
        ],
        "tools": [{"type": "function", "function": FUNCTION}],
        "options": {"temperature": 0.5, "seed": 1},
    },
    "/api/embed": {"input": ["a"], "truncate": True, "dimensions": 2, "options": {}},
    "/api/show": {"verbose": False, "options": {}},
    "/v1/chat/completions": {
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "hi"}]},
            {"role": "assistant", "tool_calls": [CALL]},
            {"role": "tool", "tool_call_id": "x", "content": "y"},
        ],
        "tools": [{"type": "function", "function": FUNCTION}],
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "n", "schema": SCHEMA},
        },
        "stream_options": {"include_usage": True},
        "reasoning": {"effort": "none"},
        "logit_bias": {"5": 1},
        "stop": ["x"],
    },
    "/v1/completions": {"prompt": "hi", "suffix": "", "logprobs": 1, "stop": ["x"], "echo": True},
    "/v1/embeddings": {"input": ["x"], "dimensions": 2, "encoding_format": "float"},
    "/v1/responses": {
        "input": [
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]},
            {"type": "function_call", "call_id": "x", "name": "f", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "x", "output": "y"},
        ],
        "tools": [{"type": "function", **FUNCTION}],
        "text": {"format": {"type": "json_schema", "name": "n", "schema": SCHEMA}},
        "include": ["message.output_text.logprobs"],
        "metadata": {"a": "b"},
    },
    "/v1/messages": {
        "max_tokens": 1,
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "hi"}]},
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "x", "name": "f", "input": {"a": 1}}],
            },
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "x", "content": [{}]}]},
        ],
        "system": [{"type": "text", "text": "s"}],
        "tools": [{"name": "f", "input_schema": FUNCTION["parameters"]}],
        "tool_choice": {"type": "auto"},
        "thinking": {"type": "disabled"},
        "output_config": {"effort": "low"},
        "stop_sequences": ["x"],
    },
    "/v1/rerank": {"query": "x", "documents": ["a", {"text": "b"}], "top_n": 1},
}


def places(value: Any, path: Path = ()) -> Iterator[Path]:
    """Where every value in ``value`` stands, itself first."""
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield from places(item, (*path, key))


def changed(value: Any, path: Path, odd: Any) -> Any:
    """``value`` with ``odd`` at ``path``."""
    if not path:
        return odd
    copy: Any = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = changed(value[path[0]], path[1:], odd)
    return copy


def told(answer: Answer) -> str:
    return json.dumps(answer.body, default=repr, ensure_ascii=False)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("route", BODIES)
def test_no_body_is_a_fault_of_ours(here: Place, route: str, stream: bool) -> None:
    here.model(MODEL, template=TOOLS)
    body = {"model": MODEL, "stream": stream, **BODIES[route]}
    for path in places(body):
        for odd in ODD:
            answer = send_body(here.server, route, json.dumps(changed(body, path, odd)).encode())
            assert answer.status, (path, odd, answer)
            assert not LEAKS.search(told(answer)), (path, odd, answer)
    assert "fault of ours" not in here.log()
