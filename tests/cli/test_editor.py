"""Reading messages from the keyboard."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from orchestrator.cli.editor import Editor, Interrupted
from orchestrator.cli.history import History

LEFT, HOME, END = "\x1b[D", "\x1b[H", "\x1b[F"
CTRL_A, CTRL_C, CTRL_D, CTRL_G, CTRL_K, CTRL_U, CTRL_W = (
    "\x01",
    "\x03",
    "\x04",
    "\x07",
    "\x0b",
    "\x15",
    "\x17",
)
ALT_BACKSPACE = "\x1b\x7f"


@contextmanager
def editor(folder: Path, typed: str, command: str = "vi") -> Iterator[Editor]:
    with create_pipe_input() as keyboard:
        keyboard.send_text(typed)
        yield Editor(
            History(folder / "history", saving=True), command, keyboard=keyboard, display=DummyOutput()
        )


@pytest.mark.parametrize(
    ("typed", "text"),
    [
        ("plain", "plain"),
        (f"bc{CTRL_A}a", "abc"),
        (f"bc{HOME}a{END}d", "abcd"),
        ("bc\x1b[1~a\x1b[4~d", "abcd"),
        (f"abc{LEFT}{CTRL_D}", "ab"),
        (f"abc{LEFT}{CTRL_K}", "ab"),
        (f"abc{LEFT}{CTRL_U}", "c"),
        (f"one two{CTRL_W}", "one "),
        (f"one two{ALT_BACKSPACE}", "one "),
        ("a\tb", "a        b"),
        ("one\ntwo", "one\ntwo"),
        ("one\n\x7f", "one"),
        ("\x1b[200~one\rtwo\r\x1b[201~", "one\ntwo\n"),
    ],
)
def test_keys_edit_the_line(tmp_path: Path, typed: str, text: str) -> None:
    with editor(tmp_path, f"{typed}\r") as editing:
        assert editing.read() == text


def test_ctrl_c_throws_the_line_away(tmp_path: Path) -> None:
    with editor(tmp_path, f"draft{CTRL_C}next\r") as editing:
        with pytest.raises(Interrupted):
            editing.read()
        assert editing.read() == "next"


def test_ctrl_d_on_an_empty_line_is_the_end(tmp_path: Path) -> None:
    with editor(tmp_path, CTRL_D) as editing, pytest.raises(EOFError):
        editing.read()


def test_another_editor_may_go_on_with_the_text(tmp_path: Path) -> None:
    with editor(tmp_path, f"Name{CTRL_G}!\r", command="sed -i -e $aSecond") as editing:
        assert editing.read() == "Name\nSecond!"


def test_an_editor_that_leaves_blanks_leaves_nothing(tmp_path: Path) -> None:
    with editor(tmp_path, f"Name{CTRL_G}!\r", command="sed -i -e 's/.*/  /'") as editing:
        assert editing.read() == "!"


@pytest.mark.parametrize(
    ("command", "complaint"),
    [
        (
            "no-such-editor",
            'editor "no-such-editor" not found, set OLLAMA_EDITOR to the path of your preferred editor',
        ),
        (
            "no-such-editor --wait",
            'editor "no-such-editor" not found, set OLLAMA_EDITOR to the path of your preferred editor',
        ),
        (
            "it's-none",
            'editor "it\'s-none" not found, set OLLAMA_EDITOR to the path of your preferred editor',
        ),
        (" ", 'editor " " not found, set OLLAMA_EDITOR to the path of your preferred editor'),
        ("false", "editor exited with error: exit status 1"),
    ],
)
def test_an_editor_that_fails_loses_the_text_and_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str, complaint: str
) -> None:
    with editor(tmp_path, f"Name{CTRL_G}!\r", command=command) as editing:
        assert editing.read() == "!"
    assert capsys.readouterr().out == f"error: {complaint}\n"
