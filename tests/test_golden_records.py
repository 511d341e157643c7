from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from tests import golden_records
from tests.golden_records import Record, folders, matches, records, same


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(golden_records, "FOLDER", tmp_path)
    (tmp_path / "kind").mkdir()
    return tmp_path / "kind"


def test_there_are_records() -> None:
    assert folders()


def test_right_replaces_what_was_recorded(folder: Path) -> None:
    (folder / "a.jsonl").write_text('{"id": "x", "in": 1, "out": 2, "right": {"out": 3}}\n')
    (record,) = records("kind/a.jsonl")
    assert matches(record, {"out": 3})
    assert not matches(record, {"out": 2})


def test_a_compressed_file_reads_like_a_plain_one(folder: Path) -> None:
    (folder / "a.jsonl.gz").write_bytes(gzip.compress(b'{"id": "x"}\n{"id": "y"}\n'))
    assert [record["id"] for record in records("kind/a.jsonl")] == ["x", "y"]


def test_only_a_line_feed_ends_a_line(folder: Path) -> None:
    (folder / "a.jsonl").write_text('{"id": "x", "in": "\u2028\x85"}\n', encoding="utf-8")
    assert records("kind/a.jsonl") == [{"id": "x", "in": "\u2028\x85"}]


def test_a_missing_file_has_no_records(folder: Path) -> None:
    assert records("kind/none.jsonl") == []


@pytest.mark.parametrize(
    ("expected", "actual", "equal"),
    [
        (2, 2.0, True),
        (1, True, False),
        (0, None, False),
        ({"a": 1, "b": [1]}, {"b": (1,), "a": 1}, True),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        ([1, 2], [1], False),
        ("<DIR>/a", "/tmp/x/a", True),
        ("failed: <ANY>", "failed: no\nway", True),
        ("failed: <ANY>", "fine", False),
    ],
)
def test_json_is_compared_by_value(expected: Any, actual: Any, equal: bool) -> None:
    assert same(expected, actual, masks={"<DIR>": "/tmp/x"}) is equal


def test_a_free_value_must_be_there_but_may_differ() -> None:
    record: Record = {"id": "x", "in": 1, "status": 400, "body": {"error": "a"}, "free": ["body.error"]}
    assert matches(record, {"status": 400, "body": {"error": "b"}})
    assert not matches(record, {"status": 500, "body": {"error": "a"}})
    assert not matches(record, {"status": 400, "body": {"error": None}})


def test_another_result_is_as_good() -> None:
    record: Record = {"id": "x", "in": 1, "status": 400, "body": "no", "also": {"out": 1}}
    assert matches(record, {"status": 400, "body": "no"})
    assert matches(record, {"out": 1})
    assert not matches(record, {"out": 2})


def test_another_result_shares_what_it_does_not_replace() -> None:
    record: Record = {"id": "x", "in": 1, "status": 200, "body": "a", "also": {"body": "b"}}
    assert matches(record, {"status": 200, "body": "b"})
