from __future__ import annotations

import random
from typing import Any

import jsonschema
import pytest

from orchestrator.domain.chunks import ToolCall
from orchestrator.domain.think import Think
from orchestrator.domain.tool_choice import ToolChoice, ToolUse
from orchestrator.domain.tools import Tool, parameters_json, parse_tools
from orchestrator.grammars.calls import STYLES, answer_beginnings, call_grammar, style_of
from orchestrator.grammars.gbnf import Grammar
from orchestrator.parsers import registry
from orchestrator.parsers.generic import generic_parser
from tests.grammars.gbnf import Gbnf

TOOLS = parse_tools(
    [
        {
            "type": "function",
            "function": {
                "name": "get",
                "parameters": {
                    "type": "object",
                    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
                    "required": ["city"],
                },
            },
        },
        {
            "type": "function",
            "function": {
                "name": "get_more",
                "parameters": {"type": "object", "properties": {"kind": {"enum": ["a", "b"]}}},
            },
        },
        {"type": "function", "function": {"name": "now", "parameters": {"type": "object", "properties": {}}}},
    ]
)
REQUIRED = ToolChoice(ToolUse.REQUIRED)

WITH_JSON = sorted(name for name, style in STYLES.items() if style.has_json)
OTHERS = sorted(name for name, style in STYLES.items() if not style.has_json)
TAGS = [
    "{",
    "[",
    "<tool_call>",
    "[TOOL_CALLS] [",
    "[TOOL_CALLS]",
    "<|python_tag|>",
    "functools[",
    "Action: ```json",
]


def forced(parser: str, tag: str | None, choice: ToolChoice = REQUIRED) -> Grammar:
    """The grammar of an answer that must be calls."""
    style = style_of(parser, tag)
    assert style is not None
    return call_grammar(style, choice.callable_tools(TOOLS), parallel=choice.allows_several)


def drawn(grammar: str, seed: int, count: int = 30) -> list[str]:
    read, source = Gbnf(grammar), random.Random(seed)
    return [read.draw(source) for _ in range(count)]


def parsed(parser: Any, text: str) -> tuple[str, tuple[ToolCall, ...]]:
    first, last = parser.feed(text), parser.close()
    return first.content + last.content, (*first.calls, *last.calls)


def check(calls: tuple[ToolCall, ...], content: str, text: str) -> None:
    by_name = {tool.function.name: tool for tool in TOOLS}
    assert calls, text
    assert not content.strip(), text
    for call in calls:
        jsonschema.validate(call.arguments, parameters_json(by_name[call.name].function.parameters))


@pytest.mark.parametrize("name", WITH_JSON)
def test_what_a_named_parser_reads_are_calls_that_fit(name: str) -> None:
    grammar = forced(name, None)
    assert not grammar.unenforced
    for text in drawn(grammar.text, 1):
        parser = registry.make(name)
        assert parser is not None
        parser.start(TOOLS, None, Think(False))
        content, calls = parsed(parser, text)
        check(calls, content, text)


@pytest.mark.parametrize("tag", TAGS)
def test_what_a_tag_announces_are_calls_that_fit(tag: str) -> None:
    grammar = forced("", tag)
    for text in drawn(grammar.text, 2):
        parser = generic_parser(thinking_tags=None, tool_tag=tag, prompt_ends_in_thought=False)
        parser.start(TOOLS, None, None)
        content, calls = parsed(parser, text)
        check(calls, content, text)


@pytest.mark.parametrize("name", sorted(STYLES))
def test_a_named_tool_is_the_only_one_called(name: str) -> None:
    grammar = forced(name, None, ToolChoice(ToolUse.REQUIRED, "get_more"))
    for text in drawn(grammar.text, 3):
        assert "get_more" in text
        assert text.count("now") == 0 or not STYLES[name].has_json


