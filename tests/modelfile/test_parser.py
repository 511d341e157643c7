"""Reading Modelfiles: recorded cases, tolerance, where errors point."""

from __future__ import annotations

import base64
import codecs
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.modelfile.commands import Command, Keyword
from orchestrator.modelfile.errors import InvalidModelfile
from orchestrator.modelfile.parser import parse_modelfile
from orchestrator.modelfile.printer import print_modelfile
from tests.golden_records import Record, cases, matches


def source_of(record: Record) -> bytes:
    given_in = record["in"]
    return base64.b64decode(given_in["b64"]) if "b64" in given_in else given_in["text"].encode()


def recorded_form(command: Command) -> dict[str, str]:
    match command.keyword:
        case Keyword.FROM:
            return {"name": "model", "args": command.value}
        case Keyword.PARAMETER:
            return {"name": command.name, "args": command.value}
        case Keyword.MESSAGE:
            return {"name": "message", "args": f"{command.name}: {command.value}"}
        case keyword:
            return {"name": str(keyword), "args": command.value}


@pytest.mark.parametrize("record", [*cases("modelfile/parse.jsonl"), *cases("modelfile/files.jsonl")])
def test_a_modelfile_is_read_and_printed_as_recorded(record: Record) -> None:
    result: dict[str, Any]
    try:
        commands = parse_modelfile(source_of(record)).commands
        result = {"out": {"commands": [*map(recorded_form, commands)], "printed": print_modelfile(commands)}}
    except InvalidModelfile as error:
        result = {"error": str(error)}
    assert matches(without_request(record), result)


def without_request(record: Record) -> Record:
    """The record as far as reading the file goes."""
    kept = {key: value for key, value in record.items() if key != "free"}
    for result in (kept, kept.get("also", {})):
        if "out" in result:
            result["out"] = {key: result["out"][key] for key in ("commands", "printed")}
    return kept


@pytest.mark.parametrize(
    ("source", "commands"),
    [
        pytest.param(b"\xef\xbb\xbfFROM a\r\nSYSTEM b\r\n", ["from a", "system b"], id="mark and CRLF"),
        pytest.param(b"FROM a\rSYSTEM b", ["from a", "system b"], id="CR"),
        pytest.param(codecs.BOM_UTF16_BE + "FROM é\n".encode("utf-16-be"), ["from é"], id="UTF-16 BE"),
        pytest.param(b'FROM "./my model.gguf"', ["from ./my model.gguf"], id="quoted path"),
        pytest.param(
            b"FROM a\nMESSAGE  user  hi", ["from a", "message user hi"], id="spaces before the role"
        ),
        pytest.param(b"FROM a\nSYSTEM caf\xc3", ["from a", "system caf\ufffd"], id="wrong UTF-8"),
    ],
)
def test_files_of_other_editors_are_read(source: bytes, commands: list[str]) -> None:
    parsed = parse_modelfile(source).commands
    assert [
        " ".join(filter(None, (command.keyword, command.name, command.value))) for command in parsed
    ] == commands


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("pulling manifest\nFROM a\n", 'line 1 reads "pulling manifest"'),
        ("FROM a\r\n\r\nFETCH b\r\n", 'line 3 reads "FETCH b"'),
        ("FROM a\nMESSAGE tool b\n", 'line 2 reads "MESSAGE tool b"'),
        ("FROM a\nPARAMETER top_k\n", 'line 2 reads "PARAMETER top_k"'),
        ('FROM a\nSYSTEM """b\nc\n', 'line 2: the """ opened here is never closed at the end of a line'),
    ],
)
def test_an_error_points_at_the_line_and_what_it_says(text: str, hint: str) -> None:
    with pytest.raises(InvalidModelfile) as caught:
        parse_modelfile(text)
    assert caught.value.hint == hint


def test_a_command_knows_its_line() -> None:
    modelfile = parse_modelfile('# top\r\nFROM a\r\nSYSTEM """x\r\ny"""\r\nLICENSE z')
    assert [command.line for command in modelfile.commands] == [2, 3, 5]


def test_the_last_of_several_counts() -> None:
    modelfile = parse_modelfile("FROM a\nSYSTEM one\nSYSTEM two\n")
    assert modelfile.last(Keyword.SYSTEM) == "two"
    assert modelfile.last(Keyword.TEMPLATE) == ""
    assert len(modelfile.all(Keyword.SYSTEM)) == 2


def test_a_long_value_takes_linear_time() -> None:
    text = "owls hoot\n" * 200_000
    (_, system) = parse_modelfile(f'FROM a\nSYSTEM """{text}"""').commands
    assert system.value == text


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_any_bytes_are_a_modelfile_or_an_invalid_one(source: bytes) -> None:
    with suppress(InvalidModelfile):
        assert parse_modelfile(source).all(Keyword.FROM)
