"""Every recorded output, cut in many ways."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.golden_records import FOLDER, Record, records, same
from tests.parsers.recorded import all_records, cuttings, files, parser_for, total, wanted

RECORDS = list(all_records())


@pytest.mark.parametrize(
    ("file", "record"), [pytest.param(file, record, id=record["id"]) for file, record in RECORDS]
)
def test_a_recorded_output_gives_what_is_right(file: str, record: Record) -> None:
    for name, pieces in cuttings(record).items():
        found = total(parser_for(file, record), pieces)
        assert same(wanted(record), found), f"{name}: {found}"
