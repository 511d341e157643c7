"""Tags of thoughts and of tool calls, read from templates."""

from __future__ import annotations

import pytest

from orchestrator.templates.gotemplate import GoTemplate
from orchestrator.templates.tags import inferred_thinking_tags, thinking_tags, tool_tag
from tests.golden_records import Record, records


def with_template(file: str) -> list[Record]:
    return [record for record in records(f"parsers/{file}") if "template" in record["init"]]


@pytest.mark.parametrize(
    "record", [pytest.param(record, id=record["id"]) for record in with_template("thinking-tags.jsonl")]
)
def test_thinking_tags_are_as_recorded(record: Record) -> None:
    opening, closing = inferred_thinking_tags(GoTemplate.parse(record["init"]["template"]))
    assert {"open": opening, "close": closing} == record["result"]


@pytest.mark.parametrize(
    "record", [pytest.param(record, id=record["id"]) for record in with_template("generic-thinking.jsonl")]
)
def test_both_tags_make_a_pair(record: Record) -> None:
    pair = thinking_tags(GoTemplate.parse(record["init"]["template"]))
    assert pair == (record["tags"]["open"], record["tags"]["close"])


@pytest.mark.parametrize(
    "record", [pytest.param(record, id=record["id"]) for record in with_template("generic-tools.jsonl")]
)
def test_the_tool_tag_is_as_recorded(record: Record) -> None:
    assert tool_tag(GoTemplate.parse(record["init"]["template"])) == record["tag"]


def test_one_tag_alone_is_no_pair() -> None:
    text = "{{ range .Messages }}{{ if .Thinking }}<r>{{ .Thinking }}{{ end }}{{ end }}"
    assert thinking_tags(GoTemplate.parse(text)) is None


@pytest.mark.parametrize(
    ("text", "tag"),
    [
        ('{{if .ToolCalls}}{{range .ToolCalls}}<call>{"name": 1}</call>{{end}}{{end}}', "<call>"),
        ("{{if .ToolCalls}}[TOOL_CALLS] [{{range .ToolCalls}}{}{{end}}]{{end}}", "[TOOL_CALLS] ["),
        ("{{if .ToolCalls}}[{{range .ToolCalls}}{}{{end}}]{{end}}", "["),
        ('{{if .ToolCalls}}{{range .ToolCalls}}{"name": 1}{{end}}{{end}}', "{"),
        ("{{if .ToolCalls}}Action: ```json{{end}}", "Action: ```json"),
        ("{{if .ToolCalls}}{{.Content}}<call>{{end}}", "{"),
        ("{{if $.ToolCalls}}<call>{{end}}", "{"),
        ("{{if (.ToolCalls)}}<call>{{end}}", "{"),
        ("{{if and .ToolCalls .Content}}<call>\r\n{{end}}", "<call>"),
        ("{{if .A}}{{else}}{{if .Message.ToolCalls}}<call>{{end}}{{end}}", "<call>"),
    ],
)  # fmt: skip
def test_the_tool_tag_is_the_first_text_of_a_block_for_calls(text: str, tag: str) -> None:
    assert tool_tag(GoTemplate.parse(text)) == tag
