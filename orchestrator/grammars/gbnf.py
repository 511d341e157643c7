"""GBNF, the notation of llama.cpp's grammars: its expressions, and a book that collects its rules.

::

    root  ::= "[" space item ("," space item){0,4} space "]"
    item  ::= [a-z]+ | "\"" char* "\""

Expressions are text. Those made here can stand in a sequence as they are: alternatives are in brackets.
Source: llama.cpp grammars/README.md.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from orchestrator.grammars.errors import SchemaTooLarge

MOST_REPETITIONS = 2000
"""The engine refuses larger counts."""

MOST_TEXT = 1 << 20
"""Characters of a grammar: what the engine reads within a second."""

_ALL_REPETITIONS = 200_000
"""The engine writes every repetition out, so all of them together are what a grammar costs."""

_COUNTS = re.compile(r"\{(\d+)(?:,(\d*))?\}")
_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9]+")
_NEEDS_ESCAPE = re.compile(r'["\\\x00-\x1f\x7f]')
_LONGEST_HINT = 40


@dataclass(frozen=True, slots=True)
class Grammar:
    """A whole grammar, and what it leaves to the model's good will."""

    text: str
    unenforced: tuple[str, ...] = ()
    """JSON pointers of the schema's keywords that the grammar does not enforce."""


def literal(text: str) -> str:
    """``text``, character for character."""
    return f'"{_NEEDS_ESCAPE.sub(_escape, text)}"'


def one_of(options: Iterable[str]) -> str:
    """Any of ``options``, of which there is at least one; equal ones count once."""
    different = list(dict.fromkeys(options))
    return different[0] if len(different) == 1 else f"({' | '.join(different)})"


def repeated(item: str, least: int, most: int | None) -> str:
    """``item``, which is a single symbol or in brackets, ``least`` to ``most`` times."""
    match least, most:
        case _, 0:
            return '""'
        case 0, 1:
            return f"{item}?"
        case 1, 1:
            return item
        case 0, None:
            return f"{item}*"
        case 1, None:
            return f"{item}+"
        case _, None:
            return f"{item}{{{least},}}"
        case _ if least == most:
            return f"{item}{{{least}}}"
        case _:
            return f"{item}{{{least},{most}}}"


def optional(item: str) -> str:
    """``item``, a sequence, or nothing."""
    return f"({item})?"


class RuleBook:
    """Rules in the making. Raises ``SchemaTooLarge`` when they get out of hand."""

    def __init__(self) -> None:
        self._bodies: dict[str, str | None] = {}
        self._names: dict[str, str] = {}
        self._numbers: Counter[str] = Counter()
        self._size = 0
        self._repetitions = 0

    def __contains__(self, name: str) -> bool:
        return name in self._bodies

    def reserve(self, hint: str) -> str:
        """A name like ``hint`` for a rule that is defined later."""
        stem = _NOT_IN_NAMES.sub("-", hint).strip("-")[-_LONGEST_HINT:].strip("-") or "part"
        name = stem
        while name in self._bodies:
            self._numbers[stem] += 1
            name = f"{stem}-{self._numbers[stem] + 1}"
        self._bodies[name] = None
        return name

    def define(self, name: str, body: str) -> None:
        """Say what a name stands for."""
        self._size += len(name) + len(body) + 6
        self._repetitions += sum(int(most or least) for least, most in _COUNTS.findall(body))
        if self._size > MOST_TEXT or self._repetitions > _ALL_REPETITIONS:
            raise SchemaTooLarge
        self._bodies[name] = body
        self._names.setdefault(body, name)

    def add(self, hint: str, body: str) -> str:
        """The name of a rule with this body, which may have been there before."""
        if body not in self._names:
            self.define(self.reserve(hint), body)
        return self._names[body]

    def text(self) -> str:
        """All rules, in the order in which their names came up."""
        return "".join(f"{name} ::= {body}\n" for name, body in self._bodies.items())


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    return f"\\{character}" if character in '"\\' else f"\\x{ord(character):02X}"
