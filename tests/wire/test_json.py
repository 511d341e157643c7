"""JSON text as clients send it."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.wire.json import MalformedJson, dumps, loads, loads_all

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(JSON)
def test_what_is_written_reads_the_same(value: Any) -> None:
    assert loads(dumps(value)) == value


@given(JSON)
def test_what_others_write_is_read(value: Any) -> None:
    assert loads(json.dumps(value, indent=1).encode()) == value
    assert loads_all(f" {json.dumps(value, indent=1)}\n") == value


@pytest.mark.parametrize("text", ["", " ", "{", "{}x", "1 2", "[1e400]", "NaN", "\ufeff{}", "[" * 100_000])
def test_a_text_that_is_not_json_as_a_whole_is_refused(text: str) -> None:
    with pytest.raises(MalformedJson):
        loads_all(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b'{"a":1} trailing', {"a": 1}),
        (b' \n{"a":1}{"b":2}', {"a": 1}),
        (b'{"a":1,"b":2,"a":3}', {"a": 3, "b": 2}),
        (b"12345678901234567890123", 12345678901234567890123),
        (b"[-9223372036854775809]", [-9223372036854775809]),
        (b"1e30", 1e30),
        (b'"a\xffb"', "a\ufffdb"),
        (b'"\\ud800!"', "\ufffd!"),
        (b'"\\ud83e\\udd89"', "\U0001f989"),
        (b"null", None),
    ],
)
def test_odd_but_legible_text_is_read(text: bytes, value: Any) -> None:
    assert loads(text) == value


def test_keys_keep_their_order_at_every_depth() -> None:
    assert (
        dumps(loads(b'{"z":{"y":1,"x":[{"b":1,"a":2}]},"a":1}')) == b'{"z":{"y":1,"x":[{"b":1,"a":2}]},"a":1}'
    )


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b" ",
        b"hello",
        b'{"model":',
        b'{"model":"x"',
        b'\xef\xbb\xbf{"a":1}',
        b"NaN",
        b"[Infinity]",
        b"1e999",
    ]
    + [b"'a'", b'"a\nb"', b"{'a':1}", b"[1,]", b"[" * 100_000, b'{"a":' * 100_000, b"9" * 100_000],
)
def test_what_is_no_json_is_refused(text: bytes) -> None:
    with pytest.raises(MalformedJson, match="invalid JSON"):
        loads(text)


def test_numbers_beyond_64_bits_are_written_exactly() -> None:
    assert dumps({"n": 2**70}) == b'{"n":1180591620717411303424}'


def test_lone_surrogates_are_replaced_when_written() -> None:
    assert dumps(["a\ud800"]) == '["a\ufffd"]'.encode()


def test_vectors_are_written_in_single_precision() -> None:
    assert dumps([np.array([0.1, -0.8], dtype=np.float32)]) == b"[[0.1,-0.8]]"
