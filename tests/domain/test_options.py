from __future__ import annotations

import logging
import math
from dataclasses import asdict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.options import (
    OPTION_NAMES,
    InvalidOption,
    InvalidParameter,
    Options,
    float32,
    format_parameters,
    shortest_float32,
)
from orchestrator.store.canonical import canonical_json
from tests.golden_records import Record, cases, matches


def changed(values: dict[str, Any]) -> dict[str, Any]:
    """What ``values`` change about the defaults, in the form of the records."""
    try:
        options = Options().updated(values)
    except InvalidOption as error:
        return {"error": str(error)}
    if math.isinf(options.temperature):
        return {"out": {"infinite": True}}
    defaults = asdict(Options())
    out = {
        name: shortest_float32(value) if isinstance(value, float) else value
        for name, value in asdict(options).items()
        if value != defaults[name]
    }
    if values.get("stop") == []:
        out["stop"] = []  # the records tell it from "not given"; both stop nowhere
    return {"out": out}


def typed(given: dict[str, list[str]]) -> dict[str, Any]:
    """What text gives, in the form of the records."""
    try:
        values = format_parameters(given)
    except InvalidParameter as error:
        return {"error": str(error)}
    return {"out": {"params": values, "text": canonical_json(values).decode().removesuffix("\n")}}


@pytest.mark.parametrize("record", cases("options/from_map.jsonl"))
def test_options_of_a_request_change_the_defaults_as_recorded(record: Record) -> None:
    assert matches(record, changed(record["in"]))


@pytest.mark.parametrize("record", cases("options/format_params.jsonl"))
def test_parameters_given_as_text_get_the_recorded_values(record: Record) -> None:
    if "marshal_error" in record.get("out", {}):  # infinite: accepted there and then not sent, refused here
        assert typed(record["in"])["error"].startswith("invalid float value")
    else:
        assert matches(record, typed(record["in"]))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (".5", 0.5),
        ("5.", 5.0),
        ("1_000.5", 1000.5),
        ("0x1p-2", 0.25),
        ("0X_F.8p0", 15.5),
        ("1e-50", 0.0),
        ("3.4028235e38", 3.4028235e38),
    ],
)
def test_floats_may_be_written_in_many_ways(text: str, value: float) -> None:
    assert format_parameters({"temperature": [text]}) == {"temperature": value}


@pytest.mark.parametrize(
    "text", ["", ".", "e5", "inf", "NaN", "1__0", "_1", "1_", " 1", "1 ", "١", "0x1", "1e39", "1e999"]
)
def test_what_is_no_float_is_refused(text: str) -> None:
    with pytest.raises(InvalidParameter, match="invalid float value"):
        format_parameters({"temperature": [text]})


@pytest.mark.parametrize("text", ["9223372036854775808", "-9223372036854775809", "1" * 5000, "٣", "1_0", "+"])
def test_what_is_no_integer_is_refused(text: str) -> None:
    with pytest.raises(InvalidParameter, match="invalid int value"):
        format_parameters({"seed": [text]})


def test_an_unknown_option_is_named_in_the_log_and_ignored(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert Options().updated({"tfs_z": 1.0, "mirostat": None}) == Options()
    assert [record.__dict__["option"] for record in caplog.records] == ["tfs_z"]


def test_a_later_value_replaces_an_earlier_one_whole() -> None:
    options = Options().updated({"stop": ["a", "b"], "top_k": 1}).updated({"stop": ["c"], "top_k": None})
    assert options.stop == ("c",)
    assert options.top_k == 1


@pytest.mark.parametrize(
    ("value", "kept"),
    [(10**400, 2**63 - 1), (-(10**400), -(2**63)), (1e300, 2**63 - 1)],
    ids=["large", "small", "float"],
)
def test_an_integer_beyond_64_bits_becomes_the_nearest(value: float, kept: int) -> None:
    assert Options().updated({"seed": value}).seed == kept


def test_every_option_can_be_given() -> None:
    assert Options().updated(dict.fromkeys(OPTION_NAMES)) == Options()


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_the_shortest_form_is_the_same_single(value: float) -> None:
    assert float32(shortest_float32(value)) == value
    assert len(repr(shortest_float32(value))) <= len(repr(value))


@pytest.mark.parametrize(("name", "advised"), [("mirostat", True), ("use_mlock", True), ("nonsense", False)])
def test_a_retired_option_is_noted_with_what_to_do_instead(
    caplog: pytest.LogCaptureFixture, name: str, advised: bool
) -> None:
    assert Options().updated({name: 1}) == Options()
    (record,) = caplog.records
    assert record.__dict__["option"] == name
    assert ("advice" in record.__dict__) == advised
