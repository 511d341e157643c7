"""Numbers in other types: the values, and what does not fit."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.create.recoding import CannotRecode, recoded

FLOATS = st.lists(st.floats(-1e4, 1e4, width=32), min_size=32, max_size=32)


def single(numbers: list[float]) -> bytes:
    return np.array(numbers, np.float32).tobytes()


def values(content: bytes, kind: str) -> np.ndarray:
    return np.frombuffer(recoded(content, kind, "F32"), np.float32)


@given(numbers=FLOATS)
def test_single_precision_holds_what_halves_hold(numbers: list[float]) -> None:
    for kind in ("F16", "BF16"):
        half = recoded(single(numbers), "F32", kind)
        assert recoded(recoded(half, kind, "F32"), "F32", kind) == half


@given(numbers=FLOATS)
def test_numbers_stay_what_they_are_but_for_rounding(numbers: list[float]) -> None:
    wanted = np.array(numbers, np.float32)
    largest = max(float(np.abs(wanted).max()), 1e-6)
    for kind, error in (("F16", 2**-11), ("BF16", 2**-8), ("Q8_0", 1 / 254 + 2**-10)):
        assert np.abs(values(recoded(single(numbers), "F32", kind), kind) - wanted).max() <= largest * error


@pytest.mark.parametrize(
    ("source", "target", "number"),
    [
        ("F32", "F16", 70000.0),
        ("F32", "BF16", float("inf")),
        ("F32", "Q8_0", float("nan")),
        ("F32", "Q8_0", 1e9),
        ("F16", "F32", float("inf")),
    ],
)  # fmt: skip
def test_numbers_that_do_not_fit_are_refused(source: str, target: str, number: float) -> None:
    numbers = np.zeros(32, np.float32)
    numbers[7] = number
    content = numbers.astype(np.float16).tobytes() if source == "F16" else numbers.tobytes()
    with pytest.raises(CannotRecode, match=f"not finite, or too large for {target}"):
        recoded(content, source, target)


def test_numbers_that_are_no_floats_are_refused() -> None:
    with pytest.raises(CannotRecode, match="^I32 cannot be converted$"):
        recoded(bytes(128), "I32", "F16")


# The digests are those of what ggml's ``ggml_quantize_chunk`` makes of the same numbers.


@pytest.mark.parametrize(
    ("kind", "digest"),
    [
        ("F16", "d8be6b26bc6edbcb6f0a09c217c57e14993661d29c0ac2f03ae2cd360405f50c"),
        ("BF16", "d18ed813c4d9f69941a0fab9ba3d7c5bca3b89ac02fe0d0b6edd58e9d913c7bf"),
        ("Q8_0", "c4cc72a4f05eb742affa87d7029ca59fb96e4ced3fb268667825f8682472624a"),
    ],
)
def test_the_bytes_are_those_of_ggml(kind: str, digest: str) -> None:
    content = recoded(many_numbers().tobytes(), "F32", kind)
    assert hashlib.sha256(content).hexdigest() == digest


def many_numbers() -> np.ndarray:
    """Numbers of all sizes that fit, also those exactly between two steps."""
    steps = np.arange(1 << 16, dtype=np.int64)
    mantissas = (steps * 40503 % 65521 - 32760).astype(np.float32)
    powers = np.exp2((steps // 32 % 40 - 40).astype(np.float32))
    return (mantissas * powers).astype(np.float32)