EXAMPLES = {
    "qwen3-coder": (
        "<tool_call>\n<function=get>\n<parameter=city>\nRome\n</parameter>\n</function>\n</tool_call>"
    ),
    "qwen3.5": "<tool_call>\n<function=now>\n</function>\n</tool_call>",
    "nemotron-3-nano": "<tool_call>\n<function=now>\n</function>\n</tool_call>\n",
    "glm-4.7": "<tool_call>get<arg_key>city</arg_key><arg_value>Rome</arg_value></tool_call>",
    "glm-ocr": "<tool_call>now</tool_call>",
    "laguna": "<tool_call>get\n<arg_key>city</arg_key>\n<arg_value>Rome</arg_value>\n</tool_call>\n",
    "poolside-v1": "<tool_call>get<arg_key>city</arg_key><arg_value>Rome</arg_value></tool_call>",
    "gemma4": '<|tool_call>call:get{city:<|"|>Rome<|"|>}<tool_call|>',
    "functiongemma": "<start_function_call>call:get{city:<escape>Rome<escape>}<end_function_call>",
    "lfm2": '<|tool_call_start|>[get(city="Rome")]<|tool_call_end|>',
    "olmo3": '<function_calls>get(city="Rome")</function_calls>',
    "glimmer": (
        ' to=get<|message|><atem:function_calls>\n<atem:invoke name="get">\n'
        '<atem:parameter name="city">Rome</atem:parameter>\n</atem:invoke>\n</atem:function_calls>'
    ),
    "harmony": '<|channel|>commentary to=functions.get <|constrain|>json<|message|>{"city":"Rome"}',
    "cohere": (
        '<|START_ACTION|>[\n    {"tool_call_id": "0", "tool_name": "get", "parameters": {"city": "Rome"}}\n]'
        "<|END_ACTION|>"
    ),
    "deepseek3": (
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get<｜tool▁sep｜>"
        '{"city":"Rome"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>'
    ),
    "ministral": '[TOOL_CALLS]get[ARGS]{"city": "Rome", "days": 3}[TOOL_CALLS]now[ARGS]{}',
    "qwen3": '<tool_call>\n{"name": "get", "arguments": {"city": "Rome"}}\n</tool_call>',
}


@pytest.mark.parametrize(("name", "text"), EXAMPLES.items(), ids=list(EXAMPLES))
def test_a_call_as_the_family_writes_it_is_accepted(name: str, text: str) -> None:
    grammar = forced(name, None)
    assert Gbnf(grammar.text).accepts(text)
    parser = registry.make(name)
    assert parser is not None
    parser.start(TOOLS, None, Think(False))
    content, calls = parsed(parser, text)
    check(calls, content, text)


@pytest.mark.parametrize("name", sorted(STYLES))
@pytest.mark.parametrize("text", ["", "Hello", "No tool is needed."])
def test_an_answer_without_a_call_is_not_accepted(name: str, text: str) -> None:
    grammar = forced(name, None)
    assert not Gbnf(grammar.text).accepts(text)


def test_there_may_be_one_call_only() -> None:
    two = EXAMPLES["ministral"]
    for choice, several in ((REQUIRED, True), (ToolChoice(ToolUse.REQUIRED, parallel=False), False)):
        assert Gbnf(forced("ministral", None, choice).text).accepts(two) is several


def test_output_that_no_parser_splits_into_calls_cannot_be_forced() -> None:
    assert style_of("passthrough", None) is None
    assert style_of("", None) is None


def test_every_parser_of_calls_has_its_style() -> None:
    assert {
        name for name in registry.names() if (t := registry.traits(name)) and t.has_tools
    } == STYLES.keys()


def tool(**parameters: Any) -> tuple[Tool, ...]:
    return parse_tools([{"type": "function", "function": {"name": "f", "parameters": parameters}}])


def test_parameters_that_are_no_schema_allow_any_object() -> None:
    grammar = call_grammar(STYLES["qwen3"], tool(type="object", properties={"a": {"type": "banana"}}))
    assert grammar.unenforced == ("f: #/properties/a",)
    assert Gbnf(grammar.text).accepts('<tool_call>\n{"name": "f", "arguments": {"b": 1}}\n</tool_call>')


def test_a_tool_that_says_nothing_of_its_parameters_takes_any_object() -> None:
    grammar = call_grammar(STYLES["ministral"], parse_tools([{"function": {"name": "f"}}]))
    assert Gbnf(grammar.text).accepts('[TOOL_CALLS]f[ARGS]{"b": {}}')


def test_where_a_thought_ends_is_known() -> None:
    glimmer = style_of("glimmer", None)
    assert glimmer is not None
    assert answer_beginnings(glimmer, TOOLS)[:2] == (" to=user", " to=get")
    tagged = style_of("", "<tool_call>")
    assert tagged is not None
    assert answer_beginnings(tagged, TOOLS) == ("<tool_call>",)
