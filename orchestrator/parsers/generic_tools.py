"""Calls as JSON objects behind the tag that a template writes them with.

Source: ``parsers`` §8.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from orchestrator.domain.chunks import ToolCall
from orchestrator.parsers.declared import DeclaredTools
from orchestrator.parsers.generic_calls import NAME_MEMBERS, calls_in, first_name
from orchestrator.parsers.json_steps import JsonObject, Remainder
from orchestrator.parsers.scripted import Script, ScriptedParser
from orchestrator.parsers.steps import Block, Opening, Step
from orchestrator.parsers.text import BLANK, NO_TAGS, Tags, trim

BRACE, BRACKET, FENCE = "{", "[", "```"

_ELEMENT = re.compile(r"<(?P<name>[^<>/\s|]+)>")
_FENCE_AT_END = re.compile(r"```\w*\s*\Z")


def tool_tag_token(tag: str) -> tuple[str, ...]:
    """The special token that a tag starts with, to be handed over as text; none for plain JSON."""
    if tag in ("", BRACE, BRACKET):
        return ()
    closing = {"[": "]", "<": ">"}.get(tag[0])
    end = tag.find(closing) if closing else -1
    return (tag[: end + 1] if end >= 0 else tag,)


def closing_form(tag: str) -> str:
    """``</x>`` for a tag ``<x>``, otherwise nothing."""
    element = _ELEMENT.fullmatch(tag)
    return f"</{element['name']}>" if element else ""


class GenericToolParser(ScriptedParser):
    """Calls behind a tag; or, where the tag is a bracket, an answer that begins with calls.

    Before the first call content is as it is, from then on it is trimmed.
    """

    def __init__(self, tag: str) -> None:
        self._tag = tag
        self._is_bare = tag in (BRACE, BRACKET)
        self._closing = "]" if tag == BRACKET else closing_form(tag)
        self._stops = NO_TAGS if self._is_bare else Tags(*filter(None, (tag, self._closing)))
        self._gap_end = Tags(BRACE, *(self._stops.all or ("]",)))

    def script(self) -> Script[None]:
        self.careful, self.keeps_end = False, True
        if not self._is_bare:
            yield from self.bare_calls()
            yield from self.tagged_calls()
            return
        if self._tag == BRACE:
            yield from self.bare_calls()
        else:
            yield (opening := Opening(BRACKET, after_blank=True))
            if opening.tag is None:
                return
            self.out.content.add(opening.blank)
            yield from self.block_of_calls("")
        if self.careful:
            yield self.content(NO_TAGS)

    def called(self, calls: Sequence[ToolCall]) -> None:
        """From the first call on, white space around content does not count."""
        self.careful, self.keeps_end = True, False
        self.drop_held()
        self.out.call(*calls)

    def bare_calls(self) -> Script[None]:
        """Objects at the beginning of the output, alone or in a list, as long as they are calls.

        Models write them so even where the template has a tag for calls (case B018).
        """
        brackets = (BRACE,) if self._tag.startswith(BRACKET) else (BRACE, BRACKET)
        yield (opening := Opening(*brackets, after_blank=True))
        brace, lead = opening.tag, ""
        if brace == BRACKET:
            yield (inner := Opening(BRACE, after_blank=True))
            brace, lead = inner.tag, BRACKET + inner.blank
        if self._tag == BRACE:
            self.out.content.add(opening.blank)
        else:
            lead = opening.blank + lead
        if brace is None:
            self.more_content(lead)
        while brace:
            if not (yield from self.object_outside(lead)):
                return
            yield (next_one := Opening(BRACE))
            brace, lead = next_one.tag, ""

    def object_outside(self, blank: str) -> Script[bool]:
        """An object that no tag belongs to. Gives whether it was a call."""
        yield (read := JsonObject(self._names_no_tool))
        calls = calls_in(read.found, self.tools) if read.found is not None else None
        if not calls:
            self.more_content(blank + read.text)
            return False
        self.called(calls)
        yield Closers(self._closing)
        return True

    def tagged_calls(self) -> Script[None]:
        """Content with tags in it, to the end. After the first call an object needs no tag."""
        while True:
            yield (text := self.content(Tags(self._tag, BRACE) if self.careful else Tags(self._tag)))
            if text.tag is None:
                return
            if text.tag == BRACE:
                yield from self.object_outside(text.blank)
                continue
            blank = text.blank
            while (yield from self.block_of_calls(blank)):
                blank = ""

    def block_of_calls(self, blank: str) -> Script[bool]:
        """What follows a tag, up to what closes it. Gives whether the tag came again.

        Without any call in it, it is text, from its tag on.
        """
        block = _Block(self._tag)
        while (stop := (yield from self.next_call(block))) == BRACE:
            yield (closers := Closers(self._closing, fence=block.fence_is_open))
            if closers.closes(self._tag):
                return False
        if block.has_called:
            self.more_content(trim(block.text))
        else:
            self.give_back(blank + self._tag + block.text + (self._closing if stop == self._closing else ""))
        return stop == self._tag

    def next_call(self, block: _Block) -> Script[str | None]:
        """Reads up to the next call of a block. Gives a brace if there is one, else what ended the block."""
        while True:
            yield (gap := Block(self._gap_end))
            block.add_gap(gap.text, self.tools)
            if gap.tag != BRACE:
                return gap.tag
            yield (read := JsonObject(resume_at=self._stops))
            if self.takes_call(read, block):
                return BRACE
            block.add(read.text)
            if read.depth:
                yield (rest := Remainder(read.depth, self._stops))
                block.add(rest.text)
                if rest.tag:
                    return rest.tag

    def takes_call(self, read: JsonObject, block: _Block) -> bool:
        """Whether an object is a call: by the names in it, or by a name before it; then it is taken."""
        if read.found is None:
            return False
        calls, by_name_before = calls_in(read.found, self.tools), False
        if calls is None and block.name:
            calls, by_name_before = [ToolCall(block.name, read.found)], True
        elif calls is None and not self._is_bare and (named := first_name(read.text, self.tools)):
            calls = [ToolCall(named[0], read.found)]
        if not calls:
            return False
        self.more_content(_without_openers(block.text_before_name if by_name_before else block.text))
        self.called(calls)
        block.begin_anew()
        return True

    def _names_no_tool(self, member: str, text: str) -> bool:
        return member in NAME_MEMBERS and text not in self.tools


class Closers(Step):
    """Drops what closes a call: brackets, commas, the closing form of the tag, the end of a fence."""

    def __init__(self, closing: str, *, fence: bool = False) -> None:
        self._closing = closing
        self._marks = Tags(*filter(None, ("]", ")", "}", ",", closing, FENCE if fence else "")))
        self._dropped: set[str] = set()
        self._partial = ""

    def take(self, text: str) -> str | None:
        text, at = self._partial + text, 0
        while at < len(text):
            mark = self._marks.match(text, at)
            if mark is None and text[at] not in BLANK:
                break
            self._dropped.update([mark.group()] if mark else ())
            at = mark.end() if mark else at + 1
        self._partial = text[at:]
        return None if self._marks.partial(self._partial) == len(self._partial) else self._partial

    def end(self) -> str:
        return ""

    def closes(self, tag: str) -> bool:
        """Whether what was dropped closes all that ``tag`` has opened."""
        return (
            self._closing in self._dropped
            or (tag.endswith(BRACKET) and "]" in self._dropped)
            or (FENCE in tag and FENCE in self._dropped)
        )


class _Block:
    """The text behind a tag, or behind the last call there."""

    def __init__(self, tag: str) -> None:
        self.name: str | None = None
        """The first name of a declared tool in the text outside objects."""
        self.has_called = False
        self.fence_is_open = bool(tag.count(FENCE) % 2)
        self._parts: list[str] = []
        self._length = self._name_at = 0

    @property
    def text(self) -> str:
        """All of it."""
        return "".join(self._parts)

    @property
    def text_before_name(self) -> str:
        """Up to the name."""
        return self.text[: self._name_at]

    def add(self, text: str) -> None:
        """Text of an object that is no call."""
        self._parts.append(text)
        self._length += len(text)

    def add_gap(self, text: str, tools: DeclaredTools) -> None:
        """Text before an object."""
        if self.name is None and (found := first_name(text, tools)):
            self.name, self._name_at = found[0], self._length + found[1]
        self.fence_is_open ^= bool(text.count(FENCE) % 2)
        self.add(text)

    def begin_anew(self) -> None:
        """A call has been found: the text begins behind it."""
        self.name, self.has_called = None, True
        self._parts.clear()
        self._length = 0


def _without_openers(text: str) -> str:
    """Text before a call without what opens the call: brackets, commas, a fence mark."""
    opener = BLANK + "[({,"
    return trim(_FENCE_AT_END.sub("", text.rstrip(opener)).rstrip(opener))
