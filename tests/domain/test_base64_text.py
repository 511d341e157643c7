"""Base64 in requests."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.base64_text import IllegalBase64, decode_base64


@given(st.binary(), st.integers(1, 80), st.sampled_from(["", "\n", "\r\n"]))
def test_what_was_encoded_is_read_whatever_its_lines(content: bytes, width: int, end: str) -> None:
    text = base64.b64encode(content).decode()
    lines = [text[start : start + width] for start in range(0, len(text), width)]
    assert decode_base64(end.join(lines)) == content


# as Go's decoder counts
@pytest.mark.parametrize(
    ("text", "offset"),
    [
        ("@@@@", 0),
        ("aGVs@G8=", 4),
        (" aGVsbG8=", 0),
        ("aGVsbG8", 4),
        ("abc", 0),
        ("a", 0),
        ("ab=", 3),
        ("ab=c", 2),
        ("ab==c", 4),
        ("a===", 1),
        ("=", 0),
        ("data:image/png;base64,aGVsbG8=", 4),
        ("aGV\nsb@8=", 6),
        ("aé", 1),
        ("\ud800", 0),
    ],
)
def test_what_is_none_is_told_with_its_place(text: str, offset: int) -> None:
    with pytest.raises(IllegalBase64, match=f"^illegal base64 data at input byte {offset}$"):
        decode_base64(text)


@given(st.text(alphabet="ab/=@\n", max_size=12))
def test_every_text_is_read_or_has_a_place_within_it(text: str) -> None:
    offset = 0
    try:
        decode_base64(text)
    except IllegalBase64 as error:
        offset = error.offset
    assert 0 <= offset <= len(text)
