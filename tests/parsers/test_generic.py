"""The parser for models without a named one."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.domain.think import Think
from orchestrator.parsers.base import Parser
from orchestrator.parsers.generic import generic_parser
from orchestrator.parsers.generic_tools import tool_tag_token
from tests.parsers.families import TOOLS
from tests.parsers.recorded import total

ON, OFF = Think(on=True), Think(on=False)
TAGS = ("<think>", "</think>")
GET: tuple[str, dict[str, Any]] = ("get", {})
GET_1: tuple[str, dict[str, Any]] = ("get", {"b": 1})
GET_ALL: tuple[str, dict[str, Any]] = ("get_all", {})


def parser(
    tag: str | None = "<tool_call>", *, think: Think | None = ON, inside: bool = False, tools: Any = TOOLS
) -> Parser:
    made = generic_parser(thinking_tags=TAGS, tool_tag=tag, prompt_ends_in_thought=inside)
    made.start(tools, None, think)
    return made


def test_calls_are_found_in_what_remains_of_the_thoughts() -> None:
    text = '<think>a <tool_call>b</think>c <tool_call>{"name":"get"}</tool_call>'
    assert total(parser(), text) == {
        "thinking": "a <tool_call>b",
        "content": "c ",
        "calls": [{"name": "get", "arguments": {}}],
    }


@pytest.mark.parametrize("think", [None, OFF])
def test_thoughts_nobody_asked_for_are_content(think: Think | None) -> None:
    assert total(parser(think=think), "<think>a</think>b")["content"] == "<think>a</think>b"


def test_without_tools_calls_are_content() -> None:
    text = '<tool_call>{"name":"get"}</tool_call>'
    made = parser(tools=())
    assert made.preserved_tokens == ()
    assert total(made, text)["content"] == text


def test_without_tags_everything_is_content() -> None:
    made = generic_parser(thinking_tags=None, tool_tag=None, prompt_ends_in_thought=False)
    made.start(TOOLS, None, ON)
    assert total(made, ["<think>a</think>", "{"])["content"] == "<think>a</think>{"


def test_a_thought_that_the_prompt_has_opened_is_no_content() -> None:  # case B048
    for text in ("Weighing it", "Weighing it </thi"):
        assert total(parser(inside=True), text) == {"thinking": text, "content": "", "calls": []}


def test_the_first_closing_tag_that_is_not_quoted_ends_a_thought() -> None:  # case B050
    found = total(parser(), "<think>The tag `</think>` ends it.</think> Yes.</think>")
    assert found["thinking"] == "The tag `</think>` ends it."
    assert found["content"] == "Yes.</think>"


def test_after_the_thought_a_schema_may_begin() -> None:  # case B055
    made = parser(inside=True)
    assert made.feed("thought</think>").thinking == "thought"
    assert total(made, '{"summary": "x"}')["content"] == '{"summary": "x"}'


@pytest.mark.parametrize(
    ("tag", "tokens"),
    [
        ("<tool_call>", ("<tool_call>",)),
        ("[TOOL_CALLS] [", ("[TOOL_CALLS]",)),
        ("<a>\n<b>", ("<a>",)),
        ("Action: ```json", ("Action: ```json",)),
        ("{", ()),
        ("[", ()),
        ("", ()),
    ],
)
def test_the_token_at_the_start_of_a_tag_is_preserved(tag: str, tokens: tuple[str, ...]) -> None:
    assert tool_tag_token(tag) == tokens
    assert parser(tag or None).preserved_tokens == tokens


@pytest.mark.parametrize(
    ("tag", "text", "content", "calls"),
    [
        # case B018: bare objects, arguments left out
        ("{", '{"name":"get"}\n{"name":"note","arguments":{"a":"6"}}', "", [GET, ("note", {"a": "6"})]),
        # case B019: prose with braces
        ("{", 'Use {braces} like this: {"text": "hi"}', 'Use {braces} like this: {"text": "hi"}', []),
        # case B020: a sentence before the call
        ("<tool_call>", 'I will. <tool_call>{"name":"get"}</tool_call>', "I will. ", [GET]),
        # a value with the name of a tool is no call where nothing announces one
        ("{", '{"text":"use get"}', '{"text":"use get"}', []),
        ("{", '{"name":"get"} Done. {"name":"get"}\n', 'Done. {"name":"get"}', [GET]),
        ("{", '{"function":{"name":"get","arguments":"{\\"b\\":1}"}}', "", [GET_1]),
        ("[", '[{"name":"get"}, {"name":"get_all"}]', "", [GET, GET_ALL]),
        ("[", '[get {"b": 1}]', "", [GET_1]),
        ("[", "[Note] of {braces}", "[Note] of {braces}", []),
        ("[", '[{"name":"get"}', "", [GET]),
        ("<tool_call>", '<tool_call>get {"b":1}\nget_all {}</tool_call>', "", [GET_1, GET_ALL]),
        ("<tool_call>", '<tool_call>\n```json\n{"name":"get"}\n```\n</tool_call> so', "so", [GET]),
        ("<tool_call>", '<tool_call>My call: {"name":"get"}</tool_call>', "My call:", [GET]),
        ("<tool_call>", '<tool_call>{"name":"x"} get {"b":1}</tool_call>', '{"name":"x"}', [GET_1]),
        ("<tool_call>", '<tool_call>{"name":"get"} and more', "and more", [GET]),
        ("<tool_call>", '<tool_call>{"name":"get"}</tool_call> {x} {"a":1} <', '{x} {"a":1} <', [GET]),
        (
            "<tool_call>",
            '<tool_call>{"name":"get"\n</tool_call>\n<tool_call>{"name":"get"}</tool_call>',
            '<tool_call>{"name":"get"\n</tool_call>\n',
            [GET],
        ),
        (
            "<tool_call>",
            'a <tool_call>{"x</tool_call> <tool_call>{"name":"get"}</tool_call>',
            'a <tool_call>{"x</tool_call> <tool_call>{"name":"get"}</tool_call>',
            [],
        ),
        ("[TOOL_CALLS] [", '[TOOL_CALLS] [{"name":"get"},{"name":"get_all"}] ok', "ok", [GET, GET_ALL]),
        ("[TOOL_CALLS] [", "[TOOL_CALLS] [1, 2] hm", "[TOOL_CALLS] [1, 2] hm", []),
        ("Act:\n```json\n[", 'Act:\n```json\n[{"tool_name":"get"}]\n``` ok', "ok", [GET]),
    ],
)  # fmt: skip
def test_objects_that_name_a_declared_tool_are_calls(
    tag: str, text: str, content: str, calls: list[tuple[str, dict[str, Any]]]
) -> None:
    for pieces in ([text], text):
        assert total(parser(tag), pieces) == {
            "content": content,
            "thinking": "",
            "calls": [{"name": name, "arguments": arguments} for name, arguments in calls],
        }
