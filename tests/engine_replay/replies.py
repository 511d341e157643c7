"""Whether a client got the recorded reply."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.engine_replay.masks import reply_masks
from tests.http_replay.cases import COUNTED
from tests.http_replay.streams import stream_differences
from tests.http_replay.transport import Answer
from tests.http_replay.values import differences, short

STREAMS = ("ndjson", "sse")

Reply = Mapping[str, Any]


def reply_differences(want: Reply, got: Answer) -> Iterator[str]:
    """What is wrong with a reply. Members of objects may be in any order, except in arguments of tools."""
    unchecked = want.get("unchecked", ())
    if "last_record" in want:
        yield from _values(want["last_record"], got.last, got)
        want = {**want, "kind": got.kind} if got.kind in STREAMS else {"kind": got.kind}
    if "status" in want and "status" not in unchecked and want["status"] != got.status:
        yield f"status: {want['status']} expected, got {got.status} {short(got.last)}"
    if want["kind"] != got.kind:
        yield f"body: {want['kind']} expected, got {got.kind} {short(got.last)}"
    elif got.kind in STREAMS:
        yield from _stream(want, got)
    elif "body" in want:
        yield from _values(want["body"], got.body, got)
    yield from _arguments(want, got)


def _stream(want: Reply, got: Answer) -> Iterator[str]:
    records, masks = reply_masks(want.get("records", []))
    actual = got.body[:-1] if "last_record" in want else got.body
    masks = {**COUNTED, **masks}
    yield from stream_differences(records, _in_order(_known(actual, records)), masks, now=got.at)


def _known(got: Sequence[Any], want: Sequence[Any]) -> list[Any]:
    """``got`` without the members that are ours alone; a record of another sort stays recognisable."""
    keys = {"error", "done"}.union(*(record for record in want if isinstance(record, dict)))
    return [
        {key: value for key, value in record.items() if key in keys} if isinstance(record, dict) else record
        for record in got
    ]


def _values(want: Any, got: Any, answer: Answer) -> Iterator[str]:
    plain, masks = reply_masks(want)
    yield from differences(plain, _in_order(got), {**COUNTED, **masks}, now=answer.at)


def _in_order(value: Any) -> Any:
    """``value`` with the members of its objects in the order of the recordings."""
    return json.loads(json.dumps(value, sort_keys=True))


def _arguments(want: Reply, got: Answer) -> Iterator[str]:
    """Arguments of calls keep the order the model gave them."""
    for text in want.get("ordered_arguments", ()):
        if json.dumps(json.loads(text)) not in _all_arguments(got.body):
            yield f"arguments in the order {short(text)} expected"


def _all_arguments(value: Any) -> set[str]:
    match value:
        case {"arguments": dict() as arguments, **others}:
            return {json.dumps(arguments)} | _all_arguments(others)
        case {"arguments": str() as arguments, **others}:
            return {json.dumps(json.loads(arguments or "{}"))} | _all_arguments(others)
        case dict():
            return set().union(*(_all_arguments(element) for element in value.values()))
        case list():
            return set().union(*map(_all_arguments, value))
        case _:
            return set()
