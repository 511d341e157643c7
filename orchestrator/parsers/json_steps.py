"""Steps that read JSON objects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from orchestrator.parsers.json_scan import ObjectScanner
from orchestrator.parsers.json_text import json_object
from orchestrator.parsers.steps import Step
from orchestrator.parsers.text import NO_TAGS, Tags


class JsonObject(Step):
    """Reads a JSON object whose opening brace has come.

    It ends early where the text can no longer be an object, or has a member whose text ``refuses`` refuses.
    If the output ends first, it reaches to the first of the tags ``resume_at``; the rest is left to read.
    """

    def __init__(
        self,
        refuses: Callable[[str, str], bool] | None = None,
        resume_at: Tags = NO_TAGS,
    ) -> None:
        self.text = "{"
        """What was read, the opening brace included."""
        self.found: dict[str, Any] | None = None
        """The object, if it was complete and valid."""
        self._parts = ["{"]
        self._scanner = ObjectScanner(refuses)
        self._scanner.feed("{")
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
        elif self._scanner.broken:
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
    """Reads the rest of what is no object: until ``depth`` more braces are closed than opened, or a tag.

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
