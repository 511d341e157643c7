"""Parsers by name."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from orchestrator.domain.requests import Message
from orchestrator.domain.think import Think
from orchestrator.domain.tools import Tool
from orchestrator.parsers import registry
from orchestrator.parsers.base import Parsed, ParserTraits
from tests.parsers.families import FAMILIES

CALLS_OF_DEEPSEEK = (
    "<｜tool▁calls▁begin｜> <｜tool▁calls▁end｜> <｜tool▁call▁begin｜> <｜tool▁call▁end｜> <｜tool▁sep｜> "
    "<｜tool▁output▁begin｜> <｜tool▁output▁end｜>"
)
PAIRS = "<arg_key> </arg_key> <arg_value> </arg_value>"
THINK_AND_CALL = "<think> </think> <tool_call> </tool_call>"


def test_every_family_is_known() -> None:
    assert set(FAMILIES) == set(registry.names())


@pytest.mark.parametrize(
    ("names", "tools", "thinking"),
    [
        ("qwen3 qwen3-coder qwen3-vl-instruct ministral olmo3", True, False),
        ("functiongemma glm-ocr gemma4-no-thinking lfm2", True, False),
        ("qwen3-thinking qwen3.5 ornith qwen3-vl-thinking harmony cogito", True, True),
        ("deepseek3 nemotron-3-nano", True, True),
        ("nemotron-3.5-nano glm-4.7 gemma4 lfm2-thinking laguna poolside-v1 cohere glimmer", True, True),
        ("olmo3-think", False, True),
        ("passthrough", False, False),
    ],
)  # fmt: skip
def test_a_name_says_what_a_model_can_do(names: str, tools: bool, thinking: bool) -> None:
    for name in names.split():
        assert registry.traits(name) == ParserTraits(has_tools=tools, has_thinking=thinking)


@pytest.mark.parametrize(
    ("names", "tokens"),
    [
        ("qwen3 qwen3-thinking qwen3.5 ornith nemotron-3-nano nemotron-3.5-nano", THINK_AND_CALL),
        ("qwen3-coder", "<tool_call> </tool_call>"),
        ("qwen3-vl-instruct qwen3-vl-thinking", "</think> <tool_call> </tool_call>"),
        ("ministral", "[TOOL_CALLS] [THINK] [/THINK] [ARGS]"),
        ("harmony", "<|start|> <|end|> <|message|> <|channel|> <|constrain|>"),
        ("cogito", f"</think> {CALLS_OF_DEEPSEEK} <｜tool▁outputs▁begin｜> <｜tool▁outputs▁end｜>"),
        ("deepseek3", f"</think> {CALLS_OF_DEEPSEEK}"),
        ("olmo3", "<function_calls> </function_calls>"),
        ("olmo3-think", "</think>"),
        ("functiongemma", "<start_function_call> <end_function_call>"),
        ("glm-4.7 glm-ocr", f"{THINK_AND_CALL} {PAIRS}"),
        (
            "gemma4 gemma4-no-thinking",
            '<|channel> <channel|> <|tool_call> <tool_call|> <|tool_response> <|"|>',
        ),
        ("lfm2 lfm2-thinking", "<think> </think> <|tool_call_start|> <|tool_call_end|>"),
        ("laguna poolside-v1", f"{THINK_AND_CALL} {PAIRS} <user> </user>"),
        (
            "cohere",
            "<|START_THINKING|> <|END_THINKING|> <|START_TEXT|> <|END_TEXT|> <|START_ACTION|> "
            "<|END_ACTION|> <|START_RESPONSE|> <|END_RESPONSE|>",
        ),
        ("glimmer", "<|start|> <|message|> <|eom|> <|eot|>"),
        ("passthrough", ""),
    ],
)
def test_the_engine_must_hand_over_the_special_tokens_of_a_family(names: str, tokens: str) -> None:
    for name in names.split():
        parser = registry.make(name)
        assert parser is not None
        assert sorted(parser.preserved_tokens) == sorted(tokens.split())


def test_nobody_knows_an_unknown_name() -> None:
    assert registry.make("no-such-parser") is None
    assert registry.traits("no-such-parser") is None


class Shouting:
    """An invented family: it writes everything in capitals."""

    preserved_tokens = ("<caps>",)

    def start(
        self, tools: Sequence[Tool], last_message: Message | None, think: Think | None
    ) -> tuple[Tool, ...]:
        return tuple(tools)

    def feed(self, text: str) -> Parsed:
        return Parsed(text.lower())

    def close(self) -> Parsed:
        return Parsed()


def test_an_invented_family_is_one_entry() -> None:
    registry.register("shouting", Shouting, ParserTraits(has_tools=False, has_thinking=False))
    made = registry.make("shouting")
    assert made is not None
    assert made.feed("HI").content == "hi"
    assert "shouting" in registry.names()
    registry.unregister("shouting")
    assert registry.make("shouting") is None
