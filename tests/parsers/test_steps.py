"""The steps parsers are made of: each gives the same however the text is cut."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from orchestrator.parsers.output import Output
from orchestrator.parsers.steps import Block, Flow, Opening, SkipBlank, Step
from orchestrator.parsers.text import Tags

TAGS = Tags("<a>", "</a>")


def cuts(text: str) -> Iterator[list[str]]:
    """``text`` whole, in characters, and in two pieces cut at every place."""
    yield [text]
    yield list(text)
    yield from ([text[:at], text[at:]] for at in range(1, len(text)))


def run(step: Step, pieces: list[str]) -> str:
    """Feed a step to its end. Gives what it left unread."""
    for number, piece in enumerate(pieces):
        left = step.take(piece)
        if left is not None:
            return left + "".join(pieces[number + 1 :])
    return step.end()


@pytest.mark.parametrize(
    ("text", "careful", "keeps_end", "flows", "tag", "blank", "left"),
    [
        ("x <a> y", False, True, "x ", "<a>", "", " y"),
        ("x <a> y", True, True, "x", "<a>", " ", " y"),
        ("x </a", True, False, "x </a", None, "", ""),
        ("x <b \n", True, False, "x <b", None, "", ""),
        ("x <b \n", True, True, "x <b \n", None, "", ""),
        (" \n <a>", True, True, "", "<a>", " \n ", ""),
        (" \n ", True, False, "", None, "", ""),
        ("<<a>>", False, True, "<", "<a>", "", ">"),
    ],
)
def test_text_flows_up_to_a_tag(
    text: str, careful: bool, keeps_end: bool, flows: str, tag: str | None, blank: str, left: str
) -> None:
    for pieces in cuts(text):
        out = Output()
        step = Flow(out.content, TAGS, careful=careful, keeps_end=keeps_end)
        assert run(step, pieces) == left
        assert (out.take().content, step.tag, step.blank) == (flows, tag, blank)


def test_held_white_space_flows_with_the_text_that_follows() -> None:
    out = Output()
    run(Flow(out.content, TAGS, careful=True, held="\n"), ["x"])
    assert out.take().content == "\nx"


@pytest.mark.parametrize(
    ("text", "tag", "blank", "left"),
    [
        (" <think>x", "<think>", " ", "x"),
        ("<think>ing", "<think>ing", "", ""),
        ("<thin air", None, "", "<thin air"),
        (" \n", None, "", " \n"),
        ("  <thi", None, "", "  <thi"),
    ],
)
def test_an_opening_is_read_only_if_it_is_there(text: str, tag: str | None, blank: str, left: str) -> None:
    for pieces in cuts(text):
        step = Opening("<think>", "<think>ing", after_blank=True)
        assert run(step, pieces) == left
        assert (step.tag, step.blank) == (tag, blank)


def test_without_leave_no_white_space_stands_before_an_opening() -> None:
    assert run(Opening("<think>"), [" <think>"]) == " <think>"


def test_white_space_is_skipped_over_pieces() -> None:
    for pieces in cuts(" \n\u3000x "):
        assert run(SkipBlank(), pieces) == "x "


def test_a_block_ends_at_its_tag_or_with_the_output() -> None:
    for pieces in cuts("x <a </a> y"):
        block = Block(TAGS)
        assert run(block, pieces) == " y"
        assert (block.text, block.tag) == ("x <a ", "</a>")
    for pieces in cuts("x </"):
        block = Block(TAGS)
        assert run(block, pieces) == ""
        assert (block.text, block.tag) == ("x </", None)


def test_a_block_beyond_its_limit_is_left_to_read() -> None:
    for text, overlong in (("12345<a>", False), ("123456<a>", True), ("123456", True), ("12345</", False)):
        for pieces in cuts(text):
            block = Block(TAGS, limit=5)
            left = run(block, pieces)
            assert (left == text, block.overlong) == (overlong, overlong)


@pytest.mark.parametrize("make", [SkipBlank, lambda: Block(TAGS), lambda: Opening("<a>", after_blank=True)])
def test_a_step_that_reads_nothing_ends_with_nothing(make: Callable[[], Step]) -> None:
    assert run(make(), []) == ""
