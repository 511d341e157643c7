"""Messages a model carries: read leniently, written as existing stores have them."""

from __future__ import annotations

import hashlib

import pytest

from orchestrator.domain.chunks import ToolCall
from orchestrator.domain.requests import Message
from orchestrator.errors import BadRequest
from orchestrator.store.canonical import canonical_json
from orchestrator.store.messages import messages_json, read_messages


def test_messages_have_the_digest_they_have_everywhere() -> None:
    messages = (
        Message("assistant", "What is my purpose?"),
        Message("user", "You run tests."),
        Message("assistant", "Oh, my god."),
    )
    digest = hashlib.sha256(canonical_json(messages_json(messages))).hexdigest()
    assert digest == "298baeaf6928a60cf666d88d64a1ba606feb43a2865687c39e40652e407bffc4"


def test_everything_in_a_message_survives() -> None:
    message = Message(
        role="assistant",
        content="<a>",
        thinking="hm",
        images=(b"\x00\x01",),
        tool_calls=(ToolCall("f", {"z": 1, "a": {"b": 2.5}}, 1, "call_1"),),
        tool_name="f",
        tool_call_id="call_1",
    )
    assert read_messages(canonical_json(messages_json([message]))) == (message,)


def test_roles_are_read_in_lower_case() -> None:
    assert read_messages(b'[{"role":"USER","content":null}]') == (Message("user"),)


@pytest.mark.parametrize("content", [b"", b"{}", b"[1]", b'[{"content":1}]', b'[{"images":["?"]}]'])
def test_anything_else_is_refused(content: bytes) -> None:
    with pytest.raises(BadRequest):
        read_messages(content)
