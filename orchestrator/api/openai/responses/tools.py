"""Tools of Responses as tools of the domain. Source: ``api-compat`` §6.3."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from orchestrator.api.search_tool import SEARCH_TOOL, WEB_SEARCH
from orchestrator.domain.tools import InvalidTool, Tool, parse_tool
from orchestrator.errors import BadRequest
from orchestrator.wire import responses as wire


class InvalidParameters(BadRequest):
    """Parameters of a tool that are no schema."""

    def __init__(self, reason: InvalidTool) -> None:
        super().__init__(f"failed to unmarshal tool parameters: {reason}")


def to_tools(tools: Sequence[wire.ResponseTool]) -> tuple[Tool, ...]:
    """The tools, those of namespaces under their full names. Raises ``InvalidParameters``."""
    searches = offers_search(tools)
    return tuple(tool for tool in _flat(tools, "") if not (searches and _is_named_like_search(tool)))


def offers_search(tools: Sequence[wire.ResponseTool]) -> bool:
    """Whether the client wants the server to search the web for the model."""
    return any(tool.type == WEB_SEARCH for tool in tools)


def _is_named_like_search(tool: Tool) -> bool:
    """A tool of the client that the model could not tell from the server's."""
    return tool is not SEARCH_TOOL and tool.function.name == WEB_SEARCH


def _flat(tools: Sequence[wire.ResponseTool], namespace: str) -> Iterator[Tool]:
    for tool in tools:
        if tool.type == "namespace":
            yield from _flat(tool.tools or (), _name(namespace, tool.name))
        elif tool.type == WEB_SEARCH:
            yield SEARCH_TOOL
        else:
            yield _converted(tool, _name(namespace, tool.name))


def _name(namespace: str, name: str) -> str:
    if not namespace or name.startswith(f"{namespace}."):
        return name
    return f"{namespace}.{name}"


def _converted(tool: wire.ResponseTool, name: str) -> Tool:
    function = {"name": name, "description": tool.description, "parameters": tool.parameters}
    try:
        return parse_tool({"type": tool.type, "function": function})
    except InvalidTool as error:
        raise InvalidParameters(error) from error
