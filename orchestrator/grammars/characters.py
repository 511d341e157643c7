"""Sets of characters, and how those of a JSON string are written."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

from orchestrator.grammars.gbnf import literal, one_of

Span = tuple[int, int]
"""Code points from the first to the last."""

_LAST = 0x10FFFF
_SHORT_ESCAPES = {'"': '"', "\\": "\\", "\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t"}


@dataclass(frozen=True, slots=True)
class Characters:
    """A set of characters, as spans in order that neither touch nor overlap."""

    spans: tuple[Span, ...]

    @classmethod
    def of(cls, *spans: Span | str) -> Self:
        """The characters in ``spans``; a text gives each of its own."""
        found: list[Span] = []
        for span in spans:
            found += [(ord(c), ord(c)) for c in span] if isinstance(span, str) else [span]
        return cls(tuple(_merged(found)))

    def __or__(self, other: Characters) -> Characters:
        return Characters(tuple(_merged([*self.spans, *other.spans])))

    def __and__(self, other: Characters) -> Characters:
        return ~(~self | ~other)

    def __invert__(self) -> Characters:
        gaps, start = [], 0
        for first, last in self.spans:
            gaps.append((start, first - 1))
            start = last + 1
        gaps.append((start, _LAST))
        return Characters(tuple(span for span in gaps if span[0] <= span[1]))

    def __contains__(self, character: str) -> bool:
        return any(first <= ord(character) <= last for first, last in self.spans)

    def in_json(self) -> str | None:
        """Any of these characters as it stands in a JSON string; ``None`` if none can."""
        options = []
        if plain := self & PLAIN:
            options.append(plain._class())
        escaped = [escape for character, escape in _SHORT_ESCAPES.items() if character in self]
        options += [literal(f"\\{escape}") for escape in escaped]
        return one_of(options) if options else None

    def __bool__(self) -> bool:
        return bool(self.spans)

    def _class(self) -> str:
        if len(self.spans) == 1 and self.spans[0][0] == self.spans[0][1]:
            return literal(chr(self.spans[0][0]))
        named = f"[{''.join(map(_span, self.spans))}]"
        others = f"[^{''.join(map(_span, (~self & _REAL).spans))}]"
        return min(named, others, key=len)


def _merged(spans: Iterable[Span]) -> list[Span]:
    merged: list[Span] = []
    for first, last in sorted(spans):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = merged[-1][0], max(last, merged[-1][1])
        else:
            merged.append((first, last))
    return merged


def _span(span: Span) -> str:
    first, last = span
    return _point(first) if first == last else f"{_point(first)}-{_point(last)}"


def _point(code: int) -> str:
    character = chr(code)
    if character.isascii() and (character.isalnum() or character in " _"):
        return character
    return f"\\x{code:02X}" if code < 0x80 else f"\\U{code:08X}"


_REAL = ~Characters.of((0xD800, 0xDFFF))
"""What text can hold: no halves of characters."""

PLAIN = ~Characters.of((0, 0x1F), (0x7F, 0x7F), (0xD800, 0xDFFF), '"\\')
"""What stands for itself in a JSON string."""
