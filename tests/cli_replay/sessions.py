"""A recorded session at a terminal, played again."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from typing import Any

from tests.cli_replay.masks import mask, masked_rows
from tests.cli_replay.terminal import Terminal, colored_cells, terminal
from tests.cli_replay.world import Case, World

_DEADLINE_S = 20.0
_REST_S = 0.1


def differences(world: World, case: Case) -> list[str]:
    """At which step our screen is another than the recorded one, and how; empty when none is."""
    folder = world.prepare(case)
    history = world.home / ".ollama" / "history"
    _place_history(history, case)
    command = world.command(case["argv"])
    with terminal(command, environment=world.variables(case), folder=folder) as screen:
        for number, step in enumerate([case["start"], *case["steps"]]):
            for key in step.get("keys", ()):
                screen.press(key)
            if lines := _step_differences(world, screen, step):
                return [f"step {number}:", *lines]
    if "history_file" in case:
        kept = history.read_text() if history.exists() else None
        if kept != case["history_file"]:
            return [f"history: recorded {case['history_file']!r}, now {kept!r}"]
    return []


def _place_history(history: Any, case: Case) -> None:
    history.unlink(missing_ok=True)
    if (text := case.get("home_history")) is not None:
        history.parent.mkdir(exist_ok=True)
        history.write_text(text)


def _step_differences(world: World, screen: Terminal, step: Mapping[str, Any]) -> list[str]:
    recorded = _comparable(step["screen"])

    def is_right(now: Terminal) -> bool:
        return _comparable(world.unfill(now.text)) == recorded and now.cursor == step["cursor"]

    if not screen.wait_until(is_right, _DEADLINE_S):
        return _shown(step, screen, recorded, _comparable(world.unfill(screen.text)))
    colors = step.get("screen_with_colors")
    if colors and colored_cells(colors) != list(screen.cells()):
        return ["the colours differ"]
    return []


def _comparable(text: str) -> str:
    return _help_masked(mask(_table_sampled(text)))


def _help_masked(text: str) -> str:
    """A help text without its sentences."""
    item = r"(?m)^( {2,3}(?:/\w+|Ctrl \+|Alt \+).*?(?:  +|(?<=> )))(?=\S).*$"
    lines = re.sub(item, r"\1<TEXT>", text).split("\n")
    for number, line in enumerate(lines[1:], 1):
        if line.endswith("<TEXT>") and re.fullmatch(r"[A-Z<][^\n]*[:>]", lines[number - 1]):
            lines[number - 1] = "<HEADING>"
    return "\n".join(lines)


def _table_sampled(text: str) -> str:
    """Tables on a screen, where the blanks at their ends are gone, with samples in the cells that vary."""
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if not re.match(r"NAME +ID +SIZE", line):
            continue
        end = next((n for n in range(number, len(lines)) if lines[n].startswith((">>>", "<"))), len(lines))
        rows = [re.split(r" {2,}", row) for row in lines[number:end]]
        for offset, row in enumerate(masked_rows(rows)[1:], 1):
            lines[number + offset] = "    ".join(row)
    return "\n".join(lines)


def _shown(step: Mapping[str, Any], screen: Terminal, recorded: str, now: str) -> list[str]:
    lines = list(
        difflib.unified_diff(recorded.splitlines(), now.splitlines(), "recorded", "now", lineterm="", n=2)
    )
    return lines or [f"cursor: recorded {step['cursor']}, now {screen.cursor}"]
