"""Answers that have to be calls."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.domain.chunks import Chunk, Done
from orchestrator.domain.formats import JsonFormat
from orchestrator.domain.options import Options
from orchestrator.domain.requests import ChatRequest
from orchestrator.domain.think import Think
from orchestrator.domain.tool_choice import InvalidToolChoice, ToolChoice, ToolUse
from orchestrator.domain.tools import Tool, parse_tools
from orchestrator.inference.deferred import think_then_constrain
from orchestrator.inference.forced_calls import ForcedCalls, forced_calls
from orchestrator.inference.path import PromptPath, Route
from orchestrator.parsers import registry as parsers
from orchestrator.runners.base import CompletionCall
from orchestrator.templates.gotemplate import GoTemplate
from tests.grammars.gbnf import Gbnf
from tests.inference.byte_runner import END, ByteRunner, gathered

TOOLS = parse_tools([{"type": "function", "function": {"name": name}} for name in ("get time", "add")])
REQUIRED = ToolChoice(ToolUse.REQUIRED)
NAMED = ToolChoice(ToolUse.REQUIRED, "get time")
TEMPLATE = GoTemplate.parse(
    "{{ range .Messages }}{{ if .ToolCalls }}{{ range .ToolCalls }}<call>"
    '{"name": "{{ .Function.Name }}"}</call>{{ end }}{{ end }}{{ end }}'
)


def forced(
    parser: str = "", choice: ToolChoice = REQUIRED, shown: tuple[Tool, ...] = TOOLS
) -> ForcedCalls | None:
    path = PromptPath(Route.PARSER, parser_name=parser, template=TEMPLATE)
    return forced_calls(path, ChatRequest(model="m", options={}, tools=TOOLS, tool_choice=choice), shown)


def surely(found: ForcedCalls | None) -> ForcedCalls:
    assert found is not None
    return found


@pytest.mark.parametrize("choice", [ToolChoice(), ToolChoice(ToolUse.NONE)])
def test_nothing_is_forced_unless_it_is_wanted(choice: ToolChoice) -> None:
    assert forced(choice=choice) is None


def test_a_model_whose_output_holds_no_calls_cannot_be_forced() -> None:
    assert forced("passthrough") is None


def test_a_named_parser_tells_how_calls_are_written() -> None:
    grammar = Gbnf(surely(forced("qwen3")).grammar)
    assert grammar.accepts('<tool_call>\n{"name": "add", "arguments": {}}\n</tool_call>')


@pytest.mark.parametrize("parser", ["", "nobody-knows"])
def test_otherwise_the_template_tells_it(parser: str) -> None:
    found = surely(forced(parser))
    assert Gbnf(found.grammar).accepts('<call>\n{"name": "add", "arguments": {}}\n</call>')
    assert found.beginnings == ("<call>",)


def test_a_tool_goes_by_the_name_that_the_prompt_gives_it() -> None:
    parser = parsers.make("harmony")
    assert parser is not None
    shown = parser.start(TOOLS, None, None)
    found = surely(forced("harmony", NAMED, shown))
    call = "<|channel|>commentary to=functions.get_time <|constrain|>json<|message|>{}"
    assert Gbnf(found.grammar).accepts(call)
    assert found.parser.feed(call).calls + found.parser.close().calls
    assert not Gbnf(found.grammar).accepts(call.replace("get_time", "add"))


def test_a_tool_that_is_not_there_is_refused() -> None:
    with pytest.raises(InvalidToolChoice):
        forced(choice=ToolChoice(ToolUse.REQUIRED, "missing"))


async def after_thought(*pieces: str | Done) -> tuple[list[Any], ByteRunner]:
    parser = parsers.make("qwen3-thinking")
    assert parser is not None
    parser.start(TOOLS, None, Think(True))
    found = surely(forced("qwen3-thinking"))
    runner = ByteRunner(pieces, ['<tool_call>\n{"name": "add", "argu', 'ments": {}}\n</tool_call>', END])
    call = CompletionCall(
        prompt="p", options=Options(stop=("own",)), format=JsonFormat(), grammar=found.grammar
    )
    return await gathered(think_then_constrain(runner, call, parser, found)), runner


@pytest.mark.parametrize(
    ("pieces", "prompt"),
    [
        (["deep", "</think>\n\n", END], "pdeep</think>\n\n"),
        (["deep", "</think>\n\nThe answer", " is 3", END], "pdeep</think>\n\n"),
        (["deep", END], "pdeep"),
    ],
)
async def test_a_forced_call_follows_the_thought(pieces: list[str | Done], prompt: str) -> None:
    items, runner = await after_thought(*pieces)
    chunks = [item for item in items if isinstance(item, Chunk)]
    assert "".join(chunk.thinking for chunk in chunks) == "deep"
    assert [call.name for chunk in chunks for call in chunk.tool_calls] == ["add"]
    assert not any(chunk.content for chunk in chunks)
    free, constrained = runner.calls
    assert (free.format, free.grammar, free.options.stop) == (None, None, ("own", "<tool_call>"))
    assert constrained.prompt == prompt
    assert constrained.grammar
    assert constrained.options.stop == ("own",)
