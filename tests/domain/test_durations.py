from __future__ import annotations

import re
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.durations import MAX_NS, InvalidDuration, KeepAlive, format_duration, parse_duration
from tests.golden_records import Record, cases, matches, records

SECOND_NS = 1_000_000_000
DIGITS_ALONE = re.compile(r"[+-]?[0-9]+")


def is_seconds_as_text(value: Any) -> bool:
    """case B091: a text of digits counts seconds, where a unit used to be demanded."""
    return isinstance(value, str) and value != "0" and DIGITS_ALONE.fullmatch(value) is not None


def texts() -> list[Any]:
    return [
        pytest.param(record, id=record["id"])
        for record in records("values/duration_decode.jsonl")
        if isinstance(record["in"], str)
    ]


def decoded(value: Any) -> dict[str, Any]:
    try:
        keep_alive = KeepAlive.parse(value)
    except InvalidDuration as error:
        return {"error": str(error)}
    text = str(keep_alive)
    return {"out": {"ns": keep_alive.ns, "string": text, "encoded": f'"{text}"'}}


@pytest.mark.parametrize("record", cases("values/duration_decode.jsonl"))
def test_a_json_value_gives_the_recorded_duration(record: Record) -> None:
    if is_seconds_as_text(record["in"]):
        assert decoded(record["in"]) == decoded(int(record["in"]))
    else:
        assert matches(record, decoded(record["in"]))


@pytest.mark.parametrize("record", texts())
def test_a_text_alone_keeps_to_the_grammar(record: Record) -> None:
    text = record["in"]
    if "error" in record:
        with pytest.raises(InvalidDuration) as refusal:
            parse_duration(text)
        assert matches(record, {"error": str(refusal.value)})
    else:
        assert KeepAlive.parse(text).ns in (parse_duration(text), MAX_NS)


@pytest.mark.parametrize("record", cases("values/duration_encode.jsonl"))
def test_nanoseconds_are_written_as_recorded(record: Record) -> None:
    text = format_duration(record["in"])
    encoded = "-1" if record["in"] < 0 else f'"{text}"'
    assert matches(record, {"out": {"encoded": encoded, "string": text}})


@pytest.mark.parametrize("record", cases("values/keep_alive_field.jsonl"))
def test_the_field_of_a_request_gives_the_recorded_keep_alive(record: Record) -> None:
    value = {key.lower(): value for key, value in record["in"].items()}.get("keep_alive")
    if "error" in record:
        with pytest.raises(InvalidDuration) as refusal:
            KeepAlive.parse(value)
        assert matches(record, {"error": str(refusal.value)})
    else:
        ns = None if value is None else KeepAlive.parse(value).ns
        assert matches(record, {"out": {"keep_alive": ns}})


# case B091
@pytest.mark.parametrize(
    ("value", "ns"),
    [
        (-1, MAX_NS),
        ("-1", MAX_NS),
        (0, 0),
        ("0", 0),
        ("90", 90 * SECOND_NS),
        ("+90", 90 * SECOND_NS),
        ("1h30m", 5400 * SECOND_NS),
        ("9" * 400, MAX_NS),
        (10**400, MAX_NS),
    ],
)
def test_seconds_may_come_as_text(value: Any, ns: int) -> None:
    assert KeepAlive.parse(value) == KeepAlive(ns)


@pytest.mark.parametrize("text", ["", "soon", "٣", "9" * 5000 + "h", "0." + "9" * 5000 + "x"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(InvalidDuration):
        KeepAlive.parse(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('1"', 'time: unknown unit "\\"" in duration "1\\""'),
        ("\n1s", 'time: invalid duration "\\x0a1s"'),
        ("1\\s", 'time: unknown unit "\\\\s" in duration "1\\\\s"'),
        ("99999999999999999999", 'time: invalid duration "99999999999999999999"'),
    ],
)
def test_a_refusal_quotes_the_text_as_go_does(text: str, message: str) -> None:
    with pytest.raises(InvalidDuration, match=f"^{re.escape(message)}$"):
        parse_duration(text)


def test_the_two_special_keep_alives_say_so() -> None:
    assert KeepAlive.FOREVER.is_forever
    assert not KeepAlive.FOREVER.is_zero
    assert KeepAlive(0).is_zero
    assert not KeepAlive(0).is_forever


@given(st.integers(-MAX_NS - 1, MAX_NS))
def test_what_is_written_reads_back(ns: int) -> None:
    assert parse_duration(format_duration(ns)) == ns


@given(st.text(alphabet="0123456789.smhunµ+- "))
def test_any_text_is_a_duration_or_refused(text: str) -> None:
    with suppress(InvalidDuration):
        assert -MAX_NS - 1 <= parse_duration(text) <= MAX_NS
