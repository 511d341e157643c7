"""What a client sends and gets: recorded values read into the native types and written again."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import TypeAdapter

from orchestrator.domain.durations import KeepAlive
from orchestrator.domain.think import Think
from orchestrator.errors import BadRequest
from orchestrator.store.wire import Manifest, ModelConfig
from orchestrator.wire import native
from orchestrator.wire.errors import InvalidBody
from orchestrator.wire.fields import ToolsField
from orchestrator.wire.json import dumps, loads
from orchestrator.wire.model import decode, decode_body, encode
from tests.golden_records import Record, cases, matches

TOOLS = TypeAdapter(ToolsField)


def rewritten(kind: str, value: Any) -> bytes:
    """``value`` read as the native type ``kind`` and written again."""
    match kind:
        case "any":
            return dumps(value)
        case "Tools":
            return dumps(TOOLS.dump_python(TOOLS.validate_python(value)))
        case "Tool":
            return dumps(TOOLS.dump_python(TOOLS.validate_python([value]))[0])
        case "ConfigV2":
            # what is absent is filled in when a configuration is made, so here it is said to be empty
            return dumps(ModelConfig.model_validate({"architecture": "", "os": ""} | value).to_json())
        case "Manifest":
            return dumps(Manifest.model_validate(value).to_json())
        case "PullRequest" | "PushRequest":
            return encode(decode(value, native.TransferRequest))
        case _:
            return encode(decode(value, getattr(native, kind)))


def as_doubles(value: Any) -> Any:
    """``value`` with every number a double, which is all that the recorded side can tell apart."""
    match value:
        case bool():
            return value
        case int():
            return float(value)
        case list():
            return [as_doubles(item) for item in value]
        case dict():
            return {key: as_doubles(item) for key, item in value.items()}
        case _:
            return value


@pytest.mark.parametrize("record", cases("wire/encode.jsonl"))
def test_a_recorded_value_is_written_as_it_was(record: Record) -> None:
    given = record["in"]
    text = given["text"] if "text" in given else json.dumps(given["value"])
    try:
        actual = {"out": as_doubles(loads(rewritten(given["type"], loads(text.encode()))))}
    except BadRequest as error:
        actual = {"error": str(error)}
    if "out" in record:
        record = record | {"out": as_doubles(loads(record["out"].encode()))}
        if given["type"] == "ConfigV2":  # no families are no list to us
            record["out"]["model_families"] = record["out"]["model_families"] or None
    assert matches(record, actual), actual


def test_whole_numbers_in_arguments_stay_exact_and_keys_in_order() -> None:
    call = b'{"function":{"name":"f","arguments":{"z":{"y":1,"x":2},"n":36893488147419103232}}}'
    text = b'{"messages":[{"tool_calls":[' + call + b"]}]}"
    body, _ = decode_body(text, native.ChatRequest)
    assert body.messages is not None
    arguments = body.messages[0].tool_calls[0].function.arguments
    assert arguments == {"z": {"y": 1, "x": 2}, "n": 2**65}
    assert dumps(arguments) == b'{"z":{"y":1,"x":2},"n":36893488147419103232}'


@pytest.mark.parametrize("text", ["aGk=", "aG\r\nk=\n", "data:image/png;base64,aGk="])
def test_images_are_base64_with_line_ends_or_data_urls(text: str) -> None:
    """Case B147: a data URL stands for what it holds."""
    assert decode({"images": [text]}, native.GenerateRequest).images == [b"hi"]


@pytest.mark.parametrize("text", ["aGk", "a-k=", "aGk= ", "!", "data:image/png;base64,*"])
def test_other_images_are_refused(text: str) -> None:
    with pytest.raises(InvalidBody, match=r"images\[0\]: .*base64"):
        decode({"images": [text]}, native.GenerateRequest)


def test_roles_are_lower_cased() -> None:
    assert decode({"role": "USER"}, native.Message).role == "user"


@pytest.mark.parametrize("arguments", ["{}", [1], 5])
def test_arguments_of_a_call_are_an_object(arguments: object) -> None:
    with pytest.raises(InvalidBody, match="arguments: expected an object"):
        decode({"function": {"arguments": arguments}}, native.ToolCall)


@pytest.mark.parametrize(
    ("member", "message"),
    [
        ({"keep_alive": True}, "Unsupported type: 'bool'"),
        ({"keep_alive": "soon"}, 'time: invalid duration "soon"'),
        ({"think": 3}, "think must be a boolean or string"),
        ({"think": "banana"}, 'invalid think value: "banana"'),
        ({"tools": ["x"]}, "tools"),
    ],
)
def test_special_fields_refuse_in_their_own_words(member: dict[str, Any], message: str) -> None:
    with pytest.raises(BadRequest, match=message):
        decode(member, native.ChatRequest)


def test_special_fields_are_read_and_written() -> None:
    body = decode({"keep_alive": "90", "think": "low", "KEEP_ALIVE": -1}, native.ChatRequest)
    assert (body.keep_alive, body.think) == (KeepAlive.FOREVER, Think(True, "low"))
    assert loads(encode(body)) == {
        "model": "",
        "messages": None,
        "options": None,
        "keep_alive": -1,
        "think": "low",
    }


def test_integers_fit_into_64_bits() -> None:
    with pytest.raises(InvalidBody, match="top_logprobs"):
        decode({"top_logprobs": 2**63}, native.ChatRequest)
