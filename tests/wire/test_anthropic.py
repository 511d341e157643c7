"""Bodies of Anthropic's API."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.wire.anthropic import CountTokensRequest, Message, MessagesRequest
from orchestrator.wire.errors import InvalidBody
from orchestrator.wire.model import decode


@pytest.mark.parametrize(
    ("content", "blocks"),
    [
        ("a", [("text", "a")]),
        ("", [("text", "")]),
        (None, []),
        ([], []),
        ([{"type": "text", "text": "a"}, {"TYPE": "owl", "x": 1}], [("text", "a"), ("owl", None)]),
        ([{"type": "text", "text": None, "citations": {"enabled": True}}], [("text", None)]),
    ],
)
def test_content_is_a_list_of_blocks_however_it_is_written(
    content: Any, blocks: list[tuple[str, str | None]]
) -> None:
    message = decode({"role": "user", "content": content}, Message)
    assert [(block.type, block.text) for block in message.content] == blocks


@pytest.mark.parametrize(
    ("message", "complaint"),
    [
        ({"role": "user"}, "content: it is missing"),
        ({"role": "user", "content": 5}, "content: expected a string or a list of blocks"),
        ({"role": "user", "content": ["a"]}, r"content\[0\]: expected an object, got a string"),
        ({"role": 5, "content": "a"}, "role: expected a string, got the number 5"),
    ],
)
def test_other_content_is_refused(message: Any, complaint: str) -> None:
    with pytest.raises(InvalidBody, match=complaint):
        decode(message, Message)


def test_names_match_in_any_case_and_nulls_are_nothing() -> None:
    body = decode({"MODEL": "m", "Max_Tokens": 5, "temperature": None, "tools": None}, MessagesRequest)
    assert (body.model, body.max_tokens, body.temperature, body.tools) == ("m", 5, None, [])


def test_what_another_kind_of_block_keeps_in_source_is_no_error() -> None:
    decode({"role": "user", "content": [{"type": "search_result", "source": "s"}]}, Message)


def test_a_request_to_count_needs_no_budget() -> None:
    assert decode({"model": "m", "messages": []}, CountTokensRequest).messages == []
