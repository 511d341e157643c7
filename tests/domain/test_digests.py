"""Digests: accepted forms and file names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.digests import Digest, InvalidDigest
from tests.golden_records import Record, cases


@pytest.mark.parametrize("record", cases("names/digest.jsonl"))
def test_a_digest_is_read_as_recorded(record: Record) -> None:
    if "error" in record:
        with pytest.raises(InvalidDigest) as refused:
            Digest.parse(record["in"])
        assert str(refused.value) == record["error"]
        return
    assert Digest.parse(record["in"]).file_name == record["out"]["file"]


@given(st.from_regex(r"[0-9a-f]{64}", fullmatch=True))
def test_both_forms_name_one_digest(hex_digits: str) -> None:
    digest = Digest(hex_digits)
    assert Digest.parse(str(digest)) == Digest.parse(digest.file_name) == digest
    assert digest.short == hex_digits[:12]


@pytest.mark.parametrize("digits", ["", "0" * 63, "g" * 64, "0" * 64 + "\n"])
def test_a_malformed_digest_cannot_be_built(digits: str) -> None:
    with pytest.raises(InvalidDigest):
        Digest(digits)
