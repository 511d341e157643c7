"""What the engine is asked for beside the prompt, where the daemon renders."""

from __future__ import annotations

import pytest

from orchestrator.domain.tools import parse_tools
from orchestrator.inference.path import PromptPath, Route
from orchestrator.inference.rendered import unread_call_tokens
from orchestrator.templates.gotemplate import GoTemplate

TOOLS = parse_tools([{"type": "function", "function": {"name": "add"}}])
TAGGED = "{{ range .Messages }}{{ if .ToolCalls }}<tool_call>{{ end }}{{ end }}{{ .Tools }}"
BARE = "{{ range .Messages }}{{ .Content }}{{ end }}{{ .Tools }}"


@pytest.mark.parametrize(
    ("parser", "template", "tokens"),
    [
        ("olmo3-think", TAGGED, ("<tool_call>",)),
        ("passthrough", TAGGED, ("<tool_call>",)),
        ("passthrough", BARE, ()),
        ("qwen3", TAGGED, ()),  # reads calls, and names its own tokens
        ("", TAGGED, ()),  # the generic parser names the tag itself
    ],
)
def test_calls_that_nobody_reads_keep_their_tag(parser: str, template: str, tokens: tuple[str, ...]) -> None:
    path = PromptPath(Route.PARSER, "", parser, GoTemplate.parse(template))
    assert unread_call_tokens(path, TOOLS) == tokens
    assert unread_call_tokens(path, ()) == ()
