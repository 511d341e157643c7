"""Arguments of gemma4, as they should be and repaired."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.parsers.declared import DeclaredTools
from orchestrator.parsers.gemma4_arguments import read_arguments, repaired_arguments
from tests.parsers.families import TOOLS

DECLARED = DeclaredTools(TOOLS)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{a:<|"|>x "y" {z:1}, b:2\n<|"|>,b:1}', {"a": 'x "y" {z:1}, b:2\n', "b": 1}),
        ('{ my-key : 1, a.b: [true, null], "q":"x,y:1" }', {"my-key": 1, "a.b": [True, None], "q": "x,y:1"}),
        ("{b:12345678901234567890}", {"b": 12345678901234567890}),
        ("{größe:1}", {"größe": 1}),
        ("{}", {}),
        ('{a:<|"|>x}', None),
        ("{a:x}", None),
        ("{b:1,}", None),
        ("{b:1} x", None),
        ("[1]", None),
    ],
)
def test_arguments_are_nearly_json(text: str, found: dict[str, Any] | None) -> None:
    assert read_arguments(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("{a:'it is'}", {"a": "it is"}),
        ("{a:'it is'<|\"|>,b:1}", {"a": "it is", "b": 1}),
        ('{a:<|"|>x}', {"a": "x"}),
        ('{a:<|"|>x', {"a": "x"}),
        ("{a:Ada, the great,b:1}", {"a": "Ada, the great", "b": 1}),
        ("{a: Ada }", {"a": "Ada "}),
        ("{a:Ada", {"a": "Ada"}),
        ("{a:True}", {"a": "True"}),
        ("{b:soon}", None),
        ("{a:1,b:x}", None),
    ],
)
def test_arguments_are_repaired_if_it_is_clear_how(text: str, found: dict[str, Any] | None) -> None:
    assert repaired_arguments(text, "note", DECLARED) == found


def test_bare_text_of_an_undeclared_tool_is_not_repaired() -> None:
    assert repaired_arguments("{a:x y}", "other", DECLARED) is None
