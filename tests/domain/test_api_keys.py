"""Keys and their owners."""

from __future__ import annotations

import pytest

from orchestrator.domain.api_keys import ApiKeys, InvalidApiKeys


def test_a_key_has_an_owner() -> None:
    keys = ApiKeys.parse(["anna  one", "", "# bert two", "\tthree ", "anna four"])
    assert {key: keys.owner(key) for key in ("one", "two", "three", "four", "anna", "")} == {
        "one": "anna",
        "two": None,
        "three": "key-4",
        "four": "anna",
        "anna": None,
        "": None,
    }


def test_keys_are_not_kept() -> None:
    assert "secret" not in repr(ApiKeys.parse(["anna secret"]))


@pytest.mark.parametrize("key", ["Secret", "secre", "secret2", "sécret", "\udcff"])
def test_a_key_is_known_whole(key: str) -> None:
    assert ApiKeys.parse(["secret"]).owner(key) is None


@pytest.mark.parametrize(
    ("entries", "problem"),
    [
        (["", "anna of secret"], "entry 2 has 3 words; it takes a name and a key"),
        (["anna secret", "bert secret"], "entry 2 repeats the key of anna"),
        (["anna sécret"], "entry 1 has a key with letters that headers cannot carry"),
    ],
)
def test_what_cannot_be_meant_is_told_without_the_key(entries: list[str], problem: str) -> None:
    with pytest.raises(InvalidApiKeys) as refused:
        ApiKeys.parse(entries)
    assert str(refused.value) == problem


def test_an_entry_may_be_repeated() -> None:
    assert ApiKeys.parse(["anna secret", "anna secret"]).owner("secret") == "anna"


def test_both_sources_count() -> None:
    both = ApiKeys.parse(["anna one"]) | ApiKeys.parse(["bert two"])
    assert (both.owner("one"), both.owner("two")) == ("anna", "bert")
