"""A recorded session at a terminal, played again."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

from tests.cli_replay.screens import comparable, joined, relative_cursor
from tests.cli_replay.terminal import Cell, Terminal, colored_cells, terminal
from tests.cli_replay.world import Case, World

_DEADLINE_S = 20.0

Step = Mapping[str, Any]

BETTER: Mapping[tuple[str, int], Step] = {
    ("ctrl-c-block", 4): {
        "screen": '>>> """one\n... two\n...\nUse Ctrl + d or /bye to exit.\n'
        ">>> /set quiet\nSet 'quiet' mode.\n>>> Send a message (/? for help)",
        "cursor": [4, 6],
    },
    ("home-end-other-form", 2): {"screen": ">>> abc", "cursor": [4, 0]},
    ("home-end-other-form", 3): {"screen": ">>> abc", "cursor": [7, 0]},
    ("long-word-input", 2): {"screen": ">>> Send a message (/? for help)", "cursor": [4, 0]},
    ("ctrl-c-generating", 2): {
        "screen": ">>> 1, 2, 3, 4, 5, 6, 7, 8,\n 9,^C\n>>> Send a message (/? for help)",
        "cursor": [4, 2],
    },
    ("ctrl-c-generating", 3): {
        "screen": ">>> 1, 2, 3, 4, 5, 6, 7, 8,\n 9,^C\n>>> /set quiet\nSet 'quiet' mode.\n"
        ">>> Send a message (/? for help)",
        "cursor": [4, 4],
    },
}
"""What we show instead where the recording notes that another screen is right too; by case and step."""


def differences(world: World, case: Case) -> list[str]:
    """At which step our screen is another than the recorded one, and how; empty when none is."""
    folder = world.prepare(case)
    history = world.home / ".ollama" / "history"
    _place_history(history, case)
    is_one_shot = case["argv"][0] == "run" and any(not word.startswith("-") for word in case["argv"][2:])
    with terminal(world.command(case["argv"]), environment=world.variables(case), folder=folder) as screen:
        for number, step in enumerate([case["start"], *case["steps"]]):
            for key in step.get("keys", ()):
                screen.press(key)
            wanted = BETTER.get((case["id"], number), step)
            if lines := _step_differences(world, screen, wanted, is_one_shot=is_one_shot):
                return [f"step {number}:", *lines]
    if "history_file" in case:
        kept = history.read_text() if history.exists() else None
        if kept != case["history_file"]:
            return [f"history: recorded {case['history_file']!r}, now {kept!r}"]
    return []


def _styles(cells: Iterable[Cell]) -> list[tuple[str, bool]]:
    """Colour and weight of the characters, each change once: how many there are depends on the words."""
    return [style for style, _ in groupby((cell.color, cell.bold) for cell in cells)]


def _place_history(history: Path, case: Case) -> None:
    history.unlink(missing_ok=True)
    if (text := case.get("home_history")) is not None:
        history.parent.mkdir(exist_ok=True)
        history.write_text(text)


def _step_differences(world: World, screen: Terminal, step: Step, *, is_one_shot: bool) -> list[str]:
    recorded = comparable(joined(step["screen"]), is_one_shot=is_one_shot)
    cursor = relative_cursor(step)

    def shown() -> str:
        return comparable(world.unfill(joined(screen.text)), is_one_shot=is_one_shot)

    def is_right() -> bool:
        # an answer that is still coming looks like its end: only the cursor tells
        return screen.cursor == cursor and shown() == recorded

    if not screen.wait_until(is_right, _DEADLINE_S):
        lines = list(
            difflib.unified_diff(
                recorded.splitlines(), shown().splitlines(), "recorded", "now", lineterm="", n=2
            )
        )
        return lines or [f"cursor: recorded {cursor}, now {screen.cursor}"]
    colors = step.get("screen_with_colors")
    if colors and _styles(colored_cells(colors)) != _styles(screen.cells()):
        return ["the colours differ"]
    return []
