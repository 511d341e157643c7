from __future__ import annotations

import base64
import json
import re
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.chunks import (
    Chunk,
    Done,
    DoneReason,
    Item,
    StopDetail,
    TokenLogprob,
    ToolCall,
    TopLogprob,
    Usage,
)
from orchestrator.errors import RunnerFailed
from orchestrator.runners.llama.frames import ChatDecoder, CompletionDecoder, Decoder, Wanted
from tests.golden_records import records

Json = Any

TIMINGS = {"cache_n": 3, "prompt_n": 11, "prompt_ms": 12.5, "predicted_n": 4, "predicted_ms": 40.25}
USAGE = Usage(
    prompt_tokens=14,
    cached_tokens=3,
    prompt_duration_ns=12_500_000,
    completion_tokens=4,
    completion_duration_ns=40_250_000,
)


def event(frame: Json) -> bytes:
    return b"data: " + json.dumps(frame, ensure_ascii=False).encode() + b"\n\n"


def final(**members: Json) -> Json:
    return {"content": "", "stop": True, "stop_type": "eos", "timings": TIMINGS, **members}


def delta(finish: str | None = None, timings: Json = None, **members: Json) -> Json:
    frame = {"choices": [{"index": 0, "finish_reason": finish, "delta": members}]}
    return frame | ({"timings": timings} if timings else {})


def decode(decoder: Decoder, *pieces: bytes) -> tuple[list[Item], Done | None]:
    """Everything a stream gives. Raises what went wrong in it."""
    items = [item for piece in pieces for item in decoder.feed(piece)] + decoder.close()
    if decoder.failure is not None:
        raise decoder.failure
    return items, decoder.done


def completion(*frames: Json, wanted: Wanted | None = None) -> tuple[list[Item], Done | None]:
    return decode(CompletionDecoder(wanted or Wanted()), *map(event, frames))


def chat(*frames: Json, wanted: Wanted | None = None) -> tuple[list[Item], Done | None]:
    return decode(ChatDecoder(wanted or Wanted()), *map(event, frames))


def test_pieces_of_a_completion_become_chunks_and_the_final_frame_the_end() -> None:
    items, done = completion({"content": "One"}, {"content": " two"}, final())
    assert items == [Chunk("One"), Chunk(" two")]
    assert done == Done(DoneReason.STOP, USAGE, StopDetail.EOS)


def test_content_of_the_final_frame_is_kept_and_what_follows_it_is_not() -> None:
    items, _ = completion(final(content="all"), {"content": "more"})
    assert items == [Chunk("all")]


@pytest.mark.parametrize(
    ("frame", "wanted", "done"),
    [
        ({"stop_type": "eos"}, Wanted(), (DoneReason.STOP, StopDetail.EOS, "")),
        (
            {"stop_type": "word", "stopping_word": "</s>"},
            Wanted(),
            (DoneReason.STOP, StopDetail.STOP_SEQUENCE, "</s>"),
        ),
        ({"stop_type": "limit"}, Wanted(budget=4), (DoneReason.LENGTH, StopDetail.BUDGET, "")),
        ({"stop_type": "limit"}, Wanted(budget=9), (DoneReason.LENGTH, StopDetail.WINDOW, "")),
        ({"stop_type": "limit"}, Wanted(), (DoneReason.LENGTH, StopDetail.WINDOW, "")),
        (
            {"stop_type": "limit", "truncated": True},
            Wanted(budget=4),
            (DoneReason.LENGTH, StopDetail.WINDOW, ""),
        ),
        ({"stop_type": "none"}, Wanted(), (DoneReason.STOP, StopDetail.UNKNOWN, "")),
    ],
)
def test_why_a_completion_ended_is_told_finely(
    frame: Json, wanted: Wanted, done: tuple[DoneReason, StopDetail, str]
) -> None:
    _, end = completion(final(**frame), wanted=wanted)
    assert end is not None
    assert (end.reason, end.detail, end.stop_sequence) == done


