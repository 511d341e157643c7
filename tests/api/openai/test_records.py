"""Streams and replies of one generation say the same, however it is cut."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.api.openai.answers import Answer, Costs, Form, Question
from orchestrator.api.openai.chat_records import ChatForm
from orchestrator.api.openai.identity import Identity
from orchestrator.api.openai.text_records import TextForm, logprob_columns
from orchestrator.domain.chunks import (
    Chunk,
    Done,
    DoneReason,
    Item,
    TokenLogprob,
    ToolCall,
    TopLogprob,
    Usage,
)
from orchestrator.inference.reply import Reply

LOGPROB = TokenLogprob("é", -0.5, (TopLogprob("é", -0.5), TopLogprob("e", -1.0)))
CALL = ToolCall("f", {"z": 1, "a": "ü"}, 0, "call_1")

chunks = st.lists(
    st.builds(
        Chunk,
        content=st.sampled_from(["", "a", "é\n", '"<&>"', "\0"]),
        thinking=st.sampled_from(["", "hm"]),
        tool_calls=st.sampled_from([(), (CALL,)]),
        logprobs=st.sampled_from([(), (LOGPROB,)]),
    ),
    max_size=6,
)
endings = st.builds(
    Done,
    reason=st.sampled_from([DoneReason.STOP, DoneReason.LENGTH]),
    usage=st.builds(Usage, prompt_tokens=st.integers(0, 9), completion_tokens=st.integers(0, 9)),
)


def never(index: int) -> AbstractAsyncContextManager[Reply]:
    raise AssertionError("nobody is asked")


def question(*, model: str = 'an "owl"', **members: Any) -> Question:
    return Question(identity=Identity("id-1", 7, model), open=never, include_usage=True, **members)


def records(stream: bytes) -> list[dict[str, Any]]:
    """The events of a stream that came to its end."""
    *events, end = stream.decode().removesuffix("\n\n").split("\n\n")
    assert end == "data: [DONE]"
    return [json.loads(event.removeprefix("data: ")) for event in events]


def batches(items: Sequence[Item], at: int) -> list[Sequence[Item]]:
    return [part for part in (items[:at], items[at:]) if part]


@given(chunks, endings, st.integers(0, 7))
def test_a_chat_is_the_fold_of_its_stream(said: list[Chunk], done: Done, at: int) -> None:
    items: list[Item] = [*said, done]
    whole = ChatForm().whole(question(), [Answer.of(items)])
    writer = ChatForm().events(question(), 0, Costs(1))
    *events, usage = records(b"".join(writer.encode(batch) for batch in batches(items, at)))
    assert usage["usage"] == whole["usage"]
    message = whole["choices"][0]["message"]
    deltas = [event["choices"][0]["delta"] for event in events]
    assert "".join(delta.get("content", "") for delta in deltas) == message["content"]
    assert "".join(delta.get("reasoning", "") for delta in deltas) == message.get("reasoning", "")
    assert [call for delta in deltas for call in delta.get("tool_calls", [])] == message.get("tool_calls", [])
    finishes = [event["choices"][0]["finish_reason"] for event in events]
    assert finishes[-1] == whole["choices"][0]["finish_reason"]
    assert set(finishes[:-1]) <= {None}
    assert [delta.get("role") for delta in deltas if "role" in delta] == ["assistant"]
    assert "role" in deltas[0]


@given(chunks, endings, st.integers(0, 7))
def test_a_completion_is_the_fold_of_its_stream(said: list[Chunk], done: Done, at: int) -> None:
    items: list[Item] = [*said, done]
    whole = TextForm().whole(question(), [Answer.of(items)])
    writer = TextForm().events(question(), 0, Costs(1))
    *events, usage = records(b"".join(writer.encode(batch) for batch in batches(items, at)))
    assert usage["usage"] == whole["usage"]
    choices = [event["choices"][0] for event in events]
    assert "".join(choice["text"] for choice in choices) == whole["choices"][0]["text"]
    assert choices[-1]["finish_reason"] == whole["choices"][0]["finish_reason"]
    columns = whole["choices"][0].get("logprobs", {"tokens": [], "text_offset": []})
    for column in ("tokens", "text_offset"):
        parts = [choice["logprobs"][column] for choice in choices if "logprobs" in choice]
        assert [entry for part in parts for entry in part] == columns[column]


def test_choices_come_in_any_order_and_share_the_prompt() -> None:
    done = Done(DoneReason.STOP, Usage(prompt_tokens=5, completion_tokens=2))
    for form in (ChatForm(), TextForm()):
        costs = Costs(2)
        first, second = (form.events(question(choices=2), index, costs) for index in range(2))
        parts = [second.encode([Chunk("x")]), first.encode([Chunk("x")])]
        parts += [second.encode([Chunk("x"), done]), first.encode([done])]
        events = records(b"".join(parts))
        finishes = {
            event["choices"][0]["index"]: event["choices"][0]["finish_reason"]
            for event in events
            if event["choices"]
        }
        assert finishes == {0: "stop", 1: "stop"}
        assert [event["choices"][0]["index"] for event in events[:2]] == [1, 0]
        whole = form.whole(question(choices=2), [Answer.of([Chunk("x"), done])] * 2)
        assert [choice["index"] for choice in whole["choices"]] == [0, 1]
        usage = {"prompt_tokens": 5, "completion_tokens": 4, "total_tokens": 9}
        assert events[-1]["usage"] == whole["usage"] == usage


def test_columns_of_log_probabilities_know_where_tokens_stand() -> None:
    assert logprob_columns([LOGPROB, TokenLogprob("ab", -1.0)], 3) == {
        "tokens": ["é", "ab"],
        "token_logprobs": [-0.5, -1.0],
        "top_logprobs": [{"é": -0.5, "e": -1.0}, {}],
        "text_offset": [3, 4],
    }


def test_the_prompt_that_is_told_again_counts_where_tokens_stand() -> None:
    asked = question(echo=(Chunk("abc"),))
    batch: list[Item] = [*asked.echo, Chunk("é", logprobs=(LOGPROB,)), Done(DoneReason.STOP)]
    events = records(TextForm().events(asked, 0, Costs(1)).encode(batch))
    whole = TextForm().whole(asked, [Answer.of(batch)])
    assert events[1]["choices"][0]["logprobs"]["text_offset"] == [3]
    assert whole["choices"][0]["logprobs"]["text_offset"] == [3]


def test_our_own_members_stand_at_the_end() -> None:
    writer = ChatForm().events(question(warnings=("careful",)), 0, Costs(1))
    events = records(writer.encode([Chunk("x"), Done(DoneReason.STOP)]))
    assert [event.get("warnings") for event in events] == [None, ["careful"], None]
    whole = ChatForm().whole(question(warnings=("careful",)), [Answer.of([Done(DoneReason.STOP)])])
    assert whole["warnings"] == ["careful"]


@pytest.mark.parametrize("model", ["\0", 'a"\0"b', "\0text\0", "\u2028", "\ud7ff", "\\u0000"])
@pytest.mark.parametrize("form", [ChatForm(), TextForm()])
def test_a_model_may_be_called_anything(model: str, form: Form) -> None:
    writer = form.events(question(model=model), 0, Costs(1))
    stream = writer.encode([Chunk("a"), Chunk("\0"), Chunk("c"), Done(DoneReason.STOP)])
    told = records(stream)
    assert {record["model"] for record in told} == {model}
    texts = [
        choice.get("delta", {}).get("content") or choice.get("text") or ""
        for record in told
        for choice in record["choices"]
    ]
    assert "".join(texts) == "a\0c"
