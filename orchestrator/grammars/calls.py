"""Grammars of answers that have to be tool calls, family by family.

Where a family writes arguments as JSON, the grammar holds them to the tool's parameters. Where it has a
notation of its own, it enforces that a call is made, and of which tool; the arguments are left to the
model. The forms are those of the renderers, because they are what models were trained on.

Source: ``prompts`` §5, ``parsers`` §5–8.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from orchestrator.domain.tools import Tool, parameters_json
from orchestrator.grammars.errors import InvalidSchema
from orchestrator.grammars.gbnf import Grammar, RuleBook, literal, one_of, repeated
from orchestrator.grammars.json_rules import json_rule
from orchestrator.grammars.schema import SchemaWriter, schema_grammar

MOST_CALLS = 8
"""A model that cannot stop shall not fill its window with calls."""

_ANYTHING = r"[^\x00]*"
_NAME = "{name}"
"""Stands for the tool's name where a form repeats it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallStyle:
    """How a family writes calls: the text around names and arguments."""

    before: str
    """What each call begins with; its name follows."""
    middle: tuple[str, ...]
    """What may stand between name and arguments."""
    after: str = ""
    opening: str = ""
    """What stands before the first call."""
    between: str = ""
    closing: str = ""
    quotes_name: bool = False
    """The name is a JSON string."""
    only_one: bool = False
    """An answer holds a single call."""
    has_json: bool = True
    """The arguments are a JSON object; otherwise nothing is known of what follows the middle."""
    answers: tuple[str, ...] = field(default=())
    """With what an answer begins, a call or any other: where a thought has ended."""


_XML_HEAD = "<tool_call>\n<function="
_DEEPSEEK_OPEN, _DEEPSEEK_CLOSE = "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"
_DEEPSEEK_CALL, _DEEPSEEK_CALL_CLOSE = "<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>"
_DEEPSEEK_SEPARATOR = "<｜tool▁sep｜>"

_QWEN3 = CallStyle(
    before='<tool_call>\n{"name": ',
    middle=(', "arguments": ',),
    after="}\n</tool_call>",
    between="\n",
    quotes_name=True,
    answers=("<tool_call>",),
)
_XML = CallStyle(before=_XML_HEAD, middle=(">\n",), has_json=False, answers=("<tool_call>",))
_ELEMENTS = CallStyle(
    before="<tool_call>",
    middle=("<arg_key>", "\n", "</tool_call>"),
    has_json=False,
    answers=("<tool_call>",),
)
_GEMMA4 = CallStyle(before="<|tool_call>call:", middle=("{",), has_json=False, answers=("<|tool_call>",))
_LFM2 = CallStyle(
    before="<|tool_call_start|>[", middle=("(",), has_json=False, answers=("<|tool_call_start|>",)
)

STYLES = {
    "qwen3": _QWEN3,
    "qwen3-thinking": _QWEN3,
    "qwen3-vl-instruct": _QWEN3,
    "qwen3-vl-thinking": _QWEN3,
    "ministral": CallStyle(before="[TOOL_CALLS]", middle=("[ARGS]",), answers=("[TOOL_CALLS]",)),
    "deepseek3": CallStyle(
        opening=_DEEPSEEK_OPEN,
        before=_DEEPSEEK_CALL,
        middle=(_DEEPSEEK_SEPARATOR,),
        after=_DEEPSEEK_CALL_CLOSE,
        closing=_DEEPSEEK_CLOSE,
        answers=(_DEEPSEEK_OPEN,),
    ),
    "cogito": CallStyle(
        opening=_DEEPSEEK_OPEN,
        before=f"{_DEEPSEEK_CALL}function{_DEEPSEEK_SEPARATOR}",
        middle=("\n```json\n",),
        after=f"\n```{_DEEPSEEK_CALL_CLOSE}",
        between="\n",
        closing=_DEEPSEEK_CLOSE,
        answers=(_DEEPSEEK_OPEN,),
    ),
    "cohere": CallStyle(
        opening="<|START_ACTION|>[\n    ",
        before='{"tool_call_id": "0", "tool_name": ',
        middle=(', "parameters": ',),
        after="}",
        between=",\n    ",
        closing="\n]<|END_ACTION|>",
        quotes_name=True,
        answers=("<|START_ACTION|>", "<|START_TEXT|>", "<|START_RESPONSE|>"),
    ),
    "harmony": CallStyle(
        before="<|channel|>commentary to=functions.",
        middle=(" <|constrain|>json<|message|>",),
        only_one=True,
        answers=("<|channel|>commentary", "<|channel|>final", " to=functions."),
    ),
    "qwen3-coder": _XML,
    "qwen3.5": _XML,
    "ornith": _XML,
    "nemotron-3-nano": _XML,
    "nemotron-3.5-nano": _XML,
    "glm-4.7": _ELEMENTS,
    "glm-ocr": _ELEMENTS,
    "laguna": _ELEMENTS,
    "poolside-v1": _ELEMENTS,
    "gemma4": _GEMMA4,
    "gemma4-no-thinking": _GEMMA4,
    "functiongemma": CallStyle(
        before="<start_function_call>call:",
        middle=("{",),
        has_json=False,
        answers=("<start_function_call>",),
    ),
    "lfm2": _LFM2,
    "lfm2-thinking": _LFM2,
    "olmo3": CallStyle(
        before="<function_calls>", middle=("(",), has_json=False, answers=("<function_calls>",)
    ),
    "glimmer": CallStyle(
        before=" to=",
        middle=(f'<|message|><atem:function_calls>\n<atem:invoke name="{_NAME}">\n',),
        has_json=False,
        answers=(" to=user", f" to={_NAME}"),
    ),
}
"""Families by the name of their parser."""

