"""Conversations that are kept."""

from __future__ import annotations

import pytest

from orchestrator.api.openai.responses.store import ResponseStore, UnknownResponse
from orchestrator.domain.requests import Message

WORDS = (Message("user", "My word is FERN."),)


def test_what_was_kept_is_there_and_nothing_else() -> None:
    store = ResponseStore()
    store.keep("resp_1", WORDS)
    assert store.get("resp_1") == WORDS
    assert "resp_1" in store
    with pytest.raises(UnknownResponse, match="'resp_2' not found"):
        store.get("resp_2")


def test_the_one_that_rested_longest_is_given_up() -> None:
    store = ResponseStore(max_responses=2)
    store.keep("resp_1", WORDS)
    store.keep("resp_2", WORDS)
    store.get("resp_1")
    store.keep("resp_3", WORDS)
    assert [f"resp_{number}" in store for number in (1, 2, 3)] == [True, False, True]


def test_memory_is_bounded() -> None:
    store = ResponseStore(max_bytes=10_000)
    for number in range(20):
        store.keep(f"resp_{number}", [Message("user", "x" * 1000)])
    assert "resp_19" in store
    assert sum(f"resp_{number}" in store for number in range(20)) == 6
    store.keep("resp_20", [Message("user", images=(bytes(20_000),))])
    assert "resp_20" not in store
    assert "resp_19" not in store


def test_keeping_again_replaces() -> None:
    store = ResponseStore(max_bytes=2000)
    for _ in range(10):
        store.keep("resp_1", WORDS)
    assert store.get("resp_1") == WORDS
