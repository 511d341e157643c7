"""The function a model gets where the server is to search the web for it."""

from __future__ import annotations

from orchestrator.domain.tools import parse_tool

WEB_SEARCH = "web_search"
"""Its name; the types of tools that dialects offer it by begin with the same word."""

SEARCH_TOOL = parse_tool(
    {
        "type": "function",
        "function": {
            "name": WEB_SEARCH,
            "description": "Search the web for current information.",
            "parameters": {
                "type": "object",
                "required": ["query"],
                "properties": {"query": {"type": "string", "description": "What to search for"}},
            },
        },
    }
)
