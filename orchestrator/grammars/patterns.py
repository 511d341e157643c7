"""Regular expressions of schemas, as far as a grammar can say the same.

What can: characters and classes, groups, alternatives, repetitions, and anchors at the ends. What cannot:
look-around, back-references, word boundaries, properties of Unicode, anchors in the middle.

A string is matched as it is written in JSON: a quotation mark stands there with its backslash.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from orchestrator.grammars.characters import Characters
from orchestrator.grammars.gbnf import MOST_REPETITIONS, one_of, repeated

_DEEPEST = 20
_LONGEST = 2000
_MOST_STATES = 2000
"""Characters in a pattern, repetitions counted out: the engine may have to follow all of them at once."""

_DIGITS = Characters.of((0x30, 0x39))
_WORD = _DIGITS | Characters.of((0x41, 0x5A), (0x61, 0x7A), "_")
_BLANK = Characters.of("\t\n\v\f\r \xa0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff", (0x2000, 0x200A))
_LINE_ENDS = Characters.of("\n\r\u2028\u2029")

_CLASSES = {"d": _DIGITS, "w": _WORD, "s": _BLANK, "D": ~_DIGITS, "W": ~_WORD, "S": ~_BLANK}
_CONTROLS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "v": "\v", "0": "\0"}
_CODE = re.compile(r"x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|u\{([0-9a-fA-F]{1,6})\}")
_COUNTS = re.compile(r"\{(\d{1,5})(?:(,)(\d{1,5})?)?\}")


class Untranslatable(Exception):
    """A pattern that no grammar can say."""


def pattern_expression(pattern: str, any_character: str) -> str:
    """The texts in which ``pattern`` is found, as GBNF without the quotation marks.

    ``any_character`` is the symbol of one character of a JSON string. Raises ``Untranslatable``.
    """
    if len(pattern) > _LONGEST:
        raise Untranslatable
    return _Reader(pattern, any_character).whole()


def _bounds(counts: re.Match[str]) -> tuple[int, int | None]:
    """What ``{2}``, ``{2,}`` and ``{2,5}`` say: the least and the most, if there is one."""
    least, comma, most = counts.groups()
    if most:
        return int(least), int(most)
    return int(least), None if comma else int(least)


class _Part(NamedTuple):
    """An expression, whether it fits the empty text, and how many characters it names."""

    text: str
    may_be_empty: bool = False
    states: int = 1


class _Reader:
    """Reads a pattern from left to right."""

    def __init__(self, pattern: str, any_character: str) -> None:
        self._pattern = pattern
        self._at = 0
        self._depth = 0
        self._anything = f"{any_character}*"

    def whole(self) -> str:
        options = [self._anchored()]
        while self._take("|"):
            options.append(self._anchored())
        if self._at < len(self._pattern):
            raise Untranslatable
        return one_of(options)

    def _anchored(self) -> str:
        """One alternative at the top, where anchors have their place."""
        before = [] if self._take("^") else [self._anything]
        inner = self._sequence().text
        after = [] if self._take("$") else [self._anything]
        return " ".join([*before, inner, *after])

    def _group(self) -> _Part:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise Untranslatable
        options = [self._sequence()]
        while self._take("|"):
            options.append(self._sequence())
        if not self._take(")"):
            raise Untranslatable
        self._depth -= 1
        text = " | ".join(option.text for option in options)
        may_be_empty = any(option.may_be_empty for option in options)
        return _Part(f"({text})", may_be_empty, sum(option.states for option in options))

    def _sequence(self) -> _Part:
        parts = []
        while self._at < len(self._pattern) and self._pattern[self._at] not in "|)$":
            parts.append(self._counted(self._one()))
        text = " ".join(part.text for part in parts) or '""'
        states = sum(part.states for part in parts)
        if states > _MOST_STATES:
            raise Untranslatable
        return _Part(text, all(part.may_be_empty for part in parts), states)

    def _one(self) -> _Part:
        character = self._next()
        match character:
            case "(":
                if self._take("?") and not self._take(":"):
                    raise Untranslatable
                return self._group()
            case "[":
                return self._character(self._class())
            case ".":
                return self._character(~_LINE_ENDS)
            case "\\":
                return self._character(self._escape())
            case "^" | "*" | "+" | "?" | "{" | "}" | "]":
                raise Untranslatable
            case _:
                return self._character(Characters.of(character))

    def _character(self, characters: Characters) -> _Part:
        expression = characters.in_json()
        if expression is None:
            raise Untranslatable
        return _Part(expression)

    def _counted(self, item: _Part) -> _Part:
        """``item`` with the repetition that follows it; how greedy that is makes no difference."""
        if self._take("*"):
            least, most = 0, None
        elif self._take("+"):
            least, most = 1, None
        elif self._take("?"):
            least, most = 0, 1
        elif counts := _COUNTS.match(self._pattern, self._at):
            self._at = counts.end()
            least, most = _bounds(counts)
        else:
            return item
        self._take("?")
        if max(least, most or 0) > MOST_REPETITIONS or (most is not None and most < least):
            raise Untranslatable
        if item.may_be_empty and most != 1:
            raise Untranslatable  # the engine would not know how often it has read nothing
        states = item.states * max(least, most or 1)
        return _Part(repeated(item.text, least, most), item.may_be_empty or not least, states)

    def _class(self) -> Characters:
        negated = self._take("^")
        found = Characters.of()
        while not self._take("]"):
            first = self._member()
            if self._pattern[self._at : self._at + 1] == "-" and self._pattern[self._at + 1 :][:1] not in "]":
                self._at += 1
                first = _span(first, self._member())
            found |= first
        return ~found if negated else found

    def _member(self) -> Characters:
        character = self._next()
        if character != "\\":
            return Characters.of(character)
        if self._take("b"):
            return Characters.of("\b")
        if self._take("-"):
            return Characters.of("-")
        return self._escape()

    def _escape(self) -> Characters:
        if code := _CODE.match(self._pattern, self._at):
            self._at = code.end()
            point = int(code[1] or code[2] or code[3], 16)
            if point > 0x10FFFF or 0xD800 <= point <= 0xDFFF:
                raise Untranslatable
            return Characters.of(chr(point))
        character = self._next()
        if character in _CLASSES:
            return _CLASSES[character]
        if character in _CONTROLS:
            return Characters.of(_CONTROLS[character])
        if character.isalnum():
            raise Untranslatable
        return Characters.of(character)

    def _next(self) -> str:
        if self._at >= len(self._pattern):
            raise Untranslatable
        character = self._pattern[self._at]
        self._at += 1
        return character

    def _take(self, expected: str) -> bool:
        """Read ``expected`` if it comes next."""
        found = self._pattern.startswith(expected, self._at)
        self._at += found * len(expected)
        return found


def _span(first: Characters, last: Characters) -> Characters:
    """From one character to another."""
    ends = [*first.spans, *last.spans]
    if len(ends) != 2 or any(low != high for low, high in ends) or ends[0][0] > ends[1][0]:
        raise Untranslatable
    return Characters.of((ends[0][0], ends[1][0]))
