"""How objects are matched to fields."""

from __future__ import annotations

import logging

import pytest

from orchestrator.wire.errors import InvalidBody, MissingBody
from orchestrator.wire.model import (
    Nullable,
    OmitEmpty,
    OmitNone,
    OmitUnset,
    Wire,
    decode_body,
    encode,
)


class Part(Wire):
    size: int = 0


class Body(Wire):
    model: str = ""
    count: OmitEmpty[int] = 0
    stream: OmitNone[bool | None] = None
    extra: OmitUnset[object] = None
    given: Nullable[dict[str, int] | None] = {}
    parts: list[Part] | None = None


def read(text: bytes) -> Body:
    body, _ = decode_body(text, Body)
    return body


@pytest.mark.parametrize("text", [b"", b" \n\t"])
def test_an_empty_body_is_missing(text: bytes) -> None:
    with pytest.raises(MissingBody, match="^missing request body$"):
        read(text)


def test_a_null_body_is_an_empty_object() -> None:
    assert read(b"null") == Body()


def test_names_match_in_any_case_and_the_last_one_wins() -> None:
    assert read(b'{"MODEL":"m","model":"n"}').model == "n"
    assert read(b'{"model":"n","Model":"m","PARTS":[{"Size":3}]}') == Body(model="m", parts=[Part(size=3)])


def test_nulls_are_absent_but_where_they_mean_something() -> None:
    body = read(b'{"model":null,"parts":[null],"given":null,"count":null}')
    assert body == Body(given=None, parts=[Part()])
    assert read(b"{}").given == {}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (b"5", "body: expected an object, got the number 5"),
        (b"[]", "body: expected an object, got a list"),
        (b'{"model":5}', "model: expected a string, got the number 5"),
        (b'{"count":2.0}', "count: expected a whole number, got the number 2.0"),
        (b'{"count":true}', "count: expected a whole number, got true"),
        (b'{"count":"2"}', "count: expected a whole number, got a string"),
        (b'{"stream":"yes"}', "stream: expected true or false, got a string"),
        (b'{"stream":1}', "stream: expected true or false, got the number 1"),
        (b'{"parts":{}}', "parts: expected a list, got an object"),
        (b'{"parts":[{"size":1},"x"]}', "parts[1]: expected an object, got a string"),
        (b'{"parts":[{"size":[]}]}', "parts[0].size: expected a whole number, got a list"),
    ],
)
def test_a_value_of_the_wrong_type_is_named(text: bytes, complaint: str) -> None:
    with pytest.raises(InvalidBody) as refused:
        read(text)
    assert str(refused.value) == f"invalid request: {complaint}"


def test_unknown_keys_are_ignored_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    """Case B067: a misspelt ``messages`` must leave a trace."""
    with caplog.at_level(logging.WARNING):
        body, unknown = decode_body(b'{"model":"m","message":[],"Count":1,"parts":[{"seize":1},{}]}', Body)
    assert body == Body(model="m", count=1, parts=[Part(), Part()])
    assert unknown == ("message", "parts[0].seize")
    assert [record.getMessage() for record in caplog.records] == [
        "unknown keys in request ignored: message, parts[0].seize"
    ]


def test_nothing_is_logged_for_known_keys(caplog: pytest.LogCaptureFixture) -> None:
    read(b'{"MODEL":"m","stream":null}')
    assert not caplog.records


@pytest.mark.parametrize(
    ("text", "written"),
    [
        (b"{}", b'{"model":"","given":{},"parts":null}'),
        (
            b'{"count":1,"stream":false,"extra":null}',
            b'{"model":"","count":1,"stream":false,"extra":null,"given":{},"parts":null}',
        ),
        (b'{"given":null}', b'{"model":"","given":null,"parts":null}'),
    ],
)
def test_empty_members_are_left_out_where_the_peer_does(text: bytes, written: bytes) -> None:
    assert encode(read(text)) == written
