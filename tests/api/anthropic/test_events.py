"""Events beyond those recorded, and what they have in common with replies in one piece."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.api.anthropic.events import PING, Events
from orchestrator.api.anthropic.message import MessageFrame, signature
from orchestrator.api.anthropic.whole import whole_message
from orchestrator.domain.chunks import Batches, Chunk, Done, DoneReason, Item, StopDetail, ToolCall, Usage
from orchestrator.inference.reply import Generation, Overflow

FRAME = MessageFrame(model="m", stops=("HALT",), signed=True)
END = Done(DoneReason.STOP, Usage(prompt_tokens=9, cached_tokens=4, completion_tokens=2))
CALL = ToolCall("f", {"a": [1, {"b": "é"}]}, 0, "c1")


def events(batches: Sequence[Sequence[Item]], frame: MessageFrame = FRAME) -> list[dict[str, Any]]:
    writer = Events(frame)
    return list(parsed(b"".join(map(writer.encode, batches))))


def parsed(text: bytes) -> Iterator[dict[str, Any]]:
    for event in text.decode().split("\n\n")[:-1]:
        name, data = event.split("\n")
        value = json.loads(data.removeprefix("data: "))
        assert name == f"event: {value['type']}"
        yield value


def folded(told: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The message that a client makes of events, as the API's own clients do it."""
    message: dict[str, Any] = {}
    for event in told:
        match event:
            case {"type": "message_start"}:
                message = event["message"]
            case {"type": "content_block_start"}:
                assert event["index"] == len(message["content"])
                message["content"].append(dict(event["content_block"]))
            case {"type": "content_block_delta", "delta": {"type": "input_json_delta", "partial_json": text}}:
                message["content"][event["index"]]["input"] = json.loads(text)
            case {"type": "content_block_delta", "delta": delta}:
                name = delta["type"].removesuffix("_delta")
                message["content"][event["index"]][name] += delta[name]
            case {"type": "message_delta"}:
                message |= event["delta"]
                message["usage"] |= event["usage"]
    return message


def test_a_ping_is_an_event() -> None:
    assert list(parsed(PING)) == [{"type": "ping"}]


def test_thoughts_are_signed_for_those_who_asked_for_them() -> None:
    batches: list[list[Item]] = [[Chunk(thinking="a")], [Chunk(thinking="b")], [Chunk("c"), END]]
    signed = folded(events(batches))["content"][0]
    assert signed == {"type": "thinking", "thinking": "ab", "signature": signature("ab")}
    unsigned = folded(events(batches, MessageFrame(model="m")))["content"][0]
    assert unsigned == {"type": "thinking", "thinking": "ab", "signature": ""}


def test_a_stop_sequence_of_the_client_is_told_and_one_of_the_model_is_not() -> None:
    for met, told in (("HALT", ("stop_sequence", "HALT")), ("<eot>", ("end_turn", None))):
        done = Done(DoneReason.STOP, END.usage, StopDetail.STOP_SEQUENCE, met)
        for message in (whole_message(FRAME, [Chunk("a"), done]), folded(events([[Chunk("a"), done]]))):
            assert (message["stop_reason"], message["stop_sequence"]) == told


def test_usage_tells_what_came_from_the_cache() -> None:
    usage = {"input_tokens": 9, "output_tokens": 2, "cache_read_input_tokens": 4}
    assert whole_message(FRAME, [Chunk("a"), END])["usage"] == usage
    assert folded(events([[Chunk("a")], [END]]))["usage"] == usage


def test_calls_without_ids_get_some_of_their_own() -> None:
    calls = (ToolCall("f", {}), ToolCall("g", {}, 1))
    for message in (
        whole_message(FRAME, [Chunk(tool_calls=calls), END]),
        folded(events([[Chunk(tool_calls=calls)], [END]])),
    ):
        assert [call["name"] for call in message["content"]] == ["f", "g"]
        assert len({call["id"] for call in message["content"]}) == 2


def test_the_true_count_opens_a_message_that_is_all_there() -> None:
    [opening, *_] = events([[Chunk(tool_calls=(CALL,)), END]])
    assert opening["message"]["usage"]["input_tokens"] == 9
    [opening, *_] = events([[Chunk("a"), END]], MessageFrame(model="m", estimate=3))
    assert opening["message"]["usage"]["input_tokens"] == 3


def test_a_search_ends_the_message_with_what_is_wrong() -> None:
    frame = MessageFrame(model="m", searches=True)
    search = ToolCall("web_search", {"query": "owls"}, 0, "c1")
    for message in (
        whole_message(frame, [Chunk("Let me search."), Chunk(tool_calls=(search,)), END]),
        folded(events([[Chunk("Let me search.")], [Chunk(tool_calls=(search,))], [END]], frame)),
    ):
        text, asked, found = message["content"]
        assert text == {"type": "text", "text": "Let me search."}
        assert (asked["type"], asked["input"]) == ("server_tool_use", {"query": "owls"})
        assert found["content"] == {"type": "web_search_tool_result_error", "error_code": "unavailable"}
        assert found["tool_use_id"] == asked["id"]
        assert message["stop_reason"] == "end_turn"


async def nothing() -> Batches:
    for batch in list[list[Item]]():
        yield batch


def test_what_was_left_out_is_told_at_the_end() -> None:
    source = Generation(nothing(), 0, 0, Overflow(100, 64, 2), ("not done",))
    frame = MessageFrame(model="m", warnings=("not known",))
    whole = whole_message(frame, [Chunk("a"), END], source)
    *_, end, _ = parsed(Events(frame, source).encode([Chunk("a"), END]))
    for told in (whole, end):
        assert told["warnings"] == ["not known", "not done"]
        assert told["messages_dropped"] == 2


texts = st.text(max_size=3)
chunks = st.one_of(
    st.builds(lambda text: Chunk(text), texts),
    st.builds(lambda text: Chunk(thinking=text), texts),
    st.just(Chunk(tool_calls=(CALL,))),
)


@given(st.lists(chunks, min_size=1, max_size=12), st.data())
def test_where_batches_begin_makes_no_difference(chunks: list[Chunk], data: st.DataObject) -> None:
    items: list[Item] = [*filter(any, chunks), END]
    cuts = sorted(data.draw(st.sets(st.integers(1, len(items)), max_size=4)))
    batches = [items[start:end] for start, end in zip([0, *cuts], [*cuts, len(items)], strict=True)]
    together = folded(events([items]))
    apart = folded(events([batch for batch in batches if batch]))
    assert apart | {"id": ""} == together | {"id": ""}
