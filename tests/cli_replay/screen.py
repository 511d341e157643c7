"""What stays on a terminal after a program has written to it."""

from __future__ import annotations

import re

_STEP = re.compile(r"\x1b\[(?P<private>\?)?(?P<number>[0-9;]*)(?P<what>[A-Za-z])|\x1b[=>]")


def visible(text: str) -> str:
    """The rows after cursor moves and clears, without blanks at their ends."""
    screen = _Screen()
    position = 0
    while position < len(text):
        if step := _STEP.match(text, position):
            if step["what"] and not step["private"]:
                screen.obey(step["what"], step["number"])
            position = step.end()
        else:
            screen.put(text[position])
            position += 1
    return "\n".join("".join(row).rstrip() for row in screen.rows)


class _Screen:
    def __init__(self) -> None:
        self.rows: list[list[str]] = [[]]
        self._row = self._column = 0

    def put(self, character: str) -> None:
        match character:
            case "\n":
                self._row, self._column = self._row + 1, 0
                if self._row == len(self.rows):
                    self.rows.append([])
            case "\r":
                self._column = 0
            case _:
                row = self.rows[self._row]
                row += " " * (self._column - len(row))
                row[self._column : self._column + 1] = [character]
                self._column += 1

    def obey(self, what: str, number: str) -> None:
        steps = int(number) if number.isdigit() and number != "0" else 1
        match what:
            case "A":
                self._row = max(self._row - steps, 0)
            case "D":
                self._column = max(self._column - steps, 0)
            case "G":
                self._column = steps - 1
            case "K":
                self.rows[self._row] = [] if number == "2" else self.rows[self._row][: self._column]
            case "J":
                del self.rows[self._row + 1 :]
                self.rows[self._row] = self.rows[self._row][: self._column]
