"""How flags are written on a command line, and what is said about those written wrongly.

The rules are those of Go's pflag, which scripts written for Ollama rely on and which no Python library
follows (``--think`` alone or with ``=high``, ``--truncate=false``). Flags may stand anywhere before ``--``;
``--name value``, ``--name=value``, ``-n value``, ``-nvalue`` and ``-n=value`` are alike; short switches may
be joined (``-ab``). A switch takes a value only with ``=``. Long names cannot be shortened.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from orchestrator.domain.quoting import quoted
from orchestrator.errors import OrchestratorError

_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE = frozenset({"0", "f", "F", "FALSE", "false", "False"})
_WHOLE = re.compile(r"[+-]?[0-9]{1,18}")

Value = str | int | bool


class UsageError(OrchestratorError):
    """The command line says something no command understands."""


class Kind(Enum):
    """What values a flag takes; the word is the one help shows."""

    SWITCH = "bool"
    TEXT = "string"
    NUMBER = "int"


@dataclass(frozen=True, slots=True)
class Flag:
    """One flag. ``bare`` is the value of a flag given without one; None when it needs a value."""

    name: str
    kind: Kind
    summary: str
    short: str | None = None
    bare: str | None = None
    default: str | None = None
    """The value of a flag not given, when it is worth showing."""


def switch(name: str, summary: str, *, short: str | None = None, default: str | None = None) -> Flag:
    """A flag that is on when it is there."""
    return Flag(name, Kind.SWITCH, summary, short, bare="true", default=default)


@dataclass(frozen=True, slots=True)
class Line:
    """A command line taken apart: values of the flags given, and the other words."""

    values: Mapping[str, Value]
    words: Sequence[str]


def read(arguments: Sequence[str], flags: Iterable[Flag]) -> Line:
    """Take arguments apart; raises ``UsageError`` at the first mistake."""
    return _Reader(flags).read(list(arguments))


def command_word(arguments: Sequence[str], flags: Sequence[Flag]) -> int | None:
    """Where the command's name stands among arguments; None when there is none.

    A flag the program does not know is taken to have a value, which therefore is no command.
    """
    long = {flag.name for flag in flags if flag.bare is not None}
    short = {flag.short for flag in flags if flag.bare is not None}
    skip = False
    for index, argument in enumerate(arguments):
        if skip:
            skip = False
        elif argument == "--":
            return None
        elif argument.startswith("--"):
            skip = "=" not in argument and argument[2:] not in long
        elif argument.startswith("-") and len(argument) > 1:
            skip = len(argument) == 2 and argument[1] not in short
        elif argument:
            return index
    return None


class _Reader:
    def __init__(self, flags: Iterable[Flag]) -> None:
        flags = tuple(flags)
        self._long = {flag.name: flag for flag in flags}
        self._short = {flag.short: flag for flag in flags if flag.short}
        self._values: dict[str, Value] = {}

    def read(self, rest: list[str]) -> Line:
        words: list[str] = []
        while rest:
            argument = rest.pop(0)
            if argument == "--":
                words += rest
                break
            if argument.startswith("--"):
                self._read_long(argument, rest)
            elif argument.startswith("-") and argument != "-":
                self._read_short(argument, rest)
            else:
                words.append(argument)
        return Line(self._values, words)

    def _read_long(self, argument: str, rest: list[str]) -> None:
        name, equals, value = argument[2:].partition("=")
        if not name or name.startswith("-"):
            raise UsageError(f"bad flag syntax: {argument}")
        if (flag := self._long.get(name)) is None:
            raise UsageError(f"unknown flag: --{name}")
        if equals:
            self._set(flag, value)
        elif flag.bare is not None:
            self._set(flag, flag.bare)
        elif rest:
            self._set(flag, rest.pop(0))
        else:
            raise UsageError(f"flag needs an argument: --{name}")

    def _read_short(self, argument: str, rest: list[str]) -> None:
        letters = argument[1:]
        while letters:
            from_here = letters
            letter, letters = letters[0], letters[1:]
            if (flag := self._short.get(letter)) is None:
                raise UsageError(f"unknown shorthand flag: {letter!r} in -{from_here}")
            if letters.startswith("=") and letters != "=":
                self._set(flag, letters[1:])
                return
            if flag.bare is not None:
                self._set(flag, flag.bare)
            elif letters or rest:
                self._set(flag, letters or rest.pop(0))
                return
            else:
                raise UsageError(f"flag needs an argument: {letter!r} in -{from_here}")

    def _set(self, flag: Flag, text: str) -> None:
        try:
            self._values[flag.name] = _value(flag.kind, text)
        except ValueError as error:
            shown = f"-{flag.short}, --{flag.name}" if flag.short else f"--{flag.name}"
            raise UsageError(f'invalid argument {quoted(text)} for "{shown}" flag: {error}') from None


def _value(kind: Kind, text: str) -> Value:
    match kind:
        case Kind.TEXT:
            return text
        case Kind.SWITCH if text in _TRUE | _FALSE:
            return text in _TRUE
        case Kind.SWITCH:
            raise ValueError("neither true nor false")
        case Kind.NUMBER:
            if not _WHOLE.fullmatch(text):
                raise ValueError("not a whole number")
            return int(text)
