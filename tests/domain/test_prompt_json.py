"""The spellings of JSON in prompts."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain import prompt_json
from orchestrator.domain.tools import parse_tool

VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(-1e15, 1e15) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)

TOOL = parse_tool(
    {
        "type": "function",
        "function": {
            "name": "f",
            "parameters": {
                "type": "object",
                "$defs": {"b": 1, "a": 2},
                "properties": {
                    "z": {"type": ["string", "null"], "enum": [{"y": 1, "x": 2}]},
                    "a": {"type": "array", "items": {"type": "string", "enum": ["q"], "default": 1}},
                },
            },
        },
    }
)


@given(VALUES)
def test_every_spelling_reads_back_as_the_same_value(value: Any) -> None:
    for write in (prompt_json.compact, prompt_json.spaced, prompt_json.raw, prompt_json.indented):
        assert json.loads(write(value)) == value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (1.0, "1"),
        (-0.5, "-0.5"),
        (1e20, "100000000000000000000"),
        (1e21, "1e+21"),
        (1e-6, "0.000001"),
        (1.5e-6, "0.0000015"),
        (1e-7, "1e-7"),
        (12345678901234567890, "12345678901234567890"),
    ],
)
def test_numbers_are_plain_over_a_wide_range(value: float, text: str) -> None:
    assert prompt_json.number(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("<a>", "<a>"),
        (True, "true"),
        (None, "null"),
        (1000000, "1000000"),
        (1000000.0, "1000000"),
        (1234567.5, "1.2345675e+06"),
        (0.00012, "0.00012"),
        (0.000012, "1.2e-05"),
        (1e21, "1e+21"),
    ],
)
def test_scalars_are_written_plainly(value: Any, text: str) -> None:
    assert prompt_json.scalar(value) == text


def test_markup_is_escaped_unless_the_spelling_is_raw() -> None:
    value = {"<k>": '&"\u2028\x01é'}
    assert prompt_json.compact(value) == r'{"\u003ck\u003e":"\u0026\"\u2028\u0001é"}'
    assert prompt_json.raw(value) == r'{"<k>": "&\"\u2028\u0001é"}'
    assert prompt_json.raw({"a": "<", "b": prompt_json.Escaped({"<": [">"]})}) == (
        r'{"a": "<", "b": {"\u003c": ["\u003e"]}}'
    )


def test_arguments_keep_their_order_and_objects_in_them_do_not() -> None:
    values = {"s": "<a&b>", "m": 1000000, "l": [1, {"b": 1, "a": 2}], "a": {}}
    assert prompt_json.spaced(prompt_json.arguments(values)) == (
        r'{"s": "\u003ca\u0026b\u003e", "m": 1000000, "l": [1, {"a": 2, "b": 1}], "a": {}}'
    )


def test_a_tool_keeps_the_order_of_properties_and_sorts_what_is_free_form() -> None:
    assert prompt_json.compact(prompt_json.tool_value(TOOL)) == (
        '{"type":"function","function":{"name":"f","parameters":{"type":"object","$defs":{"a":2,"b":1},'
        '"properties":{"z":{"type":["string","null"],"enum":[{"x":2,"y":1}]},'
        '"a":{"type":"array","items":{"default":1,"enum":["q"],"type":"string"}}}}}}'
    )


def test_indented_json_has_a_line_per_member() -> None:
    assert prompt_json.indented({"a": [1, {}], "b": []}) == (
        '{\n    "a": [\n        1,\n        {}\n    ],\n    "b": []\n}'
    )
