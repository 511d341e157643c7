"""Prompts by Go templates, as recorded."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from orchestrator.domain.requests import Message
from orchestrator.domain.think import Think
from orchestrator.templates.errors import TemplateExecutionError
from orchestrator.templates.gotemplate import GoTemplate
from orchestrator.templates.known import known
from orchestrator.templates.prompt import render_chat, render_insert
from tests import prompt_records
from tests.golden_records import Record, records


def template(name: str) -> GoTemplate:
    own = prompt_records.template_text(name)
    return GoTemplate.parse(known(name).text if own is None else own)


BETTER = {
    # integers stay exact
    ("command-r", "extra/args-numbers/unset"): (
        '"big":12345678901234567000,"edge":9007199254740992',
        '"big":12345678901234567890,"edge":9007199254740993',
    ),
    # a message keeps its calls when it is joined to the one before
    ("own-loop", "extra/two-call-turns/unset"): ("seen=1", "seen=2"),
}
"""Defects that ``deviations.jsonl`` names for other templates only: what is recorded, what is right."""


def outcome(render: Callable[[], str]) -> str | None:
    try:
        return render()
    except TemplateExecutionError:
        return None


@pytest.mark.parametrize(("name", "record"), prompt_records.cases("templates"))
def test_a_conversation_gives_the_recorded_prompt(name: str, record: Record) -> None:
    messages, tools, think = prompt_records.conversation(prompt_records.conversations()[record["id"]])
    prompt = outcome(lambda: render_chat(template(name), messages, tools, think))
    recorded = record.get("prompt")
    if (better := BETTER.get((name, record["id"]))) is not None:
        recorded = str(recorded).replace(*better)
    assert prompt in prompt_records.accepted("template", name, record, recorded)


@pytest.mark.parametrize(
    "record", [pytest.param(record, id=record["id"]) for record in records("prompts/generate.jsonl")]
)
def test_a_generation_gives_the_recorded_prompt(record: Record) -> None:
    think = Think.parse(record["think"]) if "think" in record else None
    chosen = template(record["template"])
    if "suffix" in record:
        prompt = outcome(lambda: render_insert(chosen, record["prompt"], record["suffix"], think))
    else:
        messages = [Message("system", record["system"])] if "system" in record else []
        messages += map(prompt_records.message, record.get("examples", ()))
        messages.append(Message("user", record["prompt"]))
        if "response" in record:
            messages.append(Message("assistant", record["response"]))
        prompt = outcome(lambda: render_chat(chosen, messages, (), think))
    assert prompt in prompt_records.accepted("template", record["template"], record, record.get("output"))
