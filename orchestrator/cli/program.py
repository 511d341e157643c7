"""The program ``orch``: finds the command, runs it, turns errors into one line and an exit status."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module

from orchestrator.cli import commands, grammar
from orchestrator.cli.closed import open_closed_streams
from orchestrator.errors import OrchestratorError, words_of


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line; gives the exit status."""
    open_closed_streams()
    try:
        status = run(sys.argv[1:] if argv is None else argv)
        sys.stdout.flush()
    except OrchestratorError as error:
        return _fail(str(error), error.hint or error.advice)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # Whoever read our output has gone. Python would complain again when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        return _fail(words_of(error))
    return status


def _fail(message: str, hint: str | None = None) -> int:
    """Say what went wrong; what to do about it is for people, who sit at terminals."""
    sys.stderr.write(f"Error: {message.rstrip(' ')}\n")
    if hint and sys.stderr.isatty():
        sys.stderr.write(f"{hint}\n")
    return 1


def run(arguments: Sequence[str]) -> int:
    """Run one command line; errors are raised."""
    place = grammar.command_word(arguments, commands.PROGRAM_FLAGS)
    if place is None:
        return _run_program(arguments)
    if (entry := commands.find(arguments[place])) is None:
        raise commands.unknown(arguments[place])
    return _run_command(entry, [*arguments[:place], *arguments[place + 1 :]])


def _run_program(arguments: Sequence[str]) -> int:
    line = grammar.read(arguments, commands.PROGRAM_FLAGS)
    if line.words:
        raise commands.unknown(line.words[0])
    if line.values.get("version") and not line.values.get("help"):
        from orchestrator.cli.version import show_version

        show_version()
    else:
        from orchestrator.cli.help import program_help

        sys.stdout.write(program_help())
    return 0


def _run_command(entry: commands.Entry, arguments: Sequence[str]) -> int:
    line = grammar.read(arguments, entry.flags)
    if line.values.get("help"):
        from orchestrator.cli.help import command_help

        sys.stdout.write(command_help(entry))
        return 0
    entry.count.check(line.words)
    named = {name.replace("-", "_"): value for name, value in line.values.items() if name != "help"}
    return _code(entry)(*line.words, **named) or 0


def _code(entry: commands.Entry) -> Callable[..., int | None]:
    module, _, function = entry.code.partition(":")
    found: Callable[..., int | None] = getattr(import_module(f"orchestrator.cli.{module}"), function)
    return found
