"""JSON of others."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import orchestrator
from orchestrator.domain.json_value import parse_json

OWN = {"json_value.py", "json.py", "contract.py", "bare.py", "project.py", "cache.py"}
"""Where ``json.loads`` is called all the same: in its place, for files of our own, in tests of engines."""


def test_hooks_are_those_of_the_standard_library() -> None:
    assert parse_json('{"a": NaN, "b": 1}', parse_constant=lambda _: 0) == {"a": 0, "b": 1}
    assert parse_json(b'{"a": 1}', object_pairs_hook=list) == [("a", 1)]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[" * 100_000, "nested too deeply"),
        ('{"a":' * 100_000, "nested too deeply"),
        ("[" + "9" * 5000 + "]", "a number has too many digits"),
        ("hello", "Expecting value"),
        (b"\xff", "decode"),
    ],
)
def test_what_is_no_json_is_a_value_error(text: str | bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse_json(text)


@given(st.text(alphabet='[]{}":,019eE.-n ', max_size=40))
def test_no_text_is_another_error(text: str) -> None:
    try:
        parse_json(text)
    except ValueError:
        return


FILES = sorted(file for file in Path(orchestrator.__file__).parent.rglob("*.py") if file.name not in OWN)


@pytest.mark.parametrize("file", FILES, ids=lambda file: "/".join(file.parts[-2:]))
def test_json_of_others_is_read_in_this_way(file: Path) -> None:
    calls = (node.func for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Call))
    assert not [call.lineno for call in calls if ast.unparse(call) in ("json.load", "json.loads")]
