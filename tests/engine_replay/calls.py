"""Whether the engine was asked what is recorded."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.engine_replay.masks import value_differences
from tests.http_replay.values import short

Call = Mapping[str, Any]
"""``path``, ``body`` as a value, and for actual calls ``text``, the body as it came."""

GENERATING = frozenset({"/completion", "/v1/chat/completions", "/v1/embeddings"})
"""What has to be equal. How a text is measured is free: what comes of it shows in prompt and reply."""

_MAY_BE_ADDED = frozenset(
    {"id_slot", "sse_ping_interval", "return_progress", "reasoning_control", "timings_per_token"}
)
_JSON_GRAMMAR = "$JSON_GRAMMAR"
_ANY_OBJECT = {"type": "object"}


def call_differences(want: Sequence[Call], got: Sequence[Call], *, any_order: bool) -> Iterator[str]:
    """What is wrong with the calls of one step."""
    ours, theirs = ([call for call in calls if call["path"] in GENERATING] for calls in (want, got))
    if any_order:
        ours, theirs = _paired(ours, theirs)
    paths, other_paths = [call["path"] for call in ours], [call["path"] for call in theirs]
    if paths != other_paths:
        yield f"engine: calls {paths} expected, got {other_paths}"
        return
    for index, (call, other) in enumerate(zip(ours, theirs, strict=True)):
        yield from (f"engine #{index} {line}" for line in _body_differences(call, other))


def _paired(want: Sequence[Call], got: Sequence[Call]) -> tuple[list[Call], list[Call]]:
    """Both lists, brought into an order in which those that belong together stand side by side."""
    left = list(got)
    pairs = []
    for call in want:
        mate = next((other for other in left if not [*_body_differences(call, other)]), None)
        if mate is None:
            return list(want), list(got)
        left.remove(mate)
        pairs.append((call, mate))
    return [call for call, _ in pairs], [mate for _, mate in pairs] + left


def _body_differences(want: Call, got: Call) -> Iterator[str]:
    if want["path"] != got["path"]:
        yield f"{want['path']} expected, got {got['path']}"
        return
    ours, theirs = _members(want["body"]), _members(got["body"])
    for key in _MAY_BE_ADDED - ours.keys():
        theirs.pop(key, None)
    if ours.get("grammar") == _JSON_GRAMMAR:
        del ours["grammar"]
        grammar, schema = theirs.pop("grammar", None), theirs.pop("json_schema", None)
        if schema != _ANY_OBJECT and not (isinstance(grammar, str) and grammar):
            yield f"{want['path']}: a grammar of one JSON object expected"
    for key in ours.pop("unchecked", ()):
        theirs.pop(key, None)
    yield from value_differences(ours, theirs, want["path"])
    for member, text in want.get("ordered", {}).items():
        if _ordered(member, json.loads(text)) != _ordered(member, json.loads(got["text"]).get(member)):
            yield f"{want['path']}.{member}: order of keys as in {short(text)} expected"


def _members(body: Any) -> dict[str, Any]:
    """The members of a body; no stop strings are the same in any form."""
    return {key: value for key, value in body.items() if key != "stop" or value}


def _ordered(member: str, value: Any) -> str:
    """A text that differs where the order of keys does; around a schema the order is of no effect."""
    if member == "response_format" and isinstance(value, dict):
        value = value.get("json_schema", {}).get("schema")
    return json.dumps(value)
