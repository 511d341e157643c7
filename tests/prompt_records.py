"""Recorded prompts: conversations, and what renderers and templates make of them.

``deviations.jsonl`` says where the recorded prompt is a defect: ``right`` is wanted instead (``None``: any
prompt will do), and ``optional`` allows the recorded one as well. ``@TODAY@`` stands for the date of the day.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache
from typing import Any

import pytest

from orchestrator.domain.chunks import ToolCall
from orchestrator.domain.requests import Message
from orchestrator.domain.think import Think
from orchestrator.domain.tools import Tool, parse_tools
from tests.golden_records import FOLDER, Record, records

PROMPTS = FOLDER / "prompts"


def conversation(record: Mapping[str, Any]) -> tuple[list[Message], tuple[Tool, ...] | None, Think | None]:
    """The messages, tools and think setting of a record, as a native chat request has them."""
    tools = record.get("tools")
    think = record.get("think")
    return (
        [message(value) for value in record["messages"]],
        None if tools is None else parse_tools(tools),
        None if think is None else Think.parse(think),
    )


def message(value: Mapping[str, Any]) -> Message:
    """One message of a record."""
    return Message(
        role=value["role"].lower(),
        content=value.get("content") or "",
        thinking=value.get("thinking", ""),
        images=tuple(b64decode(image) for image in value.get("images") or ()),
        tool_calls=tuple(tool_call(call) for call in value.get("tool_calls") or ()),
        tool_name=value.get("tool_name", ""),
        tool_call_id=value.get("tool_call_id", ""),
    )


def tool_call(value: Mapping[str, Any]) -> ToolCall:
    """One tool call of a message of a record."""
    function = value["function"]
    return ToolCall(
        function["name"], function.get("arguments") or {}, function.get("index", 0), value.get("id", "")
    )


@cache
def conversations() -> dict[str, Record]:
    """The recorded conversations by id."""
    return {record["id"]: record for record in records("prompts/conversations.jsonl")}


def names(kind: str) -> list[str]:
    """The renderers or templates that have records; ``kind`` is the folder."""
    files = (PROMPTS / kind).glob("*.jsonl*")
    return sorted(path.name.removesuffix(".gz").removesuffix(".jsonl") for path in files)


def cases(kind: str) -> list[Any]:
    """(name, record of the prompt) for every renderer or template in the folder ``kind``."""
    return [
        pytest.param(name, record, id=f"{name}-{record['id']}")
        for name in names(kind)
        for record in records(f"prompts/{kind}/{name}.jsonl")
    ]


@cache
def deviations() -> dict[tuple[str, str, str], Record]:
    """The deviations by ``renderer`` or ``template``, its name, and the id of the record."""
    found: dict[tuple[str, str, str], Record] = {}
    for record in records("prompts/deviations.jsonl"):
        kind = "renderer" if "renderer" in record else "template"
        found[kind, record[kind], record["id"]] = record
    return found


def accepted(kind: str, name: str, record: Mapping[str, Any], recorded: str | None) -> Accepted:
    """What may come out for a record whose own result is ``recorded`` (``None``: a failure)."""
    deviation = deviations().get((kind, name, record["id"]))
    if deviation is None:
        return Accepted([dated(recorded)])
    if deviation["right"] is None:
        return Accepted([], anything=True)
    also = [dated(recorded)] if deviation.get("optional") else []
    return Accepted([dated(deviation["right"]), *also])


@dataclass(frozen=True)
class Accepted:
    """The prompts that are right; with ``anything`` all but a failure."""

    prompts: list[str | None]
    anything: bool = False

    def __contains__(self, prompt: str | None) -> bool:
        return prompt in self.prompts or (self.anything and prompt is not None)


def dated(text: str | None) -> str | None:
    """A recorded text with the dates of this day."""
    if text is None:
        return None
    today = date.today()
    yesterday = today - timedelta(days=1)
    return text.replace("@TODAY@", today.isoformat()).replace("@YESTERDAY@", yesterday.isoformat())


def template_text(name: str) -> str | None:
    """The text of one of the recorded templates that come with the records."""
    path = PROMPTS / "templates" / f"{name}.gotmpl"
    return path.read_bytes().decode() if path.exists() else None
