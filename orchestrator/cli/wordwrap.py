"""Breaking lines between words while their letters are still coming.

A word is written as it comes. When it turns out not to fit, the cursor goes back over it, and it is written
again on the next line. Source: ``cli`` §6.7, which gives the margins.
"""

from __future__ import annotations

from orchestrator.cli.cells import cells

_MARGIN = 5
_WORD_MARGIN = 10
_NARROWEST = 10


class WordWrap:
    """Wraps the text of one answer for a terminal of ``width`` cells."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._column = 0
        self._word = ""

    def feed(self, text: str) -> str:
        """What to write for the next piece of text."""
        if self._width < _NARROWEST:
            return text
        return "".join(map(self._next, text))

    def _next(self, character: str) -> str:
        if character in "\n\r":
            self._column, self._word = 0, ""
            return character
        width = cells(character)
        if self._column + 1 > self._width - _MARGIN:
            return self._break(character, width)
        self._column += width
        self._remember(character, width)
        return character

    def _break(self, character: str, width: int) -> str:
        word, length = self._word, cells(self._word)
        if length > self._width - _WORD_MARGIN:  # it would not fit the next line either
            word, length = "", 0
        self._column, self._word = length + width, word
        self._remember(character, width)
        back = f"\x1b[{length}D" if length else ""
        return f"{back}\x1b[K\n{word}{character}"

    def _remember(self, character: str, width: int) -> None:
        """Words end at blanks; between double-width characters any place will do."""
        self._word = "" if width >= 2 or character in " \t" else self._word + character
