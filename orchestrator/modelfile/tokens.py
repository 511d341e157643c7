"""The characters of a Modelfile: how bytes become text, and a scanner over it.

Source: ``modelfile`` §1.
"""

from __future__ import annotations

import codecs
import re
from bisect import bisect_right

_UTF16_MARKS = ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_ESCAPED_BYTE = re.compile("[\udc80-\udcff]")
_LINE_END = re.compile(r"\r\n|\r|\n")
_NOT_NEWLINES = re.compile(r"[^\r\n]*")
_SPACES = re.compile(r"[ \t]*")

SPACES = " \t"
NEWLINES = "\r\n"
BLANKS = SPACES + NEWLINES


def decoded(source: bytes) -> str:
    """The text of a file. A byte order mark tells the encoding, each wrong byte becomes U+FFFD."""
    for mark, encoding in _UTF16_MARKS:
        if source.startswith(mark):
            return source[len(mark) :].decode(encoding, "replace")
    text = source.removeprefix(codecs.BOM_UTF8).decode("utf-8", "surrogateescape")
    return _ESCAPED_BYTE.sub("\ufffd", text)


def printable(line: str) -> str:
    """``line`` without the characters that values do not keep: all but tabs and what can be seen."""
    if line.isprintable():
        return line
    return "".join(character for character in line if character.isprintable() or character == "\t")


class Scanner:
    """A position in the text of a Modelfile."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._line_starts = [0, *(end.end() for end in _LINE_END.finditer(text))]
        self.counter = 1
        """Ollama's line number: CR and LF count one each, and a newline counts once it has been taken."""

    @property
    def at_end(self) -> bool:
        return self._at == len(self._text)

    @property
    def line(self) -> int:
        """The line of the position as an editor counts it."""
        return bisect_right(self._line_starts, self._at)

    def line_text(self, number: int) -> str:
        """The text of a line, for error messages."""
        start = self._line_starts[number - 1]
        return self._text[start:].splitlines()[0].strip()

    def take(self) -> str:
        """The next character; empty at the end."""
        if self.at_end:
            return ""
        character = self._text[self._at]
        self._at += 1
        if character in NEWLINES:
            self.counter += 1
        return character

    def take_line(self) -> str:
        """Everything in front of the next newline."""
        return self._match(_NOT_NEWLINES)

    def skip_spaces(self) -> None:
        self._match(_SPACES)

    def skip_between(self) -> bool:
        """Pass over blanks and comments; whether an instruction follows."""
        while not self.at_end:
            if self._text[self._at] == "#":
                self.take_line()
            elif self._text[self._at] in BLANKS:
                self.take()
            else:
                return True
        return False

    def _match(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self._text, self._at)
        assert match is not None  # the patterns match the empty string
        self._at = match.end()
        return match[0]
