"""What a jinja chat template can do, told from its text, and whether it serves better than a Go template.

The engine runs jinja templates; here they are only looked at.
Source: ``prompts`` §1.3.
"""

from __future__ import annotations

from functools import lru_cache

from orchestrator.templates.gotemplate import GoTemplate
from orchestrator.templates.tags import thinking_tags

TOOLS = "tools"
THINKING = "thinking"
INSERT = "insert"

_CALL_MARKS = ("tool_calls", "assistant_tool_call")
_RESULT_MARKS = (
    "tool_response",
    "tool_results",
    "role'] == 'tool'",
    'role\'] == "tool"',
    "role\"] == 'tool'",
    'role"] == "tool"',
    "message.role == 'tool'",
    'message.role == "tool"',
    "ipython",
)
_GO_RESULT_MARKS = ('eq .Role "tool"', "tool_response", "TOOL_RESULTS")
_SPLITS_AT_THOUGHTS = ("content.split('</think>')", 'content.split("</think>")')
_OTHER_REASONING = ("reasoning_content", "<SPECIAL_12>")


def jinja_capabilities(text: str) -> frozenset[str]:
    """What a jinja template can do: ``tools``, ``thinking``."""
    found = set()
    if "tools" in text or "tool_call" in text:
        found.add(TOOLS)
    if _thinks(text):
        found.add(THINKING)
    return frozenset(found)


def _thinks(text: str) -> bool:
    if "<think>" in text and "</think>" in text:
        return True
    return _any(_SPLITS_AT_THOUGHTS, text) and not _any(_OTHER_REASONING, text)


def go_capabilities(template: GoTemplate) -> frozenset[str]:
    """What a Go template can do: ``tools``, ``insert``, ``thinking``."""
    found = set()
    if "tools" in template.variables:
        found.add(TOOLS)
    if "suffix" in template.variables:
        found.add(INSERT)
    if thinking_tags(template) is not None:
        found.add(THINKING)
    return frozenset(found)


def prefers_jinja(jinja_text: str, template: GoTemplate) -> bool:
    """Whether the jinja template of a model that has both can do more."""
    jinja, go = jinja_capabilities(jinja_text), go_capabilities(template)
    if jinja > go:
        return _jinja_round_trip(jinja_text) or not _go_round_trip(template)
    if jinja == go and TOOLS in jinja:
        return _jinja_round_trip(jinja_text) and not _go_round_trip(template)
    return False


def _jinja_round_trip(text: str) -> bool:
    """Whether it writes tool calls and their results."""
    return TOOLS in jinja_capabilities(text) and _any(_CALL_MARKS, text) and _any(_RESULT_MARKS, text)


def _go_round_trip(template: GoTemplate) -> bool:
    return {"tools", "toolcalls"} <= template.variables and _any(_GO_RESULT_MARKS, template.text)


@lru_cache(maxsize=128)
def jinja_thinking_tags(text: str) -> tuple[str, str] | None:
    """The tags around thoughts that a jinja template names."""
    return ("<think>", "</think>") if "<think>" in text and "</think>" in text else None


def _any(marks: tuple[str, ...], text: str) -> bool:
    return any(mark in text for mark in marks)
