"""Parsers written as scripts: a generator says which step reads next, the class here feeds the steps."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Generator, Sequence
from typing import TypeVar

from orchestrator.domain.chunks import ToolCall
from orchestrator.domain.requests import Message
from orchestrator.domain.think import Think
from orchestrator.domain.tools import Tool
from orchestrator.parsers.base import Parsed
from orchestrator.parsers.declared import DeclaredTools
from orchestrator.parsers.output import Output, Sink
from orchestrator.parsers.steps import Block, Flow, Opening, SkipBlank, Step, Thought
from orchestrator.parsers.text import BLANK, NO_TAGS, Tags

logger = logging.getLogger(__name__)

T = TypeVar("T")
Script = Generator[Step, None, T]
"""What a model writes, in its order: yields the step that reads next, then looks at what that found."""

Reading = Callable[[str, bool], Collection[ToolCall]]
"""Reads the text of a block; the second argument says whether its closing tag came. No calls: it is text."""

_PIECE = 4096
"""A long text is read in pieces, so that a step which leaves much to the next one costs no more than that."""


class ScriptedParser:
    """A parser whose course is ``script``."""

    preserved_tokens: tuple[str, ...] = ()
    careful = True
    """Whether white space of the content waits for other text to follow, and is dropped before tags."""
    keeps_end = False
    """Whether white space at the end of the output is content."""

    def start(
        self, tools: Sequence[Tool], last_message: Message | None, think: Think | None
    ) -> tuple[Tool, ...]:
        """Prepare for one output. Returns the tools as the prompt shall name them."""
        self.tools = DeclaredTools(tools)
        self.think = think
        self.last_message = last_message
        self.out = Output()
        self._held = ""
        self._has_warned = False
        self.is_over = False
        """Whether the script has come to its end: all that follows is content as it is."""
        self._script = self.script()
        self._step = self._next_step()
        return tuple(tools)

    def script(self) -> Script[None]:
        """The course of one output. Where it returns before the end, all that follows is content."""
        raise NotImplementedError

    def feed(self, text: str) -> Parsed:
        """Take the next piece of output."""
        step = self._step
        if step.idle and text and not step.stirs(text) and not (step.careful and text[-1].isspace()):
            return step.sink.passed(text)
        self._read(text)
        return self.out.take()

    def close(self) -> Parsed:
        """The output has ended: give what was held back."""
        left = self._step.end()
        while (step := next(self._script, None)) is not None:
            self._step = step
            self._read(left)
            left = self._step.end()
        if left:
            self.out.content.add(left)
        self._step = self.all_content()
        return self.out.take()

    def _read(self, text: str) -> None:
        unread = _pieces(text)
        while unread:
            left = self._step.take(unread.pop())
            if left is not None:
                self._step = self._next_step()
                unread += _pieces(left)

    def _next_step(self) -> Step:
        step = next(self._script, None)
        self.is_over = step is None
        return step or self.all_content()

    # what scripts look at

    @property
    def prefilled(self) -> bool:
        """Whether the prompt ends within an answer, which the output continues."""
        last = self.last_message
        return last is not None and last.role == "assistant" and bool(last.content)

    @property
    def think_is_on(self) -> bool:
        """Whether the client asked for thinking."""
        return self.think is not None and self.think.on

    @property
    def think_is_off(self) -> bool:
        """Whether the client asked for no thinking; neither on nor off leaves it to the model."""
        return self.think is not None and not self.think.on

    # what scripts are made of

    def all_content(self) -> Flow:
        """Content as it is, to the end."""
        return Flow(self.out.content, NO_TAGS)

    def content(self, tags: Tags) -> Flow:
        """Content up to a tag."""
        held, self._held = self._held, ""
        return Flow(self.out.content, tags, careful=self.careful, keeps_end=self.keeps_end, held=held)

    def thinking(self, tags: Tags, sink: Sink | None = None) -> Thought:
        """Thinking up to a tag that is not quoted, without the white space around it."""
        return Thought(sink or self.out.thinking, tags, careful=True, keeps_end=False)

    def drop_opening(self, tag: str) -> Script[bool]:
        """Drop ``tag`` at this place, and white space around it. Gives whether it was there."""
        yield (opening := Opening(tag, after_blank=True))
        if opening.tag:
            yield SkipBlank()
        return opening.tag is not None

    def block(self, opening: str, blank: str, closing: Tags, read: Reading) -> Script[bool]:
        """A block of calls, whose ``opening`` has come after ``blank``. Gives whether it held calls.

        If not, it is text like any other, and so is the white space around it.
        """
        yield (block := Block(closing))
        if calls := self.calls_of(block, closing, read):
            self.out.call(*calls)
            return True
        self.give_back(blank + opening + block.text + (block.tag or ""))
        return False

    def calls_of(self, block: Block, closing: Tags, read: Reading) -> Collection[ToolCall]:
        """The calls in a block. An unfinished one counts if nothing but its closing tag is missing."""
        if block.tag is not None:
            return read(block.text, True)
        calls = read(closing.without_partial(block.text), False)
        return calls if all(map(self.tools.has_required, calls)) else ()

    def blocks(self, opening: str, closing: Tags, read: Reading, *, opened: bool = False) -> Script[None]:
        """Content with blocks of calls in it, to the end. Careful content has no white space after a call.

        With ``opened`` a block has been opened already.
        """
        tags, blank = Tags(opening), ""
        while True:
            if not opened:
                yield (text := self.content(tags))
                if text.tag is None:
                    return
                blank = text.blank
            opened = False
            is_call = yield from self.block(opening, blank, closing, read)
            if is_call and self.careful:
                yield SkipBlank()

    def give_back(self, text: str) -> None:
        """Text that looked like a call is content, and what comes after it goes on as such."""
        if not self._has_warned:
            logger.warning("a tool call could not be read, its text is content", extra={"length": len(text)})
            self._has_warned = True
        self.more_content(text)

    def more_content(self, text: str) -> None:
        """Content that was held back; its white space is treated as that of any other."""
        body = text.rstrip(BLANK) if self.careful else text
        if body:
            self.out.content.add(self._held + body)
            self._held = ""
        self.hold(text[len(body) :])

    def hold(self, blank: str) -> None:
        """White space before the content that comes next; it is treated as if it belonged to it."""
        self._held += blank

    def drop_held(self) -> None:
        """A call comes next: white space before it is no content."""
        self._held = ""


def _pieces(text: str) -> list[str]:
    """``text`` in pieces, the first one last; none of no text."""
    if 0 < len(text) <= _PIECE:
        return [text]
    return [text[start : start + _PIECE] for start in reversed(range(0, len(text), _PIECE))]
