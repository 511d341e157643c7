"""A stream as one chunk and its end."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.chunks import Chunk, Done, DoneReason, TokenLogprob, ToolCall, Usage, folded

CALLS = st.lists(st.builds(ToolCall, st.text(max_size=3), st.just({})), max_size=2).map(tuple)
LOGPROBS = st.lists(st.builds(TokenLogprob, st.text(max_size=3), st.just(-0.5)), max_size=2).map(tuple)
CHUNKS = st.lists(st.builds(Chunk, st.text(max_size=3), st.text(max_size=3), CALLS, LOGPROBS), max_size=6)


@given(CHUNKS)
def test_what_is_folded_has_every_part_in_order(chunks: list[Chunk]) -> None:
    done = Done(DoneReason.LENGTH, Usage(completion_tokens=len(chunks)))
    whole, end = folded([*chunks, done])
    assert end == done
    assert list(whole.content) == [letter for chunk in chunks for letter in chunk.content]
    assert list(whole.thinking) == [letter for chunk in chunks for letter in chunk.thinking]
    assert list(whole.tool_calls) == [call for chunk in chunks for call in chunk.tool_calls]
    assert list(whole.logprobs) == [entry for chunk in chunks for entry in chunk.logprobs]


@given(CHUNKS, st.integers(0, 6))
def test_folding_a_part_first_makes_no_difference(chunks: list[Chunk], place: int) -> None:
    first, _ = folded(chunks[:place])
    assert folded([first, *chunks[place:]]) == folded(chunks)


def test_a_stream_without_an_end_just_stopped() -> None:
    assert folded([]) == (Chunk(), Done(DoneReason.STOP))