@pytest.mark.parametrize(
    ("reason", "wanted", "done"),
    [
        ("stop", Wanted(), (DoneReason.STOP, StopDetail.EOS)),
        ("stop", Wanted(stops=("x",)), (DoneReason.STOP, StopDetail.UNKNOWN)),
        ("tool_calls", Wanted(), (DoneReason.STOP, StopDetail.EOS)),
        ("length", Wanted(budget=4), (DoneReason.LENGTH, StopDetail.BUDGET)),
        ("length", Wanted(budget=40), (DoneReason.LENGTH, StopDetail.WINDOW)),
    ],
)
def test_why_a_chat_ended_is_told_finely(
    reason: str, wanted: Wanted, done: tuple[DoneReason, StopDetail]
) -> None:
    _, end = chat(delta(reason, TIMINGS), wanted=wanted)
    assert end is not None
    assert (end.reason, end.detail) == done


@pytest.mark.parametrize(
    ("ending", "detail", "stop"),
    [
        ({"stop_type": "word", "stopping_word": "HALT"}, StopDetail.STOP_SEQUENCE, "HALT"),
        ({"stop_type": "eos", "stopping_word": ""}, StopDetail.EOS, ""),
        ({"stop_type": "none"}, StopDetail.UNKNOWN, ""),
    ],
)
def test_a_chat_tells_the_stop_string_if_the_engine_was_asked_to(
    ending: Json, detail: StopDetail, stop: str
) -> None:
    frames = ({**delta(content="One"), "__verbose": ending}, delta("stop", TIMINGS))
    items, end = chat(*frames, wanted=Wanted(stops=("HALT",)))
    assert items == [Chunk("One")]
    assert end == Done(DoneReason.STOP, USAGE, detail, stop)


def test_log_probabilities_come_with_as_many_alternatives_as_were_asked_for() -> None:
    top = [{"token": "One", "logprob": -0.25}, {"token": "Two", "logprob": -1.5}]
    frame = {"content": "One", "completion_probabilities": [{**top[0], "top_logprobs": top}]}
    own = TokenLogprob("One", -0.25)
    all_of_them = TokenLogprob("One", -0.25, (TopLogprob("One", -0.25), TopLogprob("Two", -1.5)))
    assert completion(frame, wanted=Wanted(top_logprobs=2))[0] == [Chunk("One", logprobs=(all_of_them,))]
    assert completion(frame, wanted=Wanted(top_logprobs=0))[0] == [Chunk("One", logprobs=(own,))]
    assert completion(frame)[0] == [Chunk("One")]


def test_log_probabilities_of_a_chat_stand_in_its_choice() -> None:
    frame = delta(content="One")
    frame["choices"][0]["logprobs"] = {"content": [{"token": "One", "logprob": -0.25}]}
    assert chat(frame, wanted=Wanted(top_logprobs=0))[0] == [
        Chunk("One", logprobs=(TokenLogprob("One", -0.25),))
    ]


def test_thirty_one_equal_pieces_pass_and_the_next_ends_the_completion() -> None:
    items, done = completion(*[{"content": "One"}] * 40)
    assert items == [Chunk("One")] * 31
    assert done is not None
    assert (done.reason, done.detail) == (DoneReason.STOP, StopDetail.REPEAT)


def test_blank_pieces_are_no_repetition() -> None:
    items, done = completion(*[{"content": " "}] * 40, final())
    assert len(items) == 40
    assert done is not None
    assert done.detail is StopDetail.EOS


def test_chats_are_not_guarded_against_repetition() -> None:
    items, _ = chat(*[delta(content="One")] * 40, delta("stop", TIMINGS))
    assert len(items) == 40


def test_reasoning_of_a_chat_is_thinking() -> None:
    items, done = chat(
        delta(role="assistant", content=None),
        delta(reasoning_content="hm"),
        delta(content="Hi"),
        delta("stop", TIMINGS),
    )
    assert items == [Chunk(thinking="hm"), Chunk("Hi")]
    assert done == Done(DoneReason.STOP, USAGE, StopDetail.EOS)


def test_tool_calls_are_put_together_and_come_with_the_end() -> None:
    items, _ = chat(
        delta(tool_calls=[{"index": 2, "id": "b", "function": {"name": "add", "arguments": "{}"}}]),
        delta(tool_calls=[{"index": 0, "id": "a", "function": {"name": "get", "arguments": '{"z":'}}]),
        delta(tool_calls=[{"index": 0, "function": {"arguments": "12345678901234567890}"}}]),
        delta("tool_calls", TIMINGS),
    )
    calls = (ToolCall("get", {"z": 12345678901234567890}, 0, "a"), ToolCall("add", {}, 2, "b"))
    assert items == [Chunk(tool_calls=calls)]


