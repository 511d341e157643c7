from __future__ import annotations

import json
from typing import Any

import pytest

from orchestrator.domain.think import InvalidThink, Think
from tests.golden_records import Record, cases, matches


def decoded(value: Any) -> dict[str, Any]:
    try:
        think = Think.parse(value)
    except InvalidThink as error:
        return {"error": str(error)}
    return {
        "out": {
            "bool": bool(think),
            "string": think.level,
            "is_bool": think.word is None,
            "is_string": think.word is not None,
            "valid": True,
            "encoded": json.dumps(think.json),
        }
    }


@pytest.mark.parametrize("record", cases("values/think.jsonl"))
def test_a_json_value_gives_the_recorded_setting(record: Record) -> None:
    if record["in"] in ("true", "false"):  # case B052: accepted now
        assert decoded(record["in"]) == decoded(record["in"] == "true")
    else:
        assert matches(record, decoded(record["in"]))


@pytest.mark.parametrize("record", cases("values/think_field.jsonl"))
def test_the_field_of_a_request_gives_the_recorded_setting(record: Record) -> None:
    value = record["in"].get("think")
    if "error" in record:
        assert matches(record, decoded(value))
    else:
        assert matches(record, {"out": {"think": None if value is None else Think.parse(value).json}})


# case B052
@pytest.mark.parametrize(
    ("value", "think"),
    [
        (True, Think(True)),
        ("true", Think(True)),
        (False, Think(False)),
        ("false", Think(False)),
        ("low", Think(True, "low")),
        ("max", Think(True, "max")),
    ],
)
def test_switches_may_come_as_text(value: Any, think: Think) -> None:
    assert Think.parse(value) == think


@pytest.mark.parametrize("value", ["banana", "", "True", "HIGH", 1, 0.0, [], {}])
def test_anything_else_is_refused(value: Any) -> None:
    with pytest.raises(InvalidThink):
        Think.parse(value)


def test_plain_thinking_is_of_medium_level() -> None:
    assert Think(True).level == "medium"
    assert Think(False).level == ""
    assert Think(True, "low").level == "low"
