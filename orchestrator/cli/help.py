"""Help texts, drawn from the table of commands."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

from orchestrator.cli.commands import HELP, PROGRAM, PROGRAM_FLAGS, Entry, find, visible
from orchestrator.cli.grammar import Flag, Kind

_GAP = 3
"""Blanks between two columns."""


def help_on(*topic: str) -> None:
    """The command ``help``: a command's help, or the program's."""
    if not topic:
        sys.stdout.write(program_help())
    elif entry := find(topic[0]):
        sys.stdout.write(command_help(entry))
    else:
        sys.stderr.write(f"Unknown help topic {' '.join(topic)!r}\n{program_usage()}")


def program_help() -> str:
    """Help on the program as a whole."""
    return f"Serve language models on your own machine and talk to them\n\n{program_usage()}"


def program_usage() -> str:
    """How the program is called, what commands and flags it has."""
    sections = [
        _section("Usage", [f"{PROGRAM} [flags]", f"{PROGRAM} [command]"]),
        _section("Available Commands", _columns((entry.name, entry.summary) for entry in visible())),
        _section("Flags", _flag_lines(PROGRAM_FLAGS)),
    ]
    return "\n".join(sections) + f'\n"{PROGRAM} [command] --help" tells more about a command.\n'


def command_help(entry: Entry) -> str:
    """Help on one command."""
    usage = " ".join(filter(None, (PROGRAM, entry.name, entry.usage, "[flags]")))
    sections = [f"{entry.summary}\n", _section("Usage", [usage])]
    if entry.aliases:
        sections.append(_section("Aliases", [", ".join((entry.name, *entry.aliases))]))
    sections.append(_section("Flags", _flag_lines(entry.flags or (HELP,))))
    if entry.variables:
        sections.append(_section("Environment Variables", _columns(_variable_rows(entry))))
    return "\n".join(sections)


def _section(title: str, lines: Iterable[str]) -> str:
    return f"{title}:\n" + "".join(f"  {line}\n" for line in lines)


def _columns(rows: Iterable[tuple[str, str]]) -> list[str]:
    rows = list(rows)
    width = max(len(first) for first, _ in rows) + _GAP
    return [f"{first:<{width}}{second}" for first, second in rows]


def _flag_lines(flags: Sequence[Flag]) -> list[str]:
    return _columns((_flag_form(flag), _with_default(flag.summary, flag.default)) for flag in flags)


def _flag_form(flag: Flag) -> str:
    form = f"-{flag.short}, --{flag.name}" if flag.short else f"    --{flag.name}"
    if flag.kind is not Kind.SWITCH:
        form += f" {flag.kind.value}"
        form += f'[="{flag.bare}"]' if flag.bare is not None else ""
    return form


def _with_default(summary: str, default: str | None) -> str:
    return f"{summary} (default {default})" if default else summary


def _variable_rows(entry: Entry) -> list[tuple[str, str]]:
    """The variables of a command; ``serve`` goes on with all that the table of settings has for it."""
    from orchestrator.config import help_rows, serve_variables

    more = serve_variables() if entry.name == "serve" else ()
    return help_rows(dict.fromkeys((*entry.variables, *more)))
