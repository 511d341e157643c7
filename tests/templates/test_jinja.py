"""Whether a model's jinja template serves better than its Go template."""

from __future__ import annotations

import pytest

from orchestrator.templates.gotemplate import GoTemplate
from orchestrator.templates.jinja import (
    go_capabilities,
    jinja_capabilities,
    jinja_thinking_tags,
    prefers_jinja,
)

PLAIN = "{{ range .Messages }}{{ .Role }}: {{ .Content }}{{ end }}"
GO_TOOLS = PLAIN + "{{ range .Tools }}{{ . }}{{ end }}"
GO_ROUND_TRIP = GO_TOOLS + '{{ range .Messages }}{{ .ToolCalls }}{{ if eq .Role "tool" }}{{ end }}{{ end }}'
GO_THINKS = PLAIN + "{{ range .Messages }}{{ if .Thinking }}<t>{{ .Thinking }}</t>{{ end }}{{ end }}"
JINJA_TOOLS = "{% for tool in tools %}{{ tool }}{% endfor %}"
JINJA_ROUND_TRIP = JINJA_TOOLS + "{{ message.tool_calls }}{% if message.role == 'tool' %}{% endif %}"


@pytest.mark.parametrize(
    ("text", "capabilities"),
    [
        ("{{ messages }}", set()),
        ("{{ tools }}", {"tools"}),
        ("{{ m.tool_call }}", {"tools"}),
        ("<think></think>", {"thinking"}),
        ("<think>", set()),
        ("{{ content.split('</think>')[-1] }}", {"thinking"}),
        ('{{ content.split("</think>")[-1] }}', {"thinking"}),
        ("{{ content.split('</think>')[-1] }}{{ m.reasoning_content }}", set()),
        ("{{ content.split('</think>')[-1] }}<SPECIAL_12>", set()),
    ],
)
def test_a_jinja_template_tells_what_it_can_do(text: str, capabilities: set[str]) -> None:
    assert jinja_capabilities(text) == capabilities


@pytest.mark.parametrize(
    ("text", "capabilities"),
    [
        (PLAIN, set()),
        (GO_TOOLS, {"tools"}),
        (GO_THINKS, {"thinking"}),
        ("{{ .Prompt }}{{ .Suffix }}", {"insert"}),
    ],
)
def test_a_go_template_tells_what_it_can_do(text: str, capabilities: set[str]) -> None:
    assert go_capabilities(GoTemplate.parse(text)) == capabilities


@pytest.mark.parametrize(
    ("jinja", "go", "preferred"),
    [
        (JINJA_TOOLS, PLAIN, True),
        (JINJA_TOOLS, GO_THINKS, False),
        ("", PLAIN, False),
        (JINJA_TOOLS, GO_TOOLS, False),
        (JINJA_ROUND_TRIP, GO_TOOLS, True),
        (JINJA_ROUND_TRIP, GO_ROUND_TRIP, False),
        (JINJA_TOOLS + "<think></think>", GO_ROUND_TRIP, False),
        (JINJA_ROUND_TRIP + "<think></think>", GO_ROUND_TRIP, True),
        (JINJA_TOOLS + "<think></think>", GO_TOOLS, True),
    ],
)
def test_the_template_that_can_do_more_is_preferred(jinja: str, go: str, preferred: bool) -> None:
    assert prefers_jinja(jinja, GoTemplate.parse(go)) is preferred


def test_thinking_tags_are_read_from_jinja() -> None:
    assert jinja_thinking_tags("{{ '<think>' }} {{ '</think>' }}") == ("<think>", "</think>")
    assert jinja_thinking_tags("<think>") is None
