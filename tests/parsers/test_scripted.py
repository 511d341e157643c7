"""Parsers written as scripts, whatever the script."""

from __future__ import annotations

import pytest

from orchestrator.domain.requests import Message
from orchestrator.domain.think import Think
from orchestrator.parsers.base import NOTHING, Parsed
from orchestrator.parsers.passthrough import PassthroughParser
from orchestrator.parsers.qwen3 import Qwen3Parser, Qwen3ThinkingParser
from tests.parsers.families import TOOLS


def started(parser: Qwen3Parser | PassthroughParser) -> Qwen3Parser | PassthroughParser:
    parser.start(TOOLS, None, None)
    return parser


def test_a_plain_token_passes_as_it_is() -> None:
    parser = started(Qwen3ThinkingParser())
    parser.feed("x")
    assert parser.feed(" thought") == Parsed("", " thought")
    parser.feed("</think>x")
    assert parser.feed(" token") == Parsed(" token")


def test_what_is_held_back_gives_nothing() -> None:
    parser = started(Qwen3Parser())
    assert parser.feed("\n") is NOTHING
    assert parser.feed("x") == Parsed("\nx")


def test_a_long_piece_is_like_many_short_ones() -> None:
    call = '<tool_call>{"name":"note","arguments":{"a":"x"}}</tool_call>'
    parsed = started(Qwen3Parser()).feed(f"{'word ' * 5000}{call * 300} end")
    assert parsed.content == "word " * 4999 + "wordend"
    assert len(parsed.calls) == 300


def test_closing_twice_gives_what_was_held_once() -> None:
    parser = started(Qwen3Parser())
    parser.feed("a <")
    assert parser.close() == Parsed(" <")
    assert parser.close() is NOTHING


def test_text_after_the_end_is_content() -> None:
    parser = started(Qwen3Parser())
    parser.close()
    assert parser.feed("<tool_call>") == Parsed("<tool_call>")


def test_a_parser_can_start_again() -> None:
    parser = started(Qwen3ThinkingParser())
    parser.feed("thought")
    parser.start((), None, Think(on=False))
    assert parser.feed("text") == Parsed("text")


def test_tools_keep_their_names() -> None:
    assert PassthroughParser().start(TOOLS, Message("user", "hi"), None) == TOOLS


def test_broken_calls_are_logged_once_without_their_text(
    caplog: pytest.LogCaptureFixture,
) -> None:  # case B027
    parser = started(Qwen3Parser())
    parser.feed("<tool_call>secret</tool_call><tool_call>secret</tool_call>")
    assert len(caplog.records) == 1
    assert "secret" not in caplog.text
