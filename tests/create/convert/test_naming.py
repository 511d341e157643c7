"""Replacements in tensor names."""

from __future__ import annotations

import pytest

from orchestrator.create.convert.naming import Renaming


@pytest.mark.parametrize(
    ("replacements", "name", "renamed"),
    [
        ({"a": "b", "b": "c"}, "ab", "bc"),
        ({"ab": "1", "a": "2"}, "aba", "12"),
        ({"a": "2", "ab": "1"}, "ab", "2b"),
        ({"x.": ""}, "x.x.y", "y"),
        ({"a.b": "-"}, "aXb", "aXb"),
    ],
)
def test_the_first_source_listed_wins_and_nothing_is_replaced_twice(
    replacements: dict[str, str], name: str, renamed: str
) -> None:
    assert Renaming(replacements)(name) == renamed
