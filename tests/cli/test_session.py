"""A conversation: what is typed, what is sent, what is shown."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from orchestrator.cli.editor import Editor
from orchestrator.cli.history import History
from orchestrator.cli.session import Session
from orchestrator.cli.settings import Settings
from orchestrator.client.errors import ApiError
from orchestrator.client.native import NativeClient
from tests.native_server import NativeServer, native_server

CTRL_C, CTRL_D, CTRL_J = "\x03", "\x04", "\n"


@pytest.fixture
def server() -> Iterator[NativeServer]:
    with native_server() as server:
        server.says("POST /api/chat", {"message": {"role": "assistant", "content": "Blue."}, "done": True})
        yield server


@contextmanager
def session(server: NativeServer, folder: Path, *typed: str, **settings: Any) -> Iterator[Session]:
    """A session in which lines have been typed, and Ctrl+D after them."""
    with create_pipe_input() as keyboard, NativeClient(server.url) as native:
        keyboard.send_text("".join(typed) + CTRL_D)
        editor = Editor(
            History(folder / "history", saving=True), "vi", keyboard=keyboard, display=DummyOutput()
        )
        yield Session(native, Settings("m", **settings), editor)


@pytest.fixture
def talk(server: NativeServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    """Run a session; gives what was printed on both streams."""

    def run(*lines: str, **settings: Any) -> tuple[str, str]:
        with session(server, tmp_path, *(f"{line}\r" for line in lines), **settings) as talking:
            talking.run()
        printed = capsys.readouterr()
        return printed.out, printed.err

    return run


def said(server: NativeServer) -> list[Any]:
    """The messages of the last request."""
    messages: list[Any] = server.asked("POST /api/chat")[-1]["messages"]
    return messages


def test_a_line_is_sent_and_the_answer_shown(talk: Any, server: NativeServer) -> None:
    assert talk("Color?") == ("Blue.\n\n", "")
    assert said(server) == [{"role": "user", "content": "Color?"}]


def test_the_conversation_is_remembered(talk: Any, server: NativeServer) -> None:
    talk("Color?", "Sure?")
    assert [message["role"] for message in said(server)] == ["user", "assistant", "user"]


def test_an_empty_line_is_not_sent_but_blanks_are(talk: Any, server: NativeServer) -> None:
    talk("", "   ")
    assert [request["messages"][0]["content"] for request in server.asked("POST /api/chat")] == ["   "]


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        (['"""one"""'], "one"),
        (['"""one', "two", 'three"""'], "one\ntwo\nthree"),
        (['"""', "/bye", '"""'], "\n/bye\n"),
        ([f"one{CTRL_J}two"], "one\ntwo"),
        (["\x1b[200~one\rtwo\x1b[201~"], "one\ntwo"),
        (["\x1b[200~one\r\x1b[201~"], "one\n"),
        (["\x1b[200~// one\rtwo\x1b[201~"], "// one\ntwo"),
        (["\x1b[200~/bye\r/list\x1b[201~"], "/bye\n/list"),
        (["\tone"], "        one"),
    ],
)
def test_several_lines_are_one_message(talk: Any, server: NativeServer, lines: list[str], text: str) -> None:
    talk(*lines)
    assert said(server) == [{"role": "user", "content": text}]


def test_bytes_that_are_no_text_are_replaced(server: NativeServer, tmp_path: Path) -> None:
    with create_pipe_input() as keyboard, NativeClient(server.url) as native:
        keyboard.send_bytes(b"a\xffb\xc3\xa4\r" + CTRL_D.encode())
        history = History(tmp_path / "history", saving=True)
        editor = Editor(history, "vi", keyboard=keyboard, display=DummyOutput())
        Session(native, Settings("m"), editor).run()
    assert said(server) == [{"role": "user", "content": "a\ufffdbä"}]
    assert (tmp_path / "history").read_text() == "a\ufffdbä\n"


@pytest.mark.parametrize("end", ["", "\r"])
def test_one_pasted_line_may_be_a_command(talk: Any, server: NativeServer, end: str) -> None:
    out, _ = talk("\x1b[200~one\rtwo\x1b[201~", f"\x1b[200~/frob{end}\x1b[201~")
    assert out.endswith("Unknown command '/frob'. Type /? for help\n")


def test_what_is_left_of_pasted_lines_may_be_a_command(talk: Any, server: NativeServer) -> None:
    out, _ = talk("\x1b[200~/frob\rx\x1b[201~\x7f\x7f")
    assert out == "Unknown command '/frob'. Type /? for help\n"


def test_ctrl_c_leaves_a_block(talk: Any, server: NativeServer) -> None:
    out, _ = talk('"""one', f"two{CTRL_C}three")
    assert out.startswith("Use Ctrl + d or /bye to exit.\n")
    assert said(server) == [{"role": "user", "content": "three"}]


