"""What a template tells about the form of the model's output: its thinking tags, its tag of tool calls.

Source: ``parsers`` §7.1, §8.1.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from orchestrator.domain.white_space import WHITE_SPACE
from orchestrator.templates.gotemplate import GoTemplate
from orchestrator.templates.nodes import (
    Block,
    Call,
    Field,
    If,
    Operand,
    Output,
    Pipe,
    Range,
    Text,
    With,
)

BARE_JSON = "{"
"""The tag of templates that write tool calls as plain JSON objects."""


@lru_cache(maxsize=128)
def thinking_tags(template: GoTemplate) -> tuple[str, str] | None:
    """The tags a model's thoughts stand between; ``None`` unless both are known."""
    opening, closing = inferred_thinking_tags(template)
    return (opening, closing) if opening and closing else None


def inferred_thinking_tags(template: GoTemplate) -> tuple[str, str]:
    """The text before and after ``.Thinking`` in a range over the messages; empty where there is none."""
    opening = closing = ""
    for block in _thinking_blocks(template.tree.main, in_messages=False):
        if isinstance(first := block[0], Text):
            opening = first.text.strip(WHITE_SPACE)
        if isinstance(last := block[-1], Text):
            closing = last.text.strip(WHITE_SPACE)
    return opening, closing


def _thinking_blocks(block: Block, *, in_messages: bool) -> Iterator[Block]:
    """The block around every ``.Thinking`` in a range over the messages, in the order of the text."""
    for node in block:
        match node:
            case Output(pipe) | Call(_, pipe):
                yield from [block] * (in_messages and _thoughts(pipe))
            case If() | With() | Range():
                inner = _over_messages(node.pipe) if isinstance(node, Range) else in_messages
                yield from [block] * (inner and _thoughts(node.pipe))
                yield from _thinking_blocks(node.body, in_messages=inner)
                yield from _thinking_blocks(node.otherwise or (), in_messages=inner)
            case _:
                pass


def _thoughts(pipe: Pipe) -> int:
    return sum(1 for path in _fields(pipe) if path[0] == "Thinking")


def _over_messages(pipe: Pipe) -> bool:
    return any(path[0] == "Messages" for path in _fields(pipe))


def _fields(operand: Operand) -> Iterator[tuple[str, ...]]:
    """The paths of all fields in a pipeline, those in parentheses included."""
    match operand:
        case Field(path):
            yield path
        case Pipe(commands):
            for command in commands:
                for inner in command.operands:
                    yield from _fields(inner)
        case _:
            pass


@lru_cache(maxsize=128)
def tool_tag(template: GoTemplate) -> str:
    """The text that starts a tool call, up to the JSON object; ``{`` if the object stands alone."""
    body = _tool_calls_body(template.tree.main)
    found = _first_text(body) if body is not None else None
    if found is None:
        return BARE_JSON
    before, _, _ = found.replace("\r\n", "\n").partition("{")
    return before.strip(WHITE_SPACE) or BARE_JSON


def _tool_calls_body(block: Block) -> Block | None:
    """The body of the first ``if`` that asks for ``.ToolCalls``."""
    for node in block:
        if isinstance(node, If) and _asks_for_tool_calls(node.pipe):
            return node.body
        if isinstance(node, If | With | Range):
            for inner in (node.body, node.otherwise or ()):
                if (body := _tool_calls_body(inner)) is not None:
                    return body
    return None


def _asks_for_tool_calls(pipe: Pipe) -> bool:
    operands = (operand for command in pipe.commands for operand in command.operands)
    return any(isinstance(operand, Field) and "ToolCalls" in operand.path for operand in operands)


def _first_text(block: Block) -> str | None:
    """The first text that is not blank, before anything is written and within the first inner block."""
    for node in block:
        match node:
            case Text(text) if text.strip(WHITE_SPACE):
                return text
            case Output():
                return None
            case If() | With() | Range():
                return _first_text(node.body)
            case _:
                pass
    return None