@pytest.mark.parametrize("arguments", ["", "  ", "null"])
def test_a_call_without_arguments_has_an_empty_object(arguments: str) -> None:
    call = {"index": 0, "function": {"name": "f", "arguments": arguments}}
    items, _ = chat(delta(tool_calls=[call]), delta("tool_calls"))
    assert items == [Chunk(tool_calls=(ToolCall("f", {}),))]


@pytest.mark.parametrize("arguments", ['{"a":', "[1]", "1"])
def test_arguments_that_are_no_object_are_an_error(arguments: str) -> None:
    call = {"index": 0, "function": {"name": "f", "arguments": arguments}}
    with pytest.raises(RunnerFailed, match='^llama-server returned invalid tool call arguments for "f": .+'):
        chat(delta(tool_calls=[call]), delta("tool_calls"))


def test_an_empty_reason_is_an_end() -> None:
    _, done = chat(delta(content="One"), delta("", TIMINGS))
    assert done is not None
    assert done.usage == USAGE


def test_timings_may_come_after_the_end_of_a_chat() -> None:
    _, done = chat(delta(content="One"), delta("stop"), {"choices": [], "timings": TIMINGS})
    assert done is not None
    assert done.usage == USAGE


@pytest.mark.parametrize("error", ["out of memory", {"code": 500, "message": "out of memory", "type": "x"}])
def test_an_error_frame_is_an_error(error: Json) -> None:
    with pytest.raises(RunnerFailed, match="^llama-server error: out of memory$") as caught:
        completion({"content": "One"}, {"error": error})
    assert caught.value.out_of_memory
    with pytest.raises(RunnerFailed, match="^llama-server chat error: out of memory$"):
        chat(delta(content="One"), {"error": error})


def test_what_is_no_json_is_an_error() -> None:
    with pytest.raises(RunnerFailed, match="^error unmarshalling llama-server response: .+"):
        decode(CompletionDecoder(Wanted()), b"data: {not json\n\n")
    with pytest.raises(RunnerFailed, match="^error unmarshalling llama-server chat response: .+"):
        decode(ChatDecoder(Wanted()), b"data: 17\n\n")


def test_half_a_surrogate_pair_becomes_a_replacement_character() -> None:
    items, _ = decode(CompletionDecoder(Wanted()), b'data: {"content":"\\ud83d\\ude00\\ud83d!"}\n\n')
    assert items == [Chunk("\N{GRINNING FACE}\N{REPLACEMENT CHARACTER}!")]


def test_an_event_beyond_the_limit_is_an_error() -> None:
    with pytest.raises(RunnerFailed, match="^llama-server response stream event exceeded 8 MB limit$"):
        decode(CompletionDecoder(Wanted()), b"data: " + b"x" * 8_000_001)
    with pytest.raises(RunnerFailed, match="^llama-server chat response stream event exceeded 8 MB limit$"):
        decode(ChatDecoder(Wanted()), b"data: " + b"x" * 8_000_001)


def test_what_came_before_a_failure_is_not_lost() -> None:
    decoder = CompletionDecoder(Wanted())
    assert decoder.feed(event({"content": "One"}) + event({"error": "broken"})) == [Chunk("One")]
    assert str(decoder.failure) == "llama-server error: broken"
    decoder = CompletionDecoder(Wanted())
    assert decoder.feed(event({"content": "One"}) + b"data: {\n\n") == [Chunk("One")]
    assert decoder.failure is not None


STREAMS = {
    CompletionDecoder: b"".join(map(event, [{"content": "One"}, {"content": " é"}, final(content="!")])),
    ChatDecoder: b"".join(
        map(event, [delta(content="One"), delta(reasoning_content="é"), delta("stop", TIMINGS)])
    )
    + b"data: [DONE]\n\n",
}


@pytest.mark.parametrize("kind", STREAMS)
@given(cuts=st.lists(st.integers(0, 700)))
def test_any_split_gives_the_same_items(
    kind: type[CompletionDecoder] | type[ChatDecoder], cuts: list[int]
) -> None:
    stream = STREAMS[kind]
    places = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    pieces = [stream[start:end] for start, end in zip(places, places[1:], strict=False)]
    assert decode(kind(Wanted()), *pieces) == decode(kind(Wanted()), stream)


