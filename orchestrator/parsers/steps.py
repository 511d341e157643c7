"""The steps parsers are made of. Each reads text piece by piece until it has found what it was made for.

A step looks at every character a bounded number of times, however the text is cut, and holds back no more
than it must. It keeps what it found in its attributes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from orchestrator.parsers.output import Sink
from orchestrator.parsers.text import BLANK, NO_TAGS, Tags

_TICK = "`"
_TICKS_AND_LINES = re.compile("`+|\n|[^`\n]+")


class Step:
    """Reads text until it has found out what it was made for."""

    idle = False
    """Whether nothing is held back, so that ordinary text passes through ``sink`` as it is."""
    careful = False
    """Whether text that ends in white space is not ordinary."""
    sink: Sink
    stirs: Callable[[str], Any]
    """Whether text is not ordinary for what is in it."""

    def take(self, text: str) -> str | None:
        """Read ``text``. ``None`` asks for more; otherwise the step is over and this much left to read."""
        raise NotImplementedError

    def end(self) -> str:
        """The output has ended: settle. Returns text that the next step shall read."""
        raise NotImplementedError


class Flow(Step):
    """Lets text flow into a sink until a tag comes.

    What may be the beginning of a tag is held back. A *careful* flow also holds back white space until other
    text follows it; before a tag it does not flow, but is kept in ``blank`` for whoever handles the tag.
    At the end of the output white space flows if ``keeps_end``, or if the beginning of a tag follows it.
    ``held`` is white space held back from the start.
    """

    def __init__(
        self,
        sink: Sink,
        tags: Tags = NO_TAGS,
        *,
        careful: bool = False,
        keeps_end: bool = True,
        held: str = "",
    ) -> None:
        self.sink = sink
        self.tag: str | None = None
        """The tag that came; ``None`` if the output ended."""
        self.blank = ""
        self._tags = tags
        self.careful = careful
        self._keeps_end = keeps_end
        self._held = [held] if held else []
        self._partial = ""
        self.idle = not held
        self.stirs = tags.stirs

    def take(self, text: str) -> str | None:
        if self._partial:
            text = self._partial + text
        elif not self.stirs(text):
            self._pass(text)
            self.idle = not self._held
            return None
        if match := self._tags.search(text):
            self._pass(text[: match.start()])
            self.tag, self.blank = match.group(), "".join(self._held)
            return text[match.end() :]
        cut = len(text) - self._tags.partial(text)
        self._pass(text[:cut])
        self._partial = text[cut:]
        self.idle = not (self._partial or self._held)
        return None

    def end(self) -> str:
        held = "".join((*self._held, self._partial))
        if held and (self._partial or self._keeps_end):
            self.sink.add(held)
        return ""

    def _pass(self, text: str) -> None:
        body = text.rstrip(BLANK) if self.careful and text[-1:].isspace() else text
        if body:
            if self._held:
                self.sink.add("".join(self._held))
                self._held.clear()
            self.sink.add(body)
        if len(body) < len(text):
            self._held.append(text[len(body) :])


class Thought(Flow):
    """Lets a thought flow until a tag comes that is not quoted.

    A model that thinks about its own tags writes them as code: a tag counts as quoted within a pair of single
    back-ticks on one line, the second of them right behind the tag (case B050).
    """

    def __init__(
        self, sink: Sink, tags: Tags = NO_TAGS, *, careful: bool = False, keeps_end: bool = True
    ) -> None:
        super().__init__(sink, tags, careful=careful, keeps_end=keeps_end)
        self.stirs = Tags(_TICK, *tags.all).stirs
        self._code = _InlineCode()

    def take(self, text: str) -> str | None:
        text, self._partial = self._partial + text, ""
        at = 0
        while match := self._tags.search(text, at):
            self._flow(text[at : match.start()])
            if self._code.is_open:
                behind = text[match.end() : match.end() + 2]
                if behind in ("", _TICK):
                    self._partial, self.idle = text[match.start() :], False
                    return None
                if behind[0] == _TICK != behind[1]:
                    self._flow(match.group())
                    at = match.end()
                    continue
            self.tag, self.blank = match.group(), "".join(self._held)
            return text[match.end() :]
        cut = len(text) - self._tags.partial(text[at:])
        self._flow(text[at:cut])
        self._partial = text[cut:]
        self.idle = not (self._partial or self._held or self._code.is_open or self._code.is_unclear)
        return None

    def end(self) -> str:
        match = self._tags.match(self._partial)
        if match is None or match.end() < len(self._partial):
            return super().end()
        self.tag, self.blank = match.group(), "".join(self._held)
        return ""

    def _flow(self, text: str) -> None:
        self._code.see(text)
        self._pass(text)


class _InlineCode:
    """Whether a text is within code between single back-ticks, as far as it was seen."""

    def __init__(self) -> None:
        self._is_open = False
        self._run = 0

    @property
    def is_open(self) -> bool:
        """Whether the next character would be code."""
        return self._is_open != (self._run == 1)

    @property
    def is_unclear(self) -> bool:
        """Whether more back-ticks would change what the last ones mean."""
        return self._run > 0

    def see(self, text: str) -> None:
        """Go on over ``text``."""
        if not (self._is_open or self._run or _TICK in text):
            return
        for part in _TICKS_AND_LINES.findall(text):
            if part[0] == _TICK:
                self._run += len(part)
                continue
            self._is_open = self.is_open and part[0] != "\n"
            self._run = 0


class Opening(Step):
    """Looks whether the text goes on with one of ``tags``, the longest that fits; if not, it reads nothing.

    With ``after_blank`` white space may stand before the tag.
    """

    def __init__(self, *tags: str, after_blank: bool = False) -> None:
        self.tag: str | None = None
        """The tag that came, if one did."""
        self.blank = ""
        """The white space before it."""
        self.ended = False
        """Whether the output ended before this could be seen from other text."""
        self._tags = sorted(tags, key=len, reverse=True)
        self._skips = after_blank
        self._skipped: list[str] = []
        self._head = ""

    def take(self, text: str) -> str | None:
        if self._skips and not self._head:
            rest = text.lstrip(BLANK)
            self._skipped.append(text[: len(text) - len(rest)])
            text = rest
        self._head += text
        if not self._head or any(tag.startswith(self._head) and tag != self._head for tag in self._tags):
            return None
        return self._settle()

    def end(self) -> str:
        self.ended = True
        return self._settle()

    def _settle(self) -> str:
        skipped = "".join(self._skipped)
        self.tag = next((tag for tag in self._tags if self._head.startswith(tag)), None)
        if self.tag is None:
            return skipped + self._head
        self.blank = skipped
        return self._head[len(self.tag) :]


class SkipBlank(Step):
    """Drops white space."""

    def take(self, text: str) -> str | None:
        return text.lstrip(BLANK) or None

    def end(self) -> str:
        return ""


class Block(Step):
    """Collects text up to a closing tag."""

    def __init__(self, closing: Tags, *, limit: int | None = None) -> None:
        self.text = ""
        self.tag: str | None = None
        """The closing tag that came; ``None`` if the output ended, or the tag is beyond the limit."""
        self.overlong = False
        """Whether more than ``limit`` characters came without a closing tag; all of them are left to read."""
        self._closing = closing
        self._limit = limit
        self._parts: list[str] = []
        self._length = 0
        self._partial = ""

    def take(self, text: str) -> str | None:
        text = self._partial + text
        match = self._closing.search(text)
        cut = match.start() if match else len(text) - self._closing.partial(text)
        self._length += cut
        if self._limit is not None and self._length > self._limit:
            self.overlong = True
            return "".join((*self._parts, text))
        self._parts.append(text[:cut])
        if match is None:
            self._partial = text[cut:]
            return None
        self.text, self.tag = "".join(self._parts), match.group()
        return text[match.end() :]

    def end(self) -> str:
        self.text = "".join((*self._parts, self._partial))
        return ""
