"""Recorded cases: inputs and the results that are right for them, one JSON object per line.

A record has ``id``, ``in`` and a result: ``out``, ``error``, or ``status`` with ``body``. Its other members:

- ``right``: each of its keys replaces the same key of the record, ``records`` has done so already;
- ``also``: another result that is as good;
- ``free``: dotted paths whose exact value does not count, though one must be there.

The folder is ``tests/golden``, or the one named by ``ORCH_GOLDEN``. A file may be compressed (``.jsonl.gz``).
"""

from __future__ import annotations

import gzip
import json
import os
import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

Record = dict[str, Any]

FOLDER = Path(os.environ.get("ORCH_GOLDEN") or Path(__file__).parent / "golden")

_NOT_THE_RESULT = frozenset({"id", "in", "right", "why", "also", "free"})
_REFUSAL = frozenset({"error", "status", "body", "content_type"})


def folders() -> list[Path]:
    """The folders of records there are; none at all means that nothing would be tested."""
    return sorted(entry for entry in FOLDER.glob("*") if entry.is_dir())


def records(relative_path: str) -> list[Record]:
    """The records of one file, ``right`` applied; none if the file is not there."""
    return [_righted(json.loads(line)) for line in _lines(FOLDER / relative_path)]


def cases(relative_path: str) -> list[Any]:
    """``records`` as parameters of a test, named by their ids; a test without any is skipped."""
    return [pytest.param(record, id=record["id"]) for record in records(relative_path)]


def matches(
    record: Mapping[str, Any], actual: Mapping[str, Any], masks: Mapping[str, str] | None = None
) -> bool:
    """Whether ``actual``, an object with the result's keys, is what ``record`` wants or ``also`` allows."""
    free = record.get("free", ())
    return any(same(wanted, actual, free=free, masks=masks) for wanted in wanted_results(record))


def wanted_results(record: Mapping[str, Any]) -> Iterator[Record]:
    """The result of a record, then the other one it allows."""
    result = {key: value for key, value in record.items() if key not in _NOT_THE_RESULT}
    yield result
    if also := record.get("also"):
        replaced = _REFUSAL if "out" in also else {"out"} if _REFUSAL & also.keys() else set()
        yield {key: value for key, value in result.items() if key not in replaced} | also


def same(
    expected: Any,
    actual: Any,
    *,
    free: Collection[str] = (),
    masks: Mapping[str, str] | None = None,
    path: str = "",
) -> bool:
    """Whether two JSON values are equal: 2 is 2.0, true is not 1, ``<ANY>`` in a text stands for any text.

    ``masks`` are replaced in the expected texts; what the paths of ``free`` lead to need only be there.
    """
    if path in free:
        return actual is not None
    match expected, actual:
        case dict(), Mapping():
            return expected.keys() == actual.keys() and all(
                same(value, actual[key], free=free, masks=masks, path=f"{path}.{key}".lstrip("."))
                for key, value in expected.items()
            )
        case list(), list() | tuple():
            return len(expected) == len(actual) and all(
                same(value, other, free=free, masks=masks, path=f"{path}.{index}".lstrip("."))
                for index, (value, other) in enumerate(zip(expected, actual, strict=True))
            )
        case str(), str():
            return _same_text(expected, actual, masks or {})
        case _:
            return isinstance(expected, bool) == isinstance(actual, bool) and bool(expected == actual)


def _same_text(expected: str, actual: str, masks: Mapping[str, str]) -> bool:
    for mask, text in masks.items():
        expected = expected.replace(mask, text)
    if "<ANY>" not in expected:
        return expected == actual
    return re.fullmatch(".*".join(map(re.escape, expected.split("<ANY>"))), actual, re.DOTALL) is not None


def _righted(record: Record) -> Record:
    right = record.get("right")
    return record | right if isinstance(right, dict) else record


def _lines(path: Path) -> list[str]:
    """The lines of a file or of its compressed form; only LF ends a line."""
    packed = path.with_name(path.name + ".gz")
    if path.exists():
        content = path.read_bytes()
    elif packed.exists():
        content = gzip.decompress(packed.read_bytes())
    else:
        return []
    return [line for line in content.decode().split("\n") if line]
