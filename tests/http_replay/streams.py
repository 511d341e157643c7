"""Whether a stream is the recorded one, when where text is cut into records is free.

Runs of records of one sort count as one: the first and the last record of a run are compared, and its joined
text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.http_replay.values import Masks, differences, parsed, short

Run = tuple[str, list[Any]]
"""A sort, and consecutive records of it."""

TEXTS = (
    "response",
    "thinking",
    "message.content",
    "message.thinking",
    "data.choices[].delta.content",
    "data.choices[].delta.reasoning",
    "data.choices[].text",
    "data.delta",
    "data.delta.text",
    "data.delta.thinking",
)
"""Where text stands in records."""

_PROGRESS = ("status", "digest", "total", "completed")


def stream_differences(want: Sequence[Any], got: Sequence[Any], masks: Masks, *, now: float) -> Iterator[str]:
    """What is wrong with the records of a stream."""
    optional = [re.compile(mask.removeprefix("optional:")) for path, mask in masks.items() if path[:1] == "~"]
    ours, theirs = (
        [run for run in _runs(records) if not any(o.search(run[0]) for o in optional)]
        for records in (want, got)
    )
    sorts, other_sorts = [sort for sort, _ in ours], [sort for sort, _ in theirs]
    if sorts != other_sorts:
        yield f"stream: records {sorts} expected, got {other_sorts}: {short(list(got)[-2:])}"
        return
    for index, ((sort, records), (_, others)) in enumerate(zip(ours, theirs, strict=True)):
        for line in _run_differences(sort, records, others, masks, now):
            yield f"#{index} {line}"


def _run_differences(sort: str, want: list[Any], got: list[Any], masks: Masks, now: float) -> Iterator[str]:
    if sort.startswith("status "):
        if len(want) + len(got) > 2 and ("total" in want[-1] or "total" in got[-1]):
            yield from _progress_differences(want, got, masks)
            return
        if len(want) != len(got):
            yield f"{len(want)} records {sort!r} expected, got {len(got)}"
        pairs = list(zip(want, got, strict=False))
    else:
        pairs = [(want[0], got[0]), (want[-1], got[-1])]
    single = len(want) == len(got) == 1
    loose = {text: "type" for text in TEXTS if not single or text in masks}
    for record, other in pairs:
        yield from differences(record, other, {**masks, **loose}, now=now)
    yield from _text_differences(want, got, masks)


def _progress_differences(want: list[Any], got: list[Any], masks: Masks) -> Iterator[str]:
    """Lines of one download, of which there are as many as it takes."""
    ours, theirs = ({key: value for record in run for key, value in record.items()} for run in (want, got))
    wanted = {key: ours[key] for key in _PROGRESS if key in ours and key in theirs and key != "completed"}
    yield from differences(wanted, {key: theirs[key] for key in wanted}, masks)


def _text_differences(want: list[Any], got: list[Any], masks: Masks) -> Iterator[str]:
    for path in TEXTS:
        ours, theirs = ("".join(_text_at(path, record) for record in run) for run in (want, got))
        match masks.get(path):
            case None:
                same = ours == theirs
            case "json":
                same = parsed(ours) == parsed(theirs)
            case _:
                same = bool(ours) == bool(theirs)
        if not same:
            yield f"{path}: joined text {short(ours)} expected, got {short(theirs)}"


def _runs(records: Sequence[Any]) -> list[Run]:
    runs: list[Run] = []
    for record in records:
        if _says_nothing(record):
            continue
        sort = _sort(record)
        if runs and runs[-1][0] == sort:
            runs[-1][1].append(record)
        else:
            runs.append((sort, [record]))
    return runs


def _says_nothing(record: Any) -> bool:
    """A native record without text, calls or log probabilities: a parser that buffers may send it or not."""
    if not isinstance(record, dict) or record.get("done") is not False:
        return False
    if record.get("logprobs") or "_debug_info" in record:
        return False
    message = record.get("message", record)
    keys = ("content", "response", "thinking", "tool_calls", "images")
    return "" in (message.get("content"), message.get("response")) and not any(message.get(k) for k in keys)


def _sort(record: Any) -> str:
    """What sort of record it is."""
    if not isinstance(record, dict):
        return short(record)
    if "data" in record and len(record) <= 2:
        return _event_sort(record.get("event"), record["data"])
    if "status" in record:
        return "status " + re.sub(r"[0-9a-f]{12,}", "X", str(record["status"]))
    if "error" in record:
        return "error"
    message = record.get("message")
    keys = ",".join(key for key in record if key != "logprobs")
    inner = ",".join(message) if isinstance(message, dict) else ""
    return f"{keys}/{inner}/{record.get('done')}"


def _event_sort(event: str | None, data: Any) -> str:
    if not isinstance(data, dict):
        return f"{event or ''}[{data}]"
    if "type" in data:
        inner: Any = next(
            (data[key] for key in ("item", "content_block", "delta", "part") if data.get(key)), {}
        )
        return f"{event}/{data['type']}/{inner.get('type', '') if isinstance(inner, dict) else ''}"
    choices = data.get("choices") or []
    choice: Mapping[str, Any] = choices[0] if choices else {}
    members = ",".join(choice["delta"]) if "delta" in choice else ",".join(k for k in choice if k == "text")
    marks = [
        f"choices={len(choices)}",
        members,
        f"finish={choice.get('finish_reason') is not None}",
        *(key for key in ("usage", "error") if key in data),
        *(key for key in ("logprobs",) if key in choice),
    ]
    return f"{data.get('object', '')} {' '.join(marks)}"


def _text_at(path: str, record: Any) -> str:
    for part in path.replace("[]", ".0").split("."):
        if isinstance(record, list):
            record = record[int(part)] if int(part) < len(record) else None
        elif isinstance(record, dict):
            record = record.get(part)
        else:
            return ""
    return record if isinstance(record, str) else ""
