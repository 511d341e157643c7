"""A Messages request as a domain request. Source: ``api-compat`` §8.1."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from orchestrator.api.anthropic.conversation import to_messages
from orchestrator.api.anthropic.errors import InvalidRequest, ThreadsNotSupported
from orchestrator.api.search_tool import SEARCH_TOOL, WEB_SEARCH
from orchestrator.domain.formats import SchemaFormat
from orchestrator.domain.quoting import quoted
from orchestrator.domain.requests import ChatRequest
from orchestrator.domain.think import Think
from orchestrator.domain.tool_choice import AUTO, InvalidToolChoice, ToolChoice, ToolUse
from orchestrator.domain.tools import InvalidTool, Tool, parse_tool
from orchestrator.wire import anthropic as wire

EFFORTS = {"low": "low", "medium": "medium", "high": "high", "xhigh": "high", "max": "max"}


def to_chat(body: wire.MessagesRequest) -> ChatRequest:
    """The request for an answer. Raises ``InvalidRequest``, ``InvalidContent``."""
    if not body.model:
        raise InvalidRequest("model is required")
    if body.max_tokens <= 0:
        raise InvalidRequest("max_tokens is required and must be positive")
    if body.thread is not None:
        raise ThreadsNotSupported
    request = _chat(body, dict(_options(body)))
    wanted = body.output_config and body.output_config.format
    return replace(
        request, format=to_format(wanted or body.output_format), names_stop=bool(body.stop_sequences)
    )


def to_format(value: Any) -> SchemaFormat | None:
    """The form that the answer must have. Raises ``InvalidRequest``."""
    match value:
        case None:
            return None
        case {"type": "json_schema", "schema": dict() as schema}:
            return SchemaFormat(schema)
    raise InvalidRequest('the output format must be {"type": "json_schema", "schema": {…}}')


def to_counted(body: wire.CountTokensRequest) -> ChatRequest:
    """The request whose prompt is counted. Raises ``InvalidRequest``, ``InvalidContent``."""
    if not body.model:
        raise InvalidRequest("model is required")
    return _chat(body, {})


def offers_web_search(tools: Sequence[wire.Tool]) -> bool:
    """Whether the server is asked to search the web by itself."""
    return any(map(_is_web_search, tools))


def wants_thoughts(body: wire.MessagesRequest) -> bool:
    """Whether the client asked for thoughts, so that it will send them back."""
    if body.thinking is not None and body.thinking.type == "adaptive":
        return True
    return bool(to_think(body.thinking, body.output_config))


def to_think(thinking: wire.Thinking | None, config: wire.OutputConfig | None) -> Think | None:
    """The think setting; the effort counts where ``thinking`` leaves it open."""
    match thinking.type if thinking else "":
        case "enabled":
            return Think(True)
        case "disabled":
            return Think(False)
    level = EFFORTS.get(config.effort.strip().lower()) if config else None
    return None if level is None else Think(True, level)


def to_tool_choice(value: Any) -> ToolChoice:
    """Whether tools shall be called, and which. Raises ``InvalidToolChoice``."""
    if value is None:
        return AUTO
    kind = value.get("type") if isinstance(value, Mapping) else value
    parallel = not (isinstance(value, Mapping) and value.get("disable_parallel_tool_use"))
    match kind, value:
        case "auto" | "none", _:
            return ToolChoice(ToolUse(kind), parallel=parallel)
        case "any", _:
            return ToolChoice(ToolUse.REQUIRED, parallel=parallel)
        case "tool", {"name": str(name)}:
            return ToolChoice(ToolUse.REQUIRED, name, parallel=parallel)
    raise InvalidToolChoice('tool_choice must have the type "auto", "any", "none", or "tool" with a name')


def _chat(body: wire.MessagesRequest | wire.CountTokensRequest, options: dict[str, Any]) -> ChatRequest:
    if not body.messages:
        raise InvalidRequest("messages is required")
    return ChatRequest(
        model=body.model,
        options=options,
        think=to_think(body.thinking, body.output_config),
        think_if_able=True,
        messages=to_messages(body.system, body.messages),
        tools=tuple(_tools(body.tools)),
        tool_choice=to_tool_choice(body.tool_choice),
    )


def _options(body: wire.MessagesRequest) -> Iterator[tuple[str, Any]]:
    yield "num_predict", body.max_tokens
    for name in ("temperature", "top_p", "top_k"):
        if (value := getattr(body, name)) is not None:
            yield name, value
    if body.stop_sequences:
        yield "stop", list(body.stop_sequences)


def _tools(tools: Sequence[wire.Tool]) -> Iterator[Tool]:
    """Functions for the model. One of the client's named like the server's own search gives way to it."""
    searches = offers_web_search(tools)
    for tool in tools:
        if _is_web_search(tool):
            yield SEARCH_TOOL
        elif not (searches and tool.name == WEB_SEARCH):
            yield _tool(tool)


def _tool(tool: wire.Tool) -> Tool:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.input_schema}
    try:
        return parse_tool({"type": "function", "function": function})
    except InvalidTool as error:
        raise InvalidRequest(f"invalid input_schema for tool {quoted(tool.name)}: {error}") from error


def _is_web_search(tool: wire.Tool) -> bool:
    return tool.type.startswith(WEB_SEARCH)
