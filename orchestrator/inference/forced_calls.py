"""Answers that have to be calls of tools, where the daemon renders the prompt (``tool_choice``)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.domain.requests import ChatRequest
from orchestrator.domain.think import Think
from orchestrator.domain.tool_choice import ToolChoice
from orchestrator.domain.tools import Tool
from orchestrator.grammars import calls
from orchestrator.inference.path import PromptPath
from orchestrator.parsers import registry as parsers
from orchestrator.parsers.base import Parser
from orchestrator.parsers.generic import generic_parser
from orchestrator.templates.tags import tool_tag

NOT_ENFORCED = "tool_choice is not enforced: this model's output is not searched for calls"


@dataclass(frozen=True, slots=True)
class ForcedCalls:
    """What makes an answer a call."""

    grammar: str
    beginnings: tuple[str, ...]
    """Texts with which an answer begins: a thought ends before them."""
    parser: Parser
    """Splits what the grammar lets through, which holds no thought."""


def forced_calls(path: PromptPath, request: ChatRequest, shown: Sequence[Tool]) -> ForcedCalls | None:
    """What forces a call as the family writes it; ``None`` if none is wanted, or none can be found.

    ``shown`` are the request's tools under the names that the prompt gives them.
    """
    if not request.tool_choice.is_forced:
        return None
    tag = tool_tag(path.template)
    known = parsers.traits(path.parser_name) is not None
    style = calls.style_of(path.parser_name if known else "", tag)
    if style is None:
        return None
    allowed = _under_shown_names(request.tool_choice, request.tools, shown)
    grammar = calls.call_grammar(style, allowed, parallel=request.tool_choice.allows_several)
    return ForcedCalls(
        grammar.text, calls.answer_beginnings(style, shown), _parser(path.parser_name, tag, request.tools)
    )


def _under_shown_names(choice: ToolChoice, tools: Sequence[Tool], shown: Sequence[Tool]) -> tuple[Tool, ...]:
    allowed = {tool.function.name for tool in choice.callable_tools(tools)}
    pairs = zip(tools, shown, strict=True)
    return tuple(there for given, there in pairs if given.function.name in allowed)


def _parser(name: str, tag: str, tools: Sequence[Tool]) -> Parser:
    parser = parsers.make(name)
    if parser is None:
        parser = generic_parser(thinking_tags=None, tool_tag=tag, prompt_ends_in_thought=False)
    parser.start(tools, None, Think(False))
    return parser
