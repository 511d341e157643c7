"""Web searches the model asks for, where the server offered them: there is nothing to search with.

The declaration of the tool is accepted, the model runs, and a search ends the message with the error that the
API has for it. Source: ``api-compat`` §9.
"""

from __future__ import annotations

from typing import Any

from orchestrator.api.anthropic.conversation import WEB_SEARCH_ERROR
from orchestrator.domain.chunks import ToolCall


def failed_search(call: ToolCall, message_id: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The two blocks of a search: that it was asked for, and why there is no result."""
    asked = call.arguments.get("query")
    query = asked if isinstance(asked, str) else ""
    id_ = "srvtoolu_" + message_id.removeprefix("msg_")
    error = {"type": WEB_SEARCH_ERROR, "error_code": "unavailable" if query.strip() else "invalid_request"}
    return (
        {"type": "server_tool_use", "id": id_, "name": call.name, "input": {"query": query}},
        {"type": "web_search_tool_result", "tool_use_id": id_, "content": error},
    )
