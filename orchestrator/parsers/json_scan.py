"""Where JSON objects in a text end, and where they turn out to be none."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from orchestrator.parsers.json_text import DEEPEST, NotJson, value

_IN_STRING = re.compile(r'[^"\\\x00-\x1f]*')
_SCALAR = re.compile(r"[+\-.0-9A-Za-z]*")
_SCALAR_START = frozenset("-0123456789tfn")
_ESCAPABLE = frozenset('"\\/bfnrtu')
_CLOSING = {"{": "}", "[": "]"}
_WHOLE_STRING_OR_BRACE = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\Z)|[{}]', re.DOTALL)

_KEY, _KEY_OR_END, _COLON, _VALUE, _VALUE_OR_END, _MORE_OR_END = range(6)
"""What may come next."""


class ObjectScanner:
    """Follows the text of one JSON object, character by character of its structure.

    Numbers, words and escapes are followed loosely: to be sure, read the text once it is closed.
    """

    def __init__(self, refuses: Callable[[str, str], bool] | None = None) -> None:
        self.closed = False
        self.broken = False
        """Whether text came that no JSON object can have there, or a refused member."""
        self._refuses = refuses
        """Whether the outermost object is none that is wanted if it has this text as this member."""
        self._stack: list[str] = []
        self._expected = _VALUE
        self._in_string = self._escaped = self._in_scalar = False
        self._string: list[str] = []
        self._key = ""

    @property
    def depth(self) -> int:
        """How many braces are open."""
        return self._stack.count("{")

    def feed(self, text: str) -> int:
        """Follow ``text``. Gives how much was read: all, or up to where the object is closed or broken."""
        at = 0
        while at < len(text) and not (self.closed or self.broken):
            if self._in_string:
                at = self._follow_string(text, at)
            elif self._in_scalar:
                at = _SCALAR.match(text, at).end()  # type: ignore[union-attr]
                self._in_scalar = at == len(text)
            else:
                at = self._follow_structure(text[at], at)
        return at

    def _follow_string(self, text: str, at: int) -> int:
        if self._escaped:
            self._escaped = False
            self.broken = text[at] not in _ESCAPABLE
            return at if self.broken else self._note(text, at, at + 1)
        end = self._note(text, at, _IN_STRING.match(text, at).end())  # type: ignore[union-attr]
        if end == len(text):
            return end
        if text[end] == '"':
            self._end_string()
        elif text[end] == "\\":
            self._escaped = True
            self._note(text, end, end + 1)
        else:
            self.broken = True
            return end
        return end + 1

    def _note(self, text: str, start: int, end: int) -> int:
        """Remember a part of a string, if it may matter. Gives its end."""
        if self._refuses and len(self._stack) == 1:
            self._string.append(text[start:end])
        return end

    def _end_string(self) -> None:
        self._in_string = False
        text, self._string = "".join(self._string), []
        if self._expected == _COLON:
            self._key = text
        elif self._refuses and len(self._stack) == 1:
            try:
                self.broken = self._refuses(self._key, value(f'"{text}"'))
            except NotJson:
                self.broken = True

    def _follow_structure(self, char: str, at: int) -> int:
        expected = self._expected
        if char in " \t\r\n":
            pass
        elif char == '"' and expected not in (_COLON, _MORE_OR_END):
            self._in_string = True
            self._expected = _COLON if expected in (_KEY, _KEY_OR_END) else _MORE_OR_END
        elif char == ":" and expected == _COLON:
            self._expected = _VALUE
        elif char == "," and expected == _MORE_OR_END:
            self._expected = _KEY if self._stack[-1] == "{" else _VALUE
        elif char in "{[" and expected in (_VALUE, _VALUE_OR_END) and self._may_open(char):
            self._stack.append(char)
            self._expected = _KEY_OR_END if char == "{" else _VALUE_OR_END
        elif self._stack and char == _CLOSING[self._stack[-1]] and expected in self._ends():
            self._stack.pop()
            self._expected = _MORE_OR_END
            self.closed = not self._stack
        elif char in _SCALAR_START and expected in (_VALUE, _VALUE_OR_END) and self._stack:
            self._in_scalar = True
            self._expected = _MORE_OR_END
        else:
            self.broken = True
            return at
        return at + 1

    def _may_open(self, char: str) -> bool:
        return len(self._stack) < DEEPEST if self._stack else char == "{"

    def _ends(self) -> tuple[int, int]:
        return (_MORE_OR_END, _KEY_OR_END if self._stack[-1] == "{" else _VALUE_OR_END)


def balanced_objects(text: str) -> Iterator[str]:
    """The outermost ``{…}`` in ``text``, one after the other; braces in strings do not count."""
    depth = start = 0
    for match in _WHOLE_STRING_OR_BRACE.finditer(text):
        if match.group() == "{":
            if depth == 0:
                start = match.start()
            depth += 1
        elif match.group() == "}" and depth:
            depth -= 1
            if depth == 0:
                yield text[start : match.end()]