_ELEMENT = re.compile(r"<([^<>/\s|]+)>")
_FENCE = "```"


def style_of(parser_name: str, tool_tag: str | None) -> CallStyle | None:
    """The style of a named parser, or of a template's tag of calls; ``None`` if there are no calls."""
    if parser_name:
        return STYLES.get(parser_name)
    return None if tool_tag is None else _tagged(tool_tag)


def _tagged(tag: str) -> CallStyle:
    """JSON objects behind a tag, which is closed in its own way, or not at all."""
    before, middle = '{"name": ', (', "arguments": ', ', "parameters": ')
    if tag == "{":
        return CallStyle(before=before, middle=middle, after="}", between="\n", quotes_name=True)
    if tag.endswith("["):
        return CallStyle(
            opening=tag,
            before=before,
            middle=middle,
            after="}",
            between=", ",
            closing="]",
            quotes_name=True,
            answers=(tag,) if tag != "[" else (),
        )
    closing = _closing(tag)
    return CallStyle(
        before=f"{tag}\n{before}" if closing else f"{tag}{before}",
        middle=middle,
        after=f"}}{closing}",
        between="\n",
        quotes_name=True,
        answers=(tag,),
    )


def _closing(tag: str) -> str:
    """What closes an element, or a fence that ``tag`` leaves open; nothing for other tags."""
    if element := _ELEMENT.fullmatch(tag):
        return f"\n</{element[1]}>"
    return f"\n{_FENCE}" if tag.count(_FENCE) % 2 else ""


def answer_beginnings(style: CallStyle, tools: Sequence[Tool]) -> tuple[str, ...]:
    """Texts at which a thought has ended and an answer begins."""
    names = [tool.function.name for tool in tools]
    repeated_names = (text.replace(_NAME, name) for text in style.answers for name in names)
    return tuple(dict.fromkeys(repeated_names))


def call_grammar(style: CallStyle, tools: Sequence[Tool], *, parallel: bool = True) -> Grammar:
    """The grammar of calls of any of ``tools``; one call, or some if ``parallel``."""
    book = RuleBook()
    root = book.reserve("root")
    unenforced: list[str] = []
    calls = []
    for tool in tools:
        call, left_out = _call(book, style, tool)
        calls.append(call)
        unenforced += left_out
    call = book.add("call", one_of(calls))
    parts = [literal(style.opening), call]
    if parallel and style.has_json and not style.only_one:
        more = f"({literal(style.between)} {call})" if style.between else call
        parts.append(repeated(more, 0, MOST_CALLS - 1))
    parts.append(literal(style.closing))
    book.define(root, " ".join(part for part in parts if part != '""'))
    return Grammar(book.text(), tuple(unenforced))


def _call(book: RuleBook, style: CallStyle, tool: Tool) -> tuple[str, Sequence[str]]:
    """One call of ``tool``, and pointers to the keywords of its parameters that are not enforced."""
    name = tool.function.name
    written = json.dumps(name, ensure_ascii=False) if style.quotes_name else name
    head = literal(style.before + written)
    middle = one_of(literal(part.replace(_NAME, name)) for part in style.middle)
    if not style.has_json:
        return f"{head} {middle} {book.add('anything', _ANYTHING)}", [f"{name}: #"]
    arguments, left_out = _arguments(book, tool)
    return f"{head} {middle} {arguments} {literal(style.after)}", left_out


def _arguments(book: RuleBook, tool: Tool) -> tuple[str, Sequence[str]]:
    """The object of arguments. Parameters that are no valid schema allow any object."""
    name, schema = tool.function.name, _parameters(tool)
    try:
        unenforced = schema_grammar(schema).unenforced
    except InvalidSchema as error:
        return json_rule(book, "object"), [f"{name}: {error.path}"]
    return SchemaWriter(book, schema, name=name).expression(), [f"{name}: {path}" for path in unenforced]


def _parameters(tool: Tool) -> dict[str, Any]:
    """The parameters as a schema of an object."""
    schema = {
        key: value for key, value in parameters_json(tool.function.parameters).items() if value is not None
    }
    return schema | {"type": "object"}
