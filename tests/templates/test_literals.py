"""Constants of the template language."""

from __future__ import annotations

import pytest

from orchestrator.templates.literals import BadConstant, character, number, string


@pytest.mark.parametrize(
    ("token", "value"),
    [
        ("0", 0),
        ("-3", -3),
        ("017", 15),
        ("0o17", 15),
        ("0_17", 15),
        ("0x1F", 31),
        ("0b101", 5),
        ("1_000", 1000),
        ("18446744073709551615", 2**64 - 1),
        ("-9223372036854775808", -(2**63)),
        ("1.5", 1.5),
        (".5", 0.5),
        ("1.", 1.0),
        ("1e3", 1000.0),
        ("0x1p-2", 0.25),
    ],
)
def test_a_number_is_read(token: str, value: float) -> None:
    assert number(token) == value
    assert type(number(token)) is type(value)


@pytest.mark.parametrize("token", ["", "-", "08", "0x", "1__0", "18446744073709551616", "1e400", "0b2", "_1"])
def test_no_other_spelling_is_a_number(token: str) -> None:
    with pytest.raises(BadConstant):
        number(token)


@pytest.mark.parametrize(
    ("token", "value"),
    [
        (r'"a\tb\"\\"', 'a\tb"\\'),
        (r'"\x41\101\u00e9\U0001F600"', "AAé😀"),
        (r'"\xc3\xa9"', "é"),
        (r'"\xff"', "\udcff"),
        ("`a\\n\r\nb`", "a\\n\nb"),
    ],
)
def test_a_string_is_read(token: str, value: str) -> None:
    assert string(token) == value


@pytest.mark.parametrize("token", [r'"\q"', r'"\'"', r'"\ud800"', r'"\U00110000"', r'"\777"', r'"\x4"'])
def test_a_wrong_escape_is_refused(token: str) -> None:
    with pytest.raises(BadConstant):
        string(token)


@pytest.mark.parametrize(
    ("token", "value"), [("'a'", 97), (r"'\''", 39), (r"'\n'", 10), ("'é'", 233), (r"'\xff'", 255)]
)
def test_a_character_is_its_code_point(token: str, value: int) -> None:
    assert character(token) == value


@pytest.mark.parametrize("token", ["''", "'ab'", r"'\"'"])
def test_anything_but_one_character_is_refused(token: str) -> None:
    with pytest.raises(BadConstant):
        character(token)
