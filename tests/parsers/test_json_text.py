"""JSON that models write."""

from __future__ import annotations

import pytest

from orchestrator.parsers.json_text import NotJson, json_array, json_object, value


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("12345678901234567890123", 12345678901234567890123),
        ('{"b":1,"a":2,"b":3}', {"b": 3, "a": 2}),
        (r'"\ud83c\udf0d \ud83c"', "🌍 \ufffd"),
        (r'{"\udf0d": ["\udf0d"]}', {"\ufffd": ["\ufffd"]}),
        (" [1.5, null, true]\n", [1.5, None, True]),
    ],
)
def test_values_are_read(text: str, found: object) -> None:
    assert value(text) == found


@pytest.mark.parametrize(
    "text",
    ["", "x", "{} x", '{"a":1,}', "{'a':1}", "NaN", "-Infinity", "1e999", '"a\nb"', "9" * 5000, "[" * 100_000,
     "[" * 500 + "]" * 500],
)  # fmt: skip
def test_what_could_not_be_written_again_is_no_value(text: str) -> None:
    with pytest.raises(NotJson):
        value(text)


def test_objects_and_arrays_are_told_apart() -> None:
    assert [json_object("[]"), json_array("{}"), json_object("{")] == [None, None, None]
    assert json_object('{"a": 1}') == {"a": 1}
    assert json_array("[1]") == [1]
