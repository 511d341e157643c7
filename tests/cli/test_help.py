"""Help texts have the recorded structure; their sentences are our own."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from orchestrator.cli import session_help
from orchestrator.cli.commands import find
from orchestrator.cli.help import command_help, help_on, program_help
from tests.golden_records import FOLDER

PATH = FOLDER / "cli" / "help-structure.json"
STRUCTURE: dict[str, Any] = json.loads(PATH.read_text()) if PATH.exists() else {"commands": {}}

NOT_OURS = {"launch"}
"""Sets up programs of other makers, which we leave to them."""
OURS_ALONE = {"engine", "export", "import", "prune", "verify"}

FLAG = re.compile(
    r"  (?:-(?P<short>\w), |    )--(?P<name>[\w-]+)"
    r"(?: (?P<type>string|int)(?:\[=\"(?P<bare>\w+)\"\])?)?  +.*?(?: \(default (?P<default>[^)]*)\))?"
)
VARIABLE = re.compile(r"  (?P<name>[A-Z_]+) +.*?(?: \(default (?P<default>[^)]*)\))?")


def sections(text: str) -> dict[str, list[str]]:
    """The lines of each section by its title."""
    found: dict[str, list[str]] = {}
    title = ""
    for line in text.splitlines():
        if re.fullmatch(r"[A-Z][\w ]+:", line):
            title = line.removesuffix(":")
            found[title] = []
        elif title and line.startswith("  "):
            found[title].append(line)
        else:
            title = ""
    return found


def flags(lines: list[str]) -> list[dict[str, str]]:
    result = []
    for line in lines:
        match = FLAG.fullmatch(line)
        assert match, line
        flag = {"name": f"--{match['name']}", "type": match["type"] or "bool"}
        if match["short"]:
            flag["short"] = f"-{match['short']}"
        if match["bare"]:
            flag["value_when_bare"] = match["bare"]
        if match["default"]:
            flag["default_shown"] = match["default"].strip('"')
        result.append(flag)
    return result


def variables(lines: list[str]) -> list[dict[str, str]]:
    matches = [match for line in lines if (match := VARIABLE.fullmatch(line))]
    assert len(matches) == len(lines)
    return [
        {"name": match["name"]} | ({"default_shown": match["default"]} if match["default"] else {})
        for match in matches
    ]


@pytest.mark.parametrize("name", sorted(STRUCTURE["commands"].keys() - NOT_OURS))
def test_the_help_of_a_command_has_the_recorded_structure(name: str) -> None:
    recorded = STRUCTURE["commands"][name]
    entry = find(name)
    assert entry is not None
    found = sections(command_help(entry))
    assert list(found) == recorded["sections"]
    assert [line.strip() for line in found["Usage"]] == [
        usage.replace("ollama", "orch") for usage in recorded["usage"]
    ]
    assert flags(found["Flags"]) == recorded["flags"]
    assert list(entry.aliases) == recorded.get("aliases", [])
    assert entry.hidden == recorded["hidden"]
    own = variables(found.get("Environment Variables", []))
    assert own[: len(recorded["environment"])] == recorded["environment"]


@pytest.mark.skipif("program" not in STRUCTURE, reason="no recorded structure")
def test_the_help_of_the_program_has_the_recorded_structure() -> None:
    recorded = STRUCTURE["program"]
    found = sections(program_help())
    assert list(found) == recorded["sections"]
    assert flags(found["Flags"]) == recorded["flags"]
    listed = [line.split()[0] for line in found["Available Commands"]]
    theirs = [name for name in listed if name not in OURS_ALONE]
    assert theirs == [name for name in recorded["commands"] if name not in NOT_OURS]


def test_serve_names_our_own_variables_too() -> None:
    entry = find("serve")
    assert entry is not None
    assert "ORCH_CONTEXT_OVERFLOW" in command_help(entry)


def test_an_unknown_topic_is_told_and_the_usage_shown(capsys: pytest.CaptureFixture[str]) -> None:
    help_on("nosuch", "topic")
    printed = capsys.readouterr()
    assert not printed.out
    assert printed.err.startswith("Unknown help topic 'nosuch topic'\nUsage:\n")


def test_an_alias_is_a_topic(capsys: pytest.CaptureFixture[str]) -> None:
    help_on("ls")
    assert "orch list [flags]" in capsys.readouterr().out


@pytest.mark.skipif("interactive" not in STRUCTURE, reason="no recorded structure")
@pytest.mark.parametrize(
    ("topic", "text"),
    [
        ("/?", session_help.overview(takes_files=False)),
        ("/? set", session_help.about_set()),
        ("/? show", session_help.about_show()),
        ("/? shortcuts", session_help.about_shortcuts()),
        ("/set parameter", session_help.about_parameters().replace("  /set parameter ", "  ")),
    ],
)
def test_help_in_a_session_lists_what_is_recorded(topic: str, text: str) -> None:
    recorded = STRUCTURE["interactive"][topic]["lists"]
    items = [line.strip() for line in text.splitlines()[1:] if line.startswith("  ")]
    assert len(items) == len(recorded)
    assert all(item.startswith(f"{name} ") for item, name in zip(items, recorded, strict=True))


def test_files_are_explained_where_the_model_takes_them() -> None:
    assert "photo.png" in session_help.overview(takes_files=True)
    assert "photo.png" not in session_help.overview(takes_files=False)
