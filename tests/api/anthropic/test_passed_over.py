"""What is told of values that change nothing."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.api.anthropic.passed_over import in_message
from orchestrator.wire import anthropic as wire
from orchestrator.wire.model import decode


def told(**members: Any) -> list[str]:
    body = {"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "x"}], **members}
    return list(in_message(decode(body, wire.MessagesRequest)))


@pytest.mark.parametrize(
    "members",
    [
        {},
        {"system": "s", "thinking": {"type": "enabled", "budget_tokens": 1024}},
        {"system": [{"type": "text", "text": "s", "cache_control": {"type": "ephemeral"}}]},
        {"thinking": {"type": "adaptive"}, "output_config": {"effort": "xhigh"}},
    ],
)
def test_an_ordinary_request_is_not_warned_of(members: Any) -> None:
    assert told(**members) == []


@pytest.mark.parametrize(
    ("members", "place"),
    [
        ({"system": 5}, "system"),
        ({"system": {"type": "text", "text": "s"}}, "system"),
        ({"system": [{"type": "text", "text": "s"}, {"type": "image"}]}, "system[1]"),
        ({"thinking": {"type": "banana"}}, "thinking"),
        ({"output_config": {"effort": "banana"}}, "output_config.effort"),
    ],
)
def test_a_value_that_changes_nothing_is_named(members: Any, place: str) -> None:
    (text,) = told(**members)
    assert text.startswith(f"{place} has no effect: ")
