from __future__ import annotations

from typing import Any

import pytest

from orchestrator.domain.tool_choice import AUTO, InvalidToolChoice, ToolChoice, ToolUse, parse_tool_choice
from orchestrator.domain.tools import parse_tools

TOOLS = parse_tools([{"function": {"name": name}} for name in "ab"])


@pytest.mark.parametrize(
    ("value", "choice"),
    [
        (None, AUTO),
        ("auto", AUTO),
        ("none", ToolChoice(ToolUse.NONE)),
        ("required", ToolChoice(ToolUse.REQUIRED)),
        ({"type": "function", "function": {"name": "f"}}, ToolChoice(ToolUse.REQUIRED, "f")),
        ({"type": "function", "name": "f"}, ToolChoice(ToolUse.REQUIRED, "f")),
    ],
)
def test_a_choice_is_a_word_or_names_a_tool(value: Any, choice: ToolChoice) -> None:
    assert parse_tool_choice(value) == choice


@pytest.mark.parametrize(
    "value", ["always", 1, True, [], {}, {"type": "function"}, {"function": {"name": 1}}]
)
def test_anything_else_is_refused(value: Any) -> None:
    with pytest.raises(InvalidToolChoice):
        parse_tool_choice(value)


def test_only_some_tools_may_be_called() -> None:
    assert AUTO.callable_tools(TOOLS) == TOOLS
    assert ToolChoice(ToolUse.NONE).callable_tools(TOOLS) == ()
    assert ToolChoice(ToolUse.REQUIRED, "b").callable_tools(TOOLS) == TOOLS[1:]


@pytest.mark.parametrize("choice", [ToolChoice(ToolUse.REQUIRED), ToolChoice(ToolUse.REQUIRED, "c")])
def test_a_forced_call_needs_its_tool(choice: ToolChoice) -> None:
    with pytest.raises(InvalidToolChoice):
        choice.callable_tools(TOOLS if choice.name else ())


def test_one_named_tool_is_called_once() -> None:
    assert ToolChoice(ToolUse.REQUIRED).allows_several
    assert not ToolChoice(ToolUse.REQUIRED, "a").allows_several
    assert not parse_tool_choice("required", parallel=False).allows_several
