"""Conversations made into prompts by a Go template.

A template either walks over ``.Messages`` itself, or shows one exchange of ``.System``, ``.Prompt`` and
``.Response`` and is run once for each.
Source: ``prompts`` §2.2, §2.6–2.8.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from orchestrator.domain.requests import Message
from orchestrator.domain.think import Think
from orchestrator.domain.tools import Tool
from orchestrator.templates.gotemplate import GoTemplate
from orchestrator.templates.records import message_record, tool_list
from orchestrator.templates.values import NilList


def render_chat(
    template: GoTemplate,
    messages: Sequence[Message],
    tools: Sequence[Tool] | None = (),
    think: Think | None = None,
) -> str:
    """The prompt for a conversation. Raises ``TemplateExecutionError``.

    Templates can tell no tools at all (``None``) from an empty list of them.
    """
    collated = collate(messages)
    if not template.wants_messages:
        return _render_exchanges(template, collated, _think_data(think))
    system = "\n\n".join(message.content for message in messages if message.role == "system")
    data = {
        "System": system,
        "Messages": [message_record(message) for message in collated] or NilList(),
        "Tools": tool_list(tools),
        "Response": "",
    }
    return template.execute(data | _think_data(think))


def render_insert(template: GoTemplate, prompt: str, suffix: str, think: Think | None) -> str:
    """The prompt for text between ``prompt`` and ``suffix``; both must be there.

    Raises ``TemplateExecutionError``.
    """
    if not prompt or not suffix:
        return render_chat(template, (), None, think)
    data = {"Prompt": prompt, "Suffix": suffix, "Response": ""}
    return template.execute(data | _think_data(think))


def collate(messages: Iterable[Message]) -> list[Message]:
    """The messages with neighbours of one role joined; tool results stay apart."""
    collated: list[Message] = []
    for message in messages:
        if collated and collated[-1].role == message.role != "tool":
            collated[-1] = _joined(collated[-1], message)
        else:
            collated.append(message)
    return collated


def _joined(last: Message, message: Message) -> Message:
    return replace(
        last,
        content=f"{last.content}\n\n{message.content}",
        thinking="\n\n".join(filter(None, (last.thinking, message.thinking))),
        images=last.images + message.images,
        tool_calls=last.tool_calls + message.tool_calls,
    )


def _think_data(think: Think | None) -> dict[str, Any]:
    return {
        "Think": bool(think),
        "ThinkLevel": think.level if think is not None else "",
        "IsThinkSet": think is not None,
    }


def _render_exchanges(template: GoTemplate, messages: Sequence[Message], think: dict[str, Any]) -> str:
    """One run of the template per exchange, the last one cut where the answer goes."""
    parts: list[str] = []
    empty = {"System": "", "Prompt": "", "Response": ""}
    exchange = dict(empty)

    def finish() -> None:
        parts.append(template.execute(exchange | think))
        exchange.update(empty)

    for message in messages:
        match message.role:
            case "system":
                if exchange["Prompt"] or exchange["Response"]:
                    finish()
                exchange["System"] = message.content
            case "user":
                if exchange["Response"]:
                    finish()
                exchange["Prompt"] = message.content
            case "assistant":
                exchange["Response"] = message.content
            case _:
                pass
    parts.append(template.cut.execute(exchange | think))
    return "".join(parts)
