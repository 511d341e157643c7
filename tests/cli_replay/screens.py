"""Making two screens comparable: help texts, tables and a model's words are replaced by names for them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.cli_replay.masks import mask, masked_rows
from tests.cli_replay.terminal import COLUMNS

_REPLY = "<REPLY>"
_HELP_ITEM = re.compile(r"(?m)^( {2,3}(?:/\w+|Ctrl \+|Alt \+).*?(?:  +|(?<=> )))(?=\S).*$")
_HEADING = re.compile(r"[A-Z<][^\n]*[:>]")
_MARKERS = ("Thinking...", "...done thinking.")
_HINTS = ("Send a message (/? for help)", "Press Enter to send")
_AFTER_REPLY = re.compile(r">>>|<EXIT|total duration:")


def joined(text: str) -> str:
    """A screen with rows that fill the width joined with the next: where they end depends on names."""
    return re.sub(rf"(?m)^(.{{{COLUMNS}}})\n", r"\1", text)


def comparable(text: str, *, is_one_shot: bool) -> str:
    """A screen with everything replaced that may vary."""
    lines = mask(text).split("\n")
    lines = _replies_masked(_tables_sampled(_help_masked(lines)), is_one_shot=is_one_shot)
    return re.sub(r"(?m)^MESSAGE assistant .*", f"MESSAGE assistant {_REPLY}", mask("\n".join(lines)))


def relative_cursor(step: Mapping[str, Any]) -> list[int]:
    """The recorded cursor: its column, and its row counted from the last one."""
    column, row = step["cursor"]
    return [column, row - step["screen"].count("\n")]


def _help_masked(lines: Sequence[str]) -> list[str]:
    """Help without its sentences."""
    masked = [_HELP_ITEM.sub(r"\1<TEXT>", line) for line in lines]
    for number, line in enumerate(masked[1:]):
        if line.endswith("<TEXT>") and _HEADING.fullmatch(masked[number]):
            masked[number] = "<HEADING>"
    return masked


def _tables_sampled(lines: Sequence[str]) -> list[str]:
    """Tables, which have lost the blanks at their ends, with samples in the cells that vary."""
    sampled = list(lines)
    for number, line in enumerate(lines):
        if re.match(r"NAME +ID +SIZE", line):
            rows = [re.split(r" {2,}", row) for row in _until_prompt(lines[number:])]
            for offset, row in enumerate(masked_rows(rows)[1:], 1):
                sampled[number + offset] = "    ".join(row)
    return sampled


def _until_prompt(lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        if line.startswith((">>>", "<EXIT")):
            return
        yield line


def _replies_masked(lines: Sequence[str], *, is_one_shot: bool) -> list[str]:
    """The model's words replaced; the lines around them, and the marks of thinking, stay."""
    masked: list[str] = []
    is_reply = is_one_shot and not lines[0].startswith(("Error", "pulling", "<EXIT"))
    is_question = False
    for number, line in enumerate(lines):
        if is_reply and not (_ends_reply(lines, number)):
            if line in _MARKERS:
                masked.append(line)
            elif not masked or masked[-1] != _REPLY:
                masked.append(_REPLY)
            continue
        is_reply = False
        masked.append(line)
        is_question = _is_question(line) or (is_question and line.startswith("..."))
        is_next_other = number + 1 == len(lines) or lines[number + 1].startswith(
            ("...", ">>>", "<EXIT", "Use Ctrl")
        )
        is_reply = is_question and not is_next_other
    return masked


def _is_question(line: str) -> bool:
    words = line.removeprefix(">>> ")
    return line.startswith(">>> ") and not words.startswith("/") and words not in _HINTS


def _ends_reply(lines: Sequence[str], number: int) -> bool:
    """Whether a line is the empty one between an answer and what follows."""
    return lines[number] == "" and number + 1 < len(lines) and bool(_AFTER_REPLY.match(lines[number + 1]))
