"""The streams worked through in the specification, piece by piece: spec §10, with what §9 changes."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from orchestrator.domain.think import Think
from orchestrator.domain.tools import parse_tools
from orchestrator.parsers import registry
from orchestrator.parsers.base import Parser
from orchestrator.parsers.generic import generic_parser

F = parse_tools(
    [
        {
            "type": "function",
            "function": {
                "name": name,
                "parameters": {
                    "type": "object",
                    "properties": {
                        "a": {"type": "integer"},
                        "s": {"type": "string"},
                        "u": {"type": ["string", "integer"]},
                        "n": {"type": "number"},
                        "b": {"type": "boolean"},
                        "l": {"type": "array"},
                    },
                },
            },
        }
        for name in ("f", "get weather")
    ]
)
ON = Think(on=True)


class Piece(NamedTuple):
    """A piece of output and what comes of it at once; ``None`` for the end of the output."""

    text: str | None
    content: str = ""
    thinking: str = ""
    calls: tuple[tuple[str, dict[str, Any]], ...] = ()


def follow(parser: Parser, pieces: list[Piece]) -> None:
    """Feed the pieces one by one and compare."""
    for piece in pieces:
        parsed = parser.close() if piece.text is None else parser.feed(piece.text)
        calls = tuple((call.name, dict(call.arguments)) for call in parsed.calls)
        assert Piece(piece.text, parsed.content, parsed.thinking, calls) == piece


@pytest.mark.parametrize(
    ("name", "think", "pieces"),
    [
        (
            "qwen3.5",
            ON,
            [
                Piece("<think>\nfoo", thinking="foo"),
                Piece("\n</th"),
                Piece("ink>\n\n"),
                Piece("Sure. <tool_", content="Sure."),
                Piece(
                    "call>\n<function=f>\n<parameter=a>\n3\n</parameter>\n<parameter=u>\n12\n</parameter>\n"
                    "</function>\n</tool_call>",
                    calls=(("f", {"a": 3, "u": 12}),),
                ),
                Piece(None),
            ],
        ),
        (
            "qwen3-coder",
            None,
            [
                Piece("pre  \n", content="pre"),
                Piece(
                    "<tool_call>\n<function=f>\n<parameter=s>\n<b>&\n\nx\n</parameter>\n<parameter=n>\n2.0\n"
                    "</parameter>\n<parameter=b>\nmaybe\n</parameter>\n<parameter=zz>\n5\n</parameter>\n"
                    "</function>\n</tool_call>",
                    calls=(("f", {"s": "<b>&\n\nx", "n": 2, "b": False, "zz": "5"}),),
                ),
                Piece("\n\npost", content="post"),
                Piece("Hi <", content="Hi"),
                Piece(None, content=" <"),
            ],
        ),
        (
            "gemma4",
            ON,
            [
                Piece("<|chan"),
                Piece("nel>tho"),
                Piece("ught"),
                Piece("\nab", thinking="ab"),
                Piece("c <chan", thinking="c"),
                Piece("nel|>"),
                Piece("\n\nhi <|tool", content="hi"),
                Piece('_call>call:f{a:1,s:<|"|>x,{y}<|"|>}<tool_'),
                Piece("call|><|tool_response>", calls=(("f", {"a": 1, "s": "x,{y}"}),)),
                Piece(None),
            ],
        ),
        (
            "harmony",
            None,
            [
                Piece("<|channel|>analysis<|message|>Think", thinking="Think"),
                Piece(
                    "ing<|end|><|start|>assistant<|channel|>commentary to=functions.get_weather "
                    '<|constrain|>json<|message|>{"a":1}',
                    thinking="ing",
                ),
                Piece(None, calls=(("get weather", {"a": 1}),)),
            ],
        ),
        (
            "glm-4.7",
            None,
            [
                Piece("abc</think>", thinking="abc"),
                Piece("hi ", content="hi"),
                Piece("<tool_call>f<arg_key>a</arg_key><arg_value>3</arg_value>"),
                Piece(None, calls=(("f", {"a": 3}),)),
            ],
        ),
        (
            "cohere",
            ON,
            [
                Piece("abc ", thinking="abc"),
                Piece(
                    '<|END_THINKING|><|START_ACTION|>[{"tool_name":"f","parameters":{"a":1}} '
                    '{"tool_name":"f","parameters":{"a":2}}]<|END_ACTION|>',
                    calls=(("f", {"a": 1}), ("f", {"a": 2})),
                ),
                Piece(None),
            ],
        ),
    ],
)
def test_a_named_parser_follows_its_stream(name: str, think: Think | None, pieces: list[Piece]) -> None:
    parser = registry.make(name)
    assert parser is not None
    parser.start(F, None, think)
    follow(parser, pieces)


def test_the_generic_tool_parser_follows_its_stream() -> None:
    parser = generic_parser(thinking_tags=None, tool_tag="<tool_call>", prompt_ends_in_thought=False)
    parser.start(F, None, None)
    follow(
        parser,
        [
            Piece("a <tool", content="a "),
            Piece("_call>"),
            Piece('{"name":"f","arguments":{"a":1}}', calls=(("f", {"a": 1}),)),
            Piece("</tool_call>"),
            Piece("after", content="after"),
            Piece(None),
        ],
    )


def test_the_generic_thinking_parser_follows_its_stream() -> None:
    parser = generic_parser(
        thinking_tags=("<think>", "</think>"), tool_tag=None, prompt_ends_in_thought=False
    )
    parser.start((), None, ON)
    follow(
        parser,
        [
            Piece("  <th"),
            Piece("ink>  \n"),
            Piece("a b </thi", thinking="a b "),
            Piece("ng>c</think>\n", thinking="</thing>c"),
            Piece("\nHi ", content="Hi "),
            Piece(None),
        ],
    )
