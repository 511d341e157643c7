from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.units import (
    Moment,
    counted,
    format_bytes,
    format_count,
    format_distance,
    format_when,
    metrics_summary,
    parse_time,
    rfc3339_local,
    rfc3339_utc,
)
from tests.golden_records import Record, cases, matches

YEARS_1_TO_9999 = st.integers(-62_135_596_800_000_000_000, 253_402_300_799_999_999_999)


def written(given: Record) -> str:
    match given["f"]:
        case "bytes":
            return format_bytes(given["n"])
        case "number":
            return format_count(given["n"])
        case kind:
            text = format_distance(given["s"]) if given["s"] else given["zero"]
            return text.lower() if kind == "time_lower" else text


WRITTEN = [case for case in cases("values/human.jsonl") if case.values[0]["in"]["f"] != "bytes2"]
"""Nothing is written in the other form."""


@pytest.mark.parametrize("record", WRITTEN)
def test_a_quantity_is_written_as_recorded(record: Record) -> None:
    assert written(record["in"]) == record["out"]


@pytest.mark.parametrize("record", cases("values/metrics_summary.jsonl"))
def test_metrics_are_summed_up_as_recorded(record: Record) -> None:
    assert metrics_summary(record["in"]) == record["out"]


def read(text: str) -> dict[str, Any]:
    try:
        moment = parse_time(text)
    except ValueError as error:
        return {"error": str(error)}
    utc, unix = rfc3339_utc(moment.unix_ns), moment.unix_ns // 1_000_000_000
    return {"out": {"encoded": f'"{moment}"', "unix": unix, "utc": utc}}


@pytest.mark.parametrize("record", cases("values/time.jsonl"))
def test_a_time_is_read_and_written_as_recorded(record: Record) -> None:
    assert matches(record, read(record["in"]))


@given(YEARS_1_TO_9999, st.integers(-23 * 60, 23 * 60))
def test_a_written_time_reads_back(unix_ns: int, offset_minutes: int) -> None:
    assert parse_time(rfc3339_utc(unix_ns)) == Moment(unix_ns)
    inner = unix_ns // 2
    assert parse_time(str(Moment(inner, offset_minutes * 60))) == Moment(inner, offset_minutes * 60)


def test_local_time_carries_its_zone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "XYZ-05:30")
    time.tzset()
    try:
        assert rfc3339_local(1_767_607_200_100_000_000) == "2026-01-05T15:30:00.1+05:30"
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize(
    ("then", "text"),
    [
        ("0001-01-01T00:00:00Z", "Never"),
        ("1970-01-01T00:00:20Z", "10 seconds from now"),
        ("1970-01-01T01:00:00+01:00", "10 seconds ago"),
        ("1970-01-01T00:00:10Z", "Less than a second ago"),
        ("2262-01-01T00:00:00Z", "Forever"),
    ],
)
def test_a_time_is_told_relative_to_now(then: str, text: str) -> None:
    assert format_when(then, now=10.0) == text


@pytest.mark.parametrize(("count", "text"), [(0, "0 blobs"), (1, "1 blob"), (2, "2 blobs")])
def test_a_number_of_things_is_told_in_words(count: int, text: str) -> None:
    assert counted(count, "blob") == text


@pytest.mark.parametrize(
    "text", ["2026-01-05T10:00:00+24:00", "2026-01-05T10:00:00+01:60", "2026-02-30T10:00:00Z"]
)
def test_a_time_that_cannot_be_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="."):
        parse_time(text)
