"""Thoughts in which their own tags are quoted."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.parsers.output import Output
from orchestrator.parsers.steps import Thought
from orchestrator.parsers.text import Tags

END = "</think>"


def read(pieces: Sequence[str]) -> tuple[str, str]:
    """The thought in a text, and what comes after it."""
    out = Output()
    thought = Thought(out.thinking, Tags(END))
    rest = []
    for piece in pieces:
        if thought.tag is not None:
            rest.append(piece)
        elif (left := thought.take(piece)) is not None:
            rest.append(left)
    if thought.tag is None:
        rest.append(thought.end())
    return out.take().thinking, "".join(rest)


# case B050
@pytest.mark.parametrize(
    ("text", "thought", "rest"),
    [
        ("a</think>b", "a", "b"),
        ("the `</think>` tag</think>b", "the `</think>` tag", "b"),
        ("`<think></think>` both</think>b", "`<think></think>` both", "b"),
        ("`</think>``</think>` </think>b", "`", "``</think>` </think>b"),
        ("see `code`</think>`x`", "see `code`", "`x`"),
        ("```\nx\n```</think>```html", "```\nx\n```", "```html"),
        ("a stray ` here\nand</think>`x`", "a stray ` here\nand", "`x`"),
        ("a stray ` here</think> answer", "a stray ` here", " answer"),
        ("the `</think>` tag", "the `</think>` tag", ""),
        ("the `</think>`", "the `</think>`", ""),
        ("the `</think>", "the `", ""),
        ("cut in the </thi", "cut in the </thi", ""),
        ("``</think>`` x", "``", "`` x"),
    ],
)
def test_a_tag_between_single_back_ticks_is_text(text: str, thought: str, rest: str) -> None:
    assert read([text]) == (thought, rest)
    assert read(list(text)) == (thought, rest)


@given(st.lists(st.sampled_from(["`", "``", END, "</th", "ink>", "\n", "x", " "]), max_size=14), st.data())
def test_any_cut_reads_alike_and_nothing_is_lost(parts: list[str], data: st.DataObject) -> None:
    text = "".join(parts)
    cuts = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=6)))
    pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    thought, rest = read([text])
    assert read([piece for piece in pieces if piece]) == (thought, rest) if text else True
    assert text in (thought + rest, thought + END + rest)