@pytest.mark.parametrize("word", ["/bye", "/exit", "/byebye"])
def test_a_word_ends_the_session(talk: Any, server: NativeServer, word: str) -> None:
    talk(word, "not read")
    assert not server.requests


def test_a_setting_the_server_refuses_is_told_and_the_session_goes_on(
    talk: Any, server: NativeServer
) -> None:
    server.says("POST /api/chat", {"error": '"m" does not support thinking'}, status=400)
    out, _ = talk("one", "two")
    assert out == 'error: 400 Bad Request: "m" does not support thinking\n' * 2
    assert said(server) == [{"role": "user", "content": "two"}]


def test_trouble_upstream_is_told_in_other_words(talk: Any, server: NativeServer) -> None:
    server.says("POST /api/chat", {"error": "upstream error: 503"})
    out, _ = talk("one")
    assert out == "An error occurred while processing your message. Please try again.\n"


def test_any_other_error_ends_the_session(talk: Any, server: NativeServer) -> None:
    server.says("POST /api/chat", {"error": "the engine died"})
    with pytest.raises(ApiError, match="the engine died"):
        talk("one")


def test_a_tool_call_is_told(talk: Any, server: NativeServer) -> None:
    call = {"function": {"name": "find", "arguments": {"q": "é"}}}
    server.says("POST /api/chat", {"message": {"role": "assistant", "content": "", "tool_calls": [call]}})
    out, _ = talk("one")
    assert out.startswith('  Model called a non-existent function \'find()\' with arguments: {"q":"é"}\n')


def test_thinking_is_remembered_with_the_answer(talk: Any, server: NativeServer) -> None:
    server.says("POST /api/chat", {"message": {"role": "assistant", "thinking": "hm", "content": "x"}})
    talk("one", "two")
    assert said(server)[1] == {"role": "assistant", "content": "x", "thinking": "hm"}


def test_stored_messages_are_shown(
    server: NativeServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stored = [
        {"role": "system", "content": "secret"},
        {"role": "user", "content": "Ahoy?"},
        {"role": "assistant", "content": "Ahoy!"},
    ]
    with session(server, tmp_path, card={"messages": stored}) as talking:
        talking.replay()
    assert capsys.readouterr().out == ">>> Ahoy?\nAhoy!\n\n"


def test_loading_takes_the_settings_along(server: NativeServer, tmp_path: Path) -> None:
    server.says("POST /api/generate", {"done": True})
    with session(server, tmp_path, keep_alive="1h0m0s", card={"capabilities": ["thinking"]}) as talking:
        talking.load()
    assert server.asked("POST /api/generate") == [{"model": "m", "keep_alive": "1h0m0s", "think": True}]


def test_what_is_typed_is_kept(talk: Any, tmp_path: Path) -> None:
    talk("one", "/set quiet", "/set nohistory", "two")
    assert (tmp_path / "history").read_text() == "one\n/set quiet\n/set nohistory\n"
