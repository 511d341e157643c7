"""Prompts that the daemon renders and output that it parses (``POST /completion``)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from orchestrator.domain.formats import usable_format
from orchestrator.domain.requests import ChatRequest, Message
from orchestrator.domain.tools import Tool
from orchestrator.domain.white_space import trim
from orchestrator.inference.deferred import think_then_constrain
from orchestrator.inference.fitting import fitted_prompt
from orchestrator.inference.forced_calls import NOT_ENFORCED, forced_calls
from orchestrator.inference.output import split
from orchestrator.inference.path import PromptPath
from orchestrator.inference.prompts import Prompt, RenderedPrompter, cut_prompt
from orchestrator.inference.reply import Overflow, RenderedPrompt
from orchestrator.inference.service import wanted_logprobs
from orchestrator.inference.turn import Answer, Prepared, Turn
from orchestrator.inference.window import refuse_overlong
from orchestrator.parsers import registry as parsers
from orchestrator.parsers.base import Parser
from orchestrator.parsers.generic import generic_parser
from orchestrator.parsers.generic_tools import tool_tag_token
from orchestrator.runners.base import CompletionCall
from orchestrator.templates.tags import tool_tag


async def rendered_chat(turn: Turn, request: ChatRequest, messages: Sequence[Message]) -> Prepared:
    """The answer to a conversation, or its prompt when only that was wanted."""
    parser = parsers.make(turn.path.parser_name)
    tools = request.tools
    if parser is not None:
        tools = parser.start(tools, messages[-1], turn.think)
    prompter = RenderedPrompter(turn.path.source(), tools, turn.think)
    prompt, overflow = await fitted_prompt(turn, prompter, messages)
    if request.debug_render_only:
        return RenderedPrompt(prompt.text, len(prompt.media))
    parser = parser or parser_by_tags(turn, prompt.text, tools)
    call, overflow = await completion_call(turn, prompt, overflow, parser)
    if unread := unread_call_tokens(turn.path, tools):
        call = replace(call, preserved_tokens=(*call.preserved_tokens, *unread))
    forced = forced_calls(turn.path, request, tools)
    if forced is not None:
        call = replace(call, format=None, grammar=forced.grammar)
    warnings = (NOT_ENFORCED,) if request.tool_choice.is_forced and forced is None else ()
    if parser is not None and (forced or request.format) and _thinks_first(turn):
        return Answer(think_then_constrain(turn.runner, call, parser, forced), overflow, warnings)
    return Answer(split(turn.runner.complete(call), parser), overflow, warnings)


def parser_by_tags(turn: Turn, prompt: str, tools: Sequence[Tool]) -> Parser | None:
    """What splits the output of a model without a parser of its own, by the tags in its template."""
    tags = turn.path.thinking_tags if turn.think else None
    if tags is None and not tools:
        return None
    parser = generic_parser(
        thinking_tags=tags,
        tool_tag=tool_tag(turn.path.template) if tools else None,
        prompt_ends_in_thought=tags is not None and trim(prompt).endswith(tags[0]),
    )
    parser.start(tools, None, turn.think)
    return parser


def unread_call_tokens(path: PromptPath, tools: Sequence[Tool]) -> tuple[str, ...]:
    """What starts a call, for a named parser that reads none: then calls are content, tag and all."""
    traits = parsers.traits(path.parser_name)
    if traits is None or traits.has_tools or not tools:
        return ()
    return tool_tag_token(tool_tag(path.template))


def _thinks_first(turn: Turn) -> bool:
    """Whether a constraint has to wait until the model has thought."""
    if "thinking" not in turn.model.files.capabilities:
        return False
    traits = parsers.traits(turn.path.parser_name)
    if traits is None:
        return bool(turn.think) and turn.path.thinking_tags is not None
    return bool(turn.think) or not traits.has_thinking


async def completion_call(
    turn: Turn, prompt: Prompt, overflow: Overflow | None, parser: Parser | None
) -> tuple[CompletionCall, Overflow | None]:
    """The engine's request for a prompt, which is cut to the window if it has to be."""
    request, options = turn.request, turn.options
    text: str | tuple[int, ...] = prompt.text
    if request.truncate and not prompt.media:
        text, tokens, dropped = await cut_prompt(
            turn.runner,
            prompt.text,
            turn.path.leading_bos,
            options,
            turn.model.files.facts,
            shift=turn.shift,
        )
        if dropped:
            overflow = replace(overflow or Overflow(tokens, options.num_ctx), tokens_dropped=dropped)
    elif turn.narrowed and not prompt.media:
        await refuse_overlong(turn.runner, prompt.text, options.num_ctx)
    turn.inference.report_overflow(turn.model, overflow)
    call = CompletionCall(
        prompt=text,
        options=options,
        format=usable_format(request.format),
        top_logprobs=wanted_logprobs(request),
        preserved_tokens=parser.preserved_tokens if parser else (),
        media=prompt.media,
        leading_bos=turn.path.leading_bos,
        extra=turn.extra,
    )
    return call, overflow