# ---- recorded answers ----

PATHS: dict[str, type[CompletionDecoder] | type[ChatDecoder]] = {
    "/completion": CompletionDecoder,
    "/v1/chat/completions": ChatDecoder,
}


def raw(item: Json) -> bytes:
    """The bytes of one item of a recorded stream."""
    match item:
        case str():
            return item.encode()
        case {"$b64": text}:
            return base64.b64decode(text)
        case {"$join": parts}:
            return b"".join(map(raw, parts))
        case {"$repeat": count, "event": frame}:
            return event(frame) * int(count)
        case {"$big": length, "event": frame}:
            return event(frame).replace(b"$BIG", b"x" * int(length))
        case {"$sleep": _}:
            return b""
        case _:
            return event(item)


def recorded_streams() -> list[Any]:
    """Records whose first step, a call of the native API, is answered by one stream that ends properly."""
    found = []
    for record in records("engine/failures.jsonl"):
        step = record["steps"][0]
        answers = record.get("script", {}).get("answers", {})
        path = next((path for path in answers if path in PATHS), "")
        items = answers[path][0].get("sse") if path else None
        is_native = step.get("request", {}).get("path") in ("/api/generate", "/api/chat")
        orders = {"$exit", "$kill", "$abort", "$stderr"}
        if is_native and items is not None and not any(orders & dict(i).keys() for i in objects(items)):
            found.append(pytest.param(record, path, items, id=record["id"]))
    return found


def objects(items: Sequence[Json]) -> list[Json]:
    return [item for item in items if isinstance(item, dict)]


def wanted_error(record: Json) -> str | None:
    """The error that the client is told, as a pattern."""
    step = record["steps"][0]
    for path, value in record.get("right", {}).items():
        if path.startswith("steps.0.response") and "re:" in json.dumps(value):
            return str(value["error"] if isinstance(value, dict) else value).removeprefix("re:")
    response = step["response"]
    last = response["records"][-1] if response.get("records") else response.get("body") or {}
    return re.escape(last["error"]) if "error" in last else None


@pytest.mark.parametrize(("record", "path", "items"), recorded_streams())
def test_recorded_streams_are_understood(record: Json, path: str, items: Sequence[Json]) -> None:
    step = record["steps"][0]
    request, response = step["request"]["json"], step["response"]
    top_logprobs = request.get("top_logprobs", 0) if request.get("logprobs") else None
    decoder = PATHS[path](Wanted(top_logprobs=top_logprobs))
    read = [item for piece in map(raw, items) for item in decoder.feed(piece)] + decoder.close()
    if "steps.0.response" in record.get("free", ()):
        return
    if pattern := wanted_error(record):
        assert re.fullmatch(pattern, str(decoder.failure), re.DOTALL)
        return
    assert decoder.failure is None
    assert text_of(read) == recorded_text(response)
    if decoder.done is not None:
        assert counts_of(decoder.done.usage) == recorded_counts(response)


def text_of(items: Sequence[Item]) -> tuple[str, str]:
    chunks = [item for item in items if isinstance(item, Chunk)]
    return "".join(chunk.content for chunk in chunks), "".join(chunk.thinking for chunk in chunks)


def recorded_text(response: Json) -> tuple[str, str]:
    given = response.get("records") or [response.get("body") or {}]
    messages = [record.get("message", {"content": record.get("response", "")}) for record in given]
    return (
        "".join(unfolded(message["content"]) for message in messages),
        "".join(message.get("thinking", "") for message in messages),
    )


def unfolded(text: str) -> str:
    """``$REPEAT(c,n)`` written out."""
    return re.sub(r"\$REPEAT\((.),(\d+)\)", lambda match: match[1] * int(match[2]), text)


def counts_of(usage: Usage) -> tuple[int, int, int, int]:
    return (
        usage.prompt_tokens,
        usage.prompt_duration_ns,
        usage.completion_tokens,
        usage.completion_duration_ns,
    )


def recorded_counts(response: Json) -> tuple[int, ...]:
    last = (response.get("records") or [response.get("body") or {}])[-1]
    names = ("prompt_eval_count", "prompt_eval_duration", "eval_count", "eval_duration")
    return tuple(last.get(name, 0) for name in names)


