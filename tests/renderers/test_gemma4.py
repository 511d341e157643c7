"""Which Gemma 4 renderer the alias stands for."""

from __future__ import annotations

import pytest

from orchestrator.renderers.gemma4_sizes import variant


@pytest.mark.parametrize(
    ("short_name", "full_name", "model_type", "name"),
    [
        ("gemma4:e2b", "", "31B", "gemma4-small"),
        ("gemma4:E4B-it", "", "", "gemma4-small"),
        ("gemma4:31b", "", "", "gemma4-large"),
        ("mine", "registry/library/gemma4-12B:latest", "4B", "gemma4-large"),
        ("mine:e2b", "library/gemma4-26b", "", "gemma4-small"),
        ("mine", "mine", "25.2B", "gemma4-large"),
        ("mine", "mine", "12B", "gemma4-large"),
        ("mine", "mine", "11.9b", "gemma4-small"),
        ("mine", "mine", "12000M", "gemma4-large"),
        ("mine", "mine", "270k", "gemma4-small"),
        ("mine", "mine", "", "gemma4-small"),
        ("mine", "mine", "1.2.3B", "gemma4-small"),
        ("mine", "mine", "big", "gemma4-small"),
    ],
)
def test_the_size_is_told_by_names_then_by_the_type(
    short_name: str, full_name: str, model_type: str, name: str
) -> None:
    assert variant(short_name, full_name, model_type) == name
