"""What text becomes as the value of an argument: spec §4."""

from __future__ import annotations

import pytest

from orchestrator.parsers.values import decimal, typed, unframed


@pytest.mark.parametrize(
    ("text", "types", "value"),
    [
        ("1.0", ("integer",), "1.0"),
        ("2.0", ("number",), 2),
        ("1e3", ("number",), 1000),
        ("0.5", ("number",), 0.5),
        ("1e300", ("number",), 1e300),
        ("1e999", ("number",), "1e999"),
        ("9007199254740993", ("number",), 9007199254740993),
        ("123456789012345678901", ("number",), 123456789012345678901),
        ("9223372036854775808", ("integer",), "9223372036854775808"),
        ("-9223372036854775808", ("integer",), -9223372036854775808),
        ("maybe", ("boolean",), False),
        ("TRUE", ("boolean",), True),
        ("nope", ("null", "boolean"), "nope"),
        ("NULL", ("string",), None),
        ("null", (), None),
        ('[1,{"k":1.5}]', ("array",), [1, {"k": 1.5}]),
        ("[]", ("object",), "[]"),
        ("{}", ("array", "object"), {}),
        ("5", (), "5"),
        ("12", ("string", "integer"), 12),
        ("hello", ("string", "integer"), "hello"),
        ("+5", ("string", "integer"), 5),
        ("1_000", ("string", "integer"), "1_000"),
        (" 1 ", ("integer",), " 1 "),
        ("٣", ("integer",), "٣"),
        ("inf", ("number",), "inf"),
        ("nan", ("number",), "nan"),
        ("1", ("INTEGER",), "1"),
        ("9" * 5000, ("number",), "9" * 5000),
    ],
)
def test_a_value_has_the_first_type_that_fits(text: str, types: tuple[str, ...], value: object) -> None:
    found = typed(text, types)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("text", "value"), [("5.", 5.0), (".5", 0.5), ("1e5", 1e5), ("0x10", None), ("", None)]
)
def test_decimal_numbers_are_strict(text: str, value: float | None) -> None:
    assert decimal(text) == value


@pytest.mark.parametrize(("text", "value"), [("\nx\n", "x"), ("\n\nx\n\n", "\nx\n"), ("\n", ""), ("x", "x")])
def test_one_line_end_frames_a_value(text: str, value: str) -> None:
    assert unframed(text) == value
