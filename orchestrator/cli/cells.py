"""How many cells of a terminal a text takes."""

from __future__ import annotations

import unicodedata


def cells(text: str) -> int:
    """The width of text on a terminal: wide characters take two cells, combining marks none."""
    return len(text) if text.isascii() else sum(map(_width, text))


def _width(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in ("Cf", "Me", "Mn"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
