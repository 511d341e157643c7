"""Recorded outputs of models: making the parser of a record, and feeding it cut in many ways."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable, Iterator
from typing import Any

from orchestrator.domain.requests import Message
from orchestrator.domain.think import Think
from orchestrator.domain.tools import Tool, parse_tools
from orchestrator.parsers import registry
from orchestrator.parsers.base import Parser
from orchestrator.parsers.generic import generic_parser
from tests.golden_records import FOLDER, Record, records

WITHOUT_CHUNKS = "thinking-tags"
GENERIC = ("generic-thinking", "generic-tools")


def files() -> list[str]:
    """The names of the files of records, without the one that has no outputs in it."""
    names = {path.name.split(".jsonl")[0] for path in (FOLDER / "parsers").glob("*.jsonl*")}
    return sorted(names - {WITHOUT_CHUNKS})


def all_records() -> Iterator[tuple[str, Record]]:
    """Every record with the name of its file."""
    for name in files():
        for record in records(f"parsers/{name}.jsonl"):
            yield name, record


def tools_of(record: Record) -> tuple[Tool, ...]:
    """The tools of a record's request."""
    return parse_tools(record["init"].get("tools"))


def last_message_of(record: Record) -> Message | None:
    """The last message of a record's prompt."""
    last = record["init"].get("last")
    if last is None:
        return None
    return Message(
        role=last["role"],
        content=last.get("content", ""),
        thinking=last.get("thinking", ""),
        tool_name=last.get("tool_name", ""),
    )


def parser_for(file: str, record: Record) -> Parser:
    """The parser of a record, started."""
    init = record["init"]
    match file:
        case "generic-thinking":
            tags = init if "open" in init else record["tags"]
            parser = generic_parser(
                thinking_tags=(tags["open"], tags["close"]),
                tool_tag=None,
                prompt_ends_in_thought=init["inside"],
            )
            parser.start((), None, Think(on=True))
        case "generic-tools":
            parser = generic_parser(thinking_tags=None, tool_tag=record["tag"], prompt_ends_in_thought=False)
            parser.start(tools_of(record), None, None)
        case _:
            made = registry.make(file)
            assert made is not None
            parser = made
            think = None if init["think"] is None else Think.parse(init["think"])
            parser.start(tools_of(record), last_message_of(record), think)
    return parser


def wanted(record: Record) -> dict[str, Any]:
    """What a record's output must give."""
    return record.get("right") or record["result"]  # type: ignore[no-any-return]


def total(parser: Parser, pieces: Iterable[str]) -> dict[str, Any]:
    """All that a parser makes of an output, added up."""
    parsed = [*map(parser.feed, pieces), parser.close()]
    return {
        "content": "".join(part.content for part in parsed),
        "thinking": "".join(part.thinking for part in parsed),
        "calls": [
            {"name": call.name, "arguments": dict(call.arguments)} for part in parsed for call in part.calls
        ],
    }


def cuttings(record: Record) -> dict[str, list[str]]:
    """The output of a record cut in different ways, named."""
    text = record["raw"]
    return {
        "whole": [text],
        "runes": list(text),
        "three": [text[start : start + 3] for start in range(0, len(text), 3)],
        **{f"random {seed}": list(random_pieces(text, seed=f"{record['id']} {seed}")) for seed in range(3)},
    }


def random_pieces(text: str, *, seed: str) -> Iterator[str]:
    """``text`` in pieces of random length, some of them empty."""
    choice = random.Random(hashlib.sha256(seed.encode()).digest())
    start = 0
    while start < len(text):
        length = choice.choice((0, 1, 2, 3, 5, 8, 20))
        yield text[start : start + length]
        start += length