# case B087
@pytest.mark.parametrize(
    ("pieces", "end", "content", "stop"),
    [
        (["a ", ">>>", " END", "junk"], {}, "a ", ">>> END"),
        (["a ", ">>>", " END\n"], {}, "a ", ">>> END\n"),
        (["a ", ">>>"], {"stop_type": "word", "stopping_word": ">>> END"}, "a ", ">>> END"),
        (["a ", ">>>", " E", "lse"], {}, "a >>> Else", ""),
        (["a >", ">"], {}, "a >>", ""),
        (["a"], {"content": " b>>> END"}, "a b", ">>> END"),
    ],
)
def test_a_stop_string_is_kept_from_the_client_whole_and_in_part(
    pieces: list[str], end: Json, content: str, stop: str
) -> None:
    wanted = Wanted(stops=(">>> END", ">>> END\n"))
    items, done = completion(*({"content": piece} for piece in pieces), final(**end), wanted=wanted)
    assert "".join(item.content for item in items if isinstance(item, Chunk)) == content
    assert done is not None
    assert (done.reason, done.stop_sequence) == (DoneReason.STOP, stop)


def test_a_stop_string_that_came_through_ends_the_reply_with_what_it_cost() -> None:
    frames = [{"content": piece, "tokens_evaluated": 9} for piece in ("one ", "HALT", " two")]
    _, done = completion(*frames, final(), wanted=Wanted(stops=("HALT",)))
    usage = Usage(prompt_tokens=9, completion_tokens=2)
    assert done == Done(DoneReason.STOP, usage, StopDetail.STOP_SEQUENCE, "HALT")


def test_a_chat_keeps_stop_strings_from_the_client_too() -> None:
    frames = [delta(content="one "), delta(content="HA"), delta(content="LT three"), delta("stop")]
    items, done = chat(*frames, wanted=Wanted(stops=("HALT",)))
    assert items == [Chunk("one ")]
    assert done is not None
    assert (done.reason, done.stop_sequence) == (DoneReason.STOP, "HALT")
    items, _ = chat(delta(content="one HA"), delta("stop"), wanted=Wanted(stops=("HALT",)))
    assert items == [Chunk("one "), Chunk("HA")]


@given(
    st.lists(st.sampled_from(["H", "HA", "LT", "A", "L", "T", "x"])), st.sampled_from(["HALT", "HH", "LTA"])
)
def test_what_comes_before_a_stop_string_is_the_same_in_any_pieces(parts: list[str], stop: str) -> None:
    text = "".join(parts)
    items, _ = completion(*({"content": part} for part in parts), final(), wanted=Wanted(stops=(stop, "")))
    assert "".join(item.content for item in items if isinstance(item, Chunk)) == text.partition(stop)[0]


ODD = [True, 5, -1.5, "x", [1], {"a": 1}]


@pytest.mark.parametrize("odd", ODD, ids=repr)
@pytest.mark.parametrize("wanted", [Wanted(), Wanted(top_logprobs=1, stops=("HALT",))], ids=["plain", "fine"])
def test_members_of_odd_types_end_an_answer_with_what_came_before(odd: Any, wanted: Wanted) -> None:
    choice = {"delta": {"content": "b"}, "finish_reason": "stop"}
    streams: list[tuple[Decoder, dict[str, Any]]] = [
        *((CompletionDecoder(wanted), {"content": "b", "stop": stop, name: odd})
          for name in ("content", "timings", "completion_probabilities", "stopping_word")
          for stop in (False, True)),
        *((ChatDecoder(wanted), {"choices": [choice], name: odd}) for name in ("choices", "timings")),
        *((ChatDecoder(wanted), {"choices": [{**choice, name: odd}]}) for name in ("delta", "logprobs")),
        *((ChatDecoder(wanted), {"choices": [{"delta": {name: odd}}]})
          for name in ("content", "reasoning_content", "tool_calls")),
    ]  # fmt: skip
    for decoder, frame in streams:
        first = {"content": "a"} if isinstance(decoder, CompletionDecoder) else delta(content="a")
        items = decoder.feed(b"".join(b"data: %b\n\n" % json.dumps(f).encode() for f in (first, frame)))
        assert isinstance(items[0], Chunk)
        assert items[0].content == "a"
        assert all(type(item.content) is str for item in items if isinstance(item, Chunk))
        if decoder.failure is not None:
            assert str(decoder.failure).startswith("error unmarshalling llama-server ")
