from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from orchestrator import environment as env
from orchestrator.domain.durations import KeepAlive
from orchestrator.environment import Kind, Unusable, Variable


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (env.BOOL, "t", True),
        (env.SWITCH, "FALSE", False),
        (env.UINT, "007", 7),
        (env.UINT, "18446744073709551615", 2**64 - 1),
        (env.SIZE, "4k", 4096),
        (env.KEEP_ALIVE, "-5m", KeepAlive.FOREVER),
        (env.TIMEOUT, "90", timedelta(seconds=90)),
        (env.TIMEOUT, "-1", None),
        (env.LEVEL, "T", -4),
        (env.LEVEL, "+2", -8),
        (env.LIST, "a, ,b", ("a", "b")),
    ],
)
def test_a_text_is_read_as_its_kind(kind: Kind[Any], text: str, value: Any) -> None:
    assert kind.read(text) == value


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (env.UINT, "-1"),
        (env.UINT, "18446744073709551616"),
        (env.UINT, "٣"),
        (env.SIZE, "1.5GiB"),
        (env.KEEP_ALIVE, "1d"),
        (env.LEVEL, "yes"),
        (env.LOG_FORMAT, "xml"),
    ],
)
def test_what_is_not_of_its_kind_leaves_the_default(kind: Kind[Any], text: str) -> None:
    with pytest.raises(Unusable) as refusal:
        kind.read(text)
    assert refusal.value.replacement("default") == "default"


@pytest.mark.parametrize("kind", [env.BOOL, env.SWITCH])
def test_any_other_text_is_true(kind: Kind[bool]) -> None:
    with pytest.raises(Unusable) as refusal:
        kind.read("no")
    assert refusal.value.replacement(False) is True


@pytest.mark.parametrize(
    ("environ", "text"),
    [
        ({}, ""),
        ({"OWL": " \"'a b'\" "}, "a b"),
        ({"owl": "b"}, "b"),
        ({"OWL": "", "owl": "b"}, "b"),
        ({"OWL": "a", "owl": "b"}, "a"),
    ],
)
def test_blanks_and_quotes_around_a_value_do_not_count(environ: dict[str, str], text: str) -> None:
    assert Variable("OWL", "An owl", aliases=("owl",)).text(environ) == text
