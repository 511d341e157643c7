"""Results of tools in the order of their calls."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.chunks import ToolCall
from orchestrator.domain.requests import Message
from orchestrator.inference.results import in_order_of_calls

USER = Message("user", "go")


def asks(*calls: tuple[str, str]) -> Message:
    return Message("assistant", tool_calls=tuple(ToolCall(name, {}, id=id) for name, id in calls))


def result(content: str, id: str = "", name: str = "") -> Message:
    return Message("tool", content, tool_call_id=id, tool_name=name)


def contents(messages: Sequence[Message]) -> str:
    return "".join(message.content for message in messages if message.role == "tool")


# case B043
def test_results_are_matched_by_id() -> None:
    messages = [USER, asks(("a", "1"), ("b", "2")), result("B", "2"), result("A", "1"), USER]
    found = in_order_of_calls(messages)
    assert contents(found) == "AB"
    assert [message.tool_name for message in found if message.role == "tool"] == ["a", "b"]
    assert found[0] == found[-1] == USER


# case B044
def test_results_of_one_tool_are_told_apart_by_id() -> None:
    messages = [asks(("weather", "oak"), ("weather", "elm")), result("elm", "elm"), result("oak", "oak")]
    assert contents(in_order_of_calls(messages)) == "oakelm"


@pytest.mark.parametrize(
    ("results", "order"),
    [
        ([result("B", name="b"), result("A", name="a")], "AB"),
        ([result("B", "2"), result("A", name="a")], "AB"),
        ([result("x"), result("y")], "xy"),
        ([result("x", "unknown"), result("A", "1")], "Ax"),
        ([result("B", "2")], "B"),
        ([result("A", "1"), result("again", "1"), result("B", "2")], "ABagain"),
        ([], ""),
    ],
)
def test_results_without_an_id_go_by_name_and_others_come_last(results: list[Message], order: str) -> None:
    assert contents(in_order_of_calls([asks(("a", "1"), ("b", "2")), *results])) == order


def test_only_results_right_behind_the_calls_move() -> None:
    messages = [asks(("a", "1"), ("b", "2")), result("B", "2"), USER, result("A", "1")]
    assert contents(in_order_of_calls(messages)) == "BA"


@given(st.permutations(range(6)), st.booleans())
def test_nothing_is_lost_and_the_order_of_arrival_does_not_matter(order: list[int], one_tool: bool) -> None:
    calls = asks(*(("t" if one_tool else f"t{i}", f"id{i}") for i in range(6)))
    results = [result(str(i), f"id{i}") for i in order]
    assert contents(in_order_of_calls([USER, calls, *results])) == "012345"
