"""Every recorded output, cut in many ways."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.golden_records import Record, same
from tests.parsers.recorded import all_records, cuttings, parser_for, total, wanted

RECORDS = list(all_records())


@pytest.mark.parametrize(
    ("file", "record"), [pytest.param(file, record, id=record["id"]) for file, record in RECORDS]
)
def test_a_recorded_output_gives_what_is_right_however_it_is_cut(file: str, record: Record) -> None:
    for name, pieces in cuttings(record).items():
        found = total(parser_for(file, record), pieces)
        assert same(wanted(record), found), f"{name}: {found}"


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_any_cut_of_a_recorded_output_gives_the_same(data: st.DataObject) -> None:
    file, record = data.draw(st.sampled_from(RECORDS))
    text = record["raw"]
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=12)))
    pieces = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    assert same(wanted(record), total(parser_for(file, record), pieces))
