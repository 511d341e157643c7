"""Reading a JSON object piece by piece: where it ends, and where it turns out to be none."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from typing import Any

from orchestrator.parsers.json_text import DEEPEST, NotJson, json_object, value
from orchestrator.parsers.steps import Step
from orchestrator.parsers.text import NO_TAGS, Tags

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

    Numbers, words and escapes are followed loosely: whoever wants to be sure reads the text once it is closed.
    """

    def __init__(self, watched: Collection[str] = ()) -> None:
        self.closed = False
        self.broken = False
        """Whether a character came that no JSON object can have there."""
        self.members: dict[str, str] = {}
        """Those of the ``watched`` members of the outermost object that are strings, as far as they were read."""
        self._watched = watched
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
        """Follow ``text``. Gives how much of it was read: all, or up to where the object is closed or broken."""
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
        if self._watched and len(self._stack) == 1:
            self._string.append(text[start:end])
        return end

    def _end_string(self) -> None:
        self._in_string = False
        text, self._string = "".join(self._string), []
        if self._expected == _COLON:
            self._key = text
        elif len(self._stack) == 1 and self._key in self._watched:
            try:
                self.members[self._key] = value(f'"{text}"')
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


class JsonObject(Step):
    """Reads a JSON object whose opening brace has come.

    It ends early where the text can no longer be an object, or not a wanted one, as ``hopeless`` says. If the output
    ends first, what was read reaches only to the first of the tags ``resume_at``, and the rest is left to read.
    """

    def __init__(
        self,
        watched: Collection[str] = (),
        hopeless: Callable[[ObjectScanner], bool] = lambda scanner: False,
        resume_at: Tags = NO_TAGS,
    ) -> None:
        self.text = "{"
        """What was read, the opening brace included."""
        self.found: dict[str, Any] | None = None
        """The object, if it was complete and valid."""
        self._parts = ["{"]
        self._scanner = ObjectScanner(watched)
        self._scanner.feed("{")
        self._hopeless = hopeless
        self._resume_at = resume_at

    @property
    def depth(self) -> int:
        """How many braces are still open."""
        return self._scanner.depth

    def take(self, text: str) -> str | None:
        read = self._scanner.feed(text)
        self._parts.append(text[:read])
        if self._scanner.closed:
            self.text = "".join(self._parts)
            self.found = json_object(self.text)
        elif self._scanner.broken or self._hopeless(self._scanner):
            self.text = "".join(self._parts)
        else:
            return None
        return text[read:]

    def end(self) -> str:
        text = "".join(self._parts)
        resume = self._resume_at.search(text)
        self.text = text[: resume.start()] if resume else text
        return text[len(self.text) :]


class Remainder(Step):
    """Reads the rest of an object that is none: until ``depth`` more braces are closed than opened, or a tag comes.

    What looks like a string may be no string here, so quotes mean nothing.
    """

    def __init__(self, depth: int, tags: Tags) -> None:
        self.text = ""
        self.tag: str | None = None
        """The tag, if one came; it is not part of the text."""
        self._depth = depth
        self._marks = Tags("{", "}", *tags.all)
        self._parts: list[str] = []
        self._partial = ""

    def take(self, text: str) -> str | None:
        text = self._partial + text
        for mark in self._marks.finditer(text):
            if mark.group() not in "{}":
                self.tag = mark.group()
                return self._found(text, mark.start(), mark.end())
            self._depth += 1 if mark.group() == "{" else -1
            if not self._depth:
                return self._found(text, mark.end(), mark.end())
        cut = len(text) - self._marks.partial(text)
        self._parts.append(text[:cut])
        self._partial = text[cut:]
        return None

    def end(self) -> str:
        self.text = "".join((*self._parts, self._partial))
        return ""

    def _found(self, text: str, end: int, rest: int) -> str:
        self.text = "".join((*self._parts, text[:end]))
        return text[rest:]


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
