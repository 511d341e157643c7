"""Modelfiles that come from editors, consoles and ``show``."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.modelfile.commands import Command, Keyword
from orchestrator.modelfile.errors import InvalidModelfile
from orchestrator.modelfile.parser import parse_modelfile
from orchestrator.modelfile.plan import plan_creation
from orchestrator.modelfile.printer import generated_modelfile
from tests.gguf_builder import build_gguf

SHOPPING = 'Please buy:\n- "dark" bread\n- 2 apples, the "red" ones'
FROM = Command(Keyword.FROM, "base")


def read_back(*commands: Command) -> list[tuple[Keyword, str, str]]:
    """The commands as they are after printing them, as ``show --modelfile`` does, and reading that."""
    found = parse_modelfile(generated_modelfile("m", [FROM, *commands]))
    return [(command.keyword, command.name, command.value) for command in found.commands][1:]


# case B139
@pytest.mark.parametrize("role", ["user", "assistant", "system"])
@pytest.mark.parametrize(
    "text",
    [SHOPPING, "one\n\ntwo", 'says "x"', '"quoted"', "# no comment", "FROM nowhere", " indented\n  more "],
)
def test_a_message_of_several_lines_reads_back(role: str, text: str) -> None:
    assert read_back(Command(Keyword.MESSAGE, text, role)) == [(Keyword.MESSAGE, role, text)]


# case B139
@given(st.text(st.characters(min_codepoint=32, max_codepoint=126) | st.sampled_from('\n "é漢😀'), min_size=1))
def test_any_text_that_a_modelfile_can_hold_reads_back(text: str) -> None:
    """Quotes at the end of a line inside of triple quotes cannot be written, nor an end in quotes."""
    if '"""' in text or text.endswith('"') or not text.strip():
        return
    assert read_back(Command(Keyword.MESSAGE, text, "user")) == [(Keyword.MESSAGE, "user", text)]
    assert read_back(Command(Keyword.SYSTEM, text)) == [(Keyword.SYSTEM, "", text)]


# case B141
@pytest.mark.parametrize(
    "path", ['"./my model.gguf"', "./my model.gguf", '"my model.gguf"', '"""./my model.gguf"""']
)
def test_a_quoted_path_is_a_file(tmp_path: Path, path: str) -> None:
    weights = tmp_path / "my model.gguf"
    weights.write_bytes(build_gguf({"general.architecture": "llama"}))
    plan = plan_creation(parse_modelfile(f"FROM {path}\n"), tmp_path)
    assert plan.files == (weights,)


# case B141
def test_a_quoted_name_that_is_no_file_is_a_model(tmp_path: Path) -> None:
    plan = plan_creation(parse_modelfile('FROM "llama9:latest"\n'), tmp_path)
    assert (plan.base, plan.files) == ("llama9:latest", ())


# case B142
@pytest.mark.parametrize(
    "source",
    [
        "\ufeffFROM base\nSYSTEM hi\n".encode(),
        "FROM base\nSYSTEM hi\n".encode("utf-16"),
        b"FROM base\r\nSYSTEM hi\r\n",
        b"\xef\xbb\xbf\r\n\r\nFROM base\r\nSYSTEM hi",
    ],
)
def test_marks_of_byte_order_and_line_ends_do_not_matter(source: bytes) -> None:
    found = parse_modelfile(source).commands
    assert [(command.keyword, command.value) for command in found] == [
        (Keyword.FROM, "base"),
        (Keyword.SYSTEM, "hi"),
    ]


# case B142
@pytest.mark.parametrize(
    ("source", "line", "text"),
    [
        (
            "failed to get console mode for stdout: The handle is invalid.\nFROM base\n",
            1,
            "failed to get console",
        ),
        ("FROM base\n\nPARAMETERS x 1\n", 3, "PARAMETERS x 1"),
        ("FROM base\nMESSAGE robot hi\n", 2, "MESSAGE robot hi"),
    ],
)
def test_a_stray_line_is_shown_with_its_number(source: str, line: int, text: str) -> None:
    with pytest.raises(InvalidModelfile) as refused:
        parse_modelfile(source)
    assert refused.value.hint is not None
    assert f"line {line}" in refused.value.hint
    assert text in refused.value.hint
