"""The commands of a session."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from orchestrator.client.errors import ApiError
from tests.cli.test_session import said, server, session, talk
from tests.native_server import NativeServer

__all__ = ["server", "talk"]

CARD = {
    "license": "Terms",
    "modelfile": "FROM x",
    "parameters": "top_k   5\nseed    1",
    "system": "Be brief.",
    "template": "{{ .Prompt }}",
    "details": {"family": "llama"},
}


@pytest.mark.parametrize(
    ("line", "out"),
    [
        ("/frob with words", "Unknown command '/frob'. Type /? for help\n"),
        ("/", "Unknown command '/'. Type /? for help\n"),
        ("/set frob", "Unknown command '/set frob'. Type /? for help\n"),
        ("/show frob", "Unknown command '/show frob'. Type /? for help\n"),
        ("/set verbose", "Set 'verbose' mode.\n"),
        ("/set quiet", "Set 'quiet' mode.\n"),
        ("/set wordwrap", "Set 'wordwrap' mode.\n"),
        ("/set nowordwrap", "Set 'nowordwrap' mode.\n"),
        ("/set format json", "Set format to 'json' mode.\n"),
        ("/set format", "Invalid or missing format. For 'json' mode use '/set format json'\n"),
        ("/set format yaml", "Invalid or missing format. For 'json' mode use '/set format json'\n"),
        ("/set noformat", "Disabled format.\n"),
        ("/set system Be kind.", "Set system message.\n"),
        ("/set parameter stop one two", "Set parameter 'stop' to 'one, two'\n"),
        ("/set parameter seed 1.5", 'Couldn\'t set parameter: "invalid int value [1.5]"\n'),
        ("/set parameter nosuch 1", "Couldn't set parameter: \"unknown parameter 'nosuch'\"\n"),
        ('/set parameter seed "1"', "Couldn't set parameter: " r'"invalid int value [\"1\"]"' "\n"),
        ("/clear", "Cleared session context\n"),
        ("/load", "Usage:\n  /load <modelname>\n"),
        ("/load a b", "Usage:\n  /load <modelname>\n"),
        ("/save", "Usage:\n  /save <modelname>\n"),
        ("/show license", "Terms\n"),
        ("/show system", "Be brief.\n\n"),
        ("/show template", "{{ .Prompt }}\n"),
        ("/show parameters", "Model defined parameters:\n  seed    1\n  top_k   5\n\n"),
        ("/set history", ""),
        ("/? nosuch", ""),
    ],
)
def test_a_command_says_what_it_did(talk: Any, line: str, out: str) -> None:
    assert talk(line, card=CARD) == (out, "")


@pytest.mark.parametrize(
    ("line", "out"),
    [
        ("/show license", "No license was specified for this model.\n"),
        ("/show system", "No system message was specified for this model.\n"),
        ("/show template", "No prompt template was specified for this model.\n"),
        (
            "/show parameters",
            "Model defined parameters:\n  No additional parameters were specified for this model.\n\n",
        ),
    ],
)
def test_what_a_model_lacks_is_told(talk: Any, line: str, out: str) -> None:
    assert talk(line) == (out, "")


@pytest.mark.parametrize(
    ("line", "beginning"),
    [
        ("/?", "Commands:\n  /set "),
        ("/help", "Commands:\n  /set "),
        ("/? set", "Settings:\n"),
        ("/help /set", "Settings:\n"),
        ("/set", "Settings:\n"),
        ("/set system", "Settings:\n"),
        ("/? show", "Things to show:\n"),
        ("/show", "Things to show:\n"),
        ("/? shortcut", "Keys:\n"),
        ("/? shortcuts", "Keys:\n"),
        ("/set parameter", "Parameters:\n"),
        ("/set parameter seed", "Parameters:\n"),
        ("/show info", "  Model\n"),
    ],
)
def test_help_goes_to_the_other_stream(talk: Any, line: str, beginning: str) -> None:
    out, err = talk(line)
    assert out == ""
    assert err.startswith(beginning)


def test_user_defined_parameters_are_shown_and_sent(talk: Any, server: NativeServer) -> None:
    lines = ("temperature 0.25", "stop one two", "use_mmap true", "num_ctx 1024", "top_p 0.12345678")
    out, _ = talk(*(f"/set parameter {line}" for line in lines), "/show parameters", "hi")
    assert (
        "User defined parameters:\n"
        "  num_ctx                        1024\n"
        "  stop                           [one two]\n"
        "  temperature                    0.25\n"
        "  top_p                          0.12345678\n"
        "  use_mmap                       true\n\n"
    ) in out
    assert server.asked("POST /api/chat")[0]["options"] == {
        "temperature": 0.25,
        "stop": ["one", "two"],
        "use_mmap": True,
        "num_ctx": 1024,
        "top_p": 0.12345678,
    }


def test_a_system_message_takes_the_place_of_one_nothing_was_said_under(
    talk: Any, server: NativeServer
) -> None:
    out, _ = talk("/set system One", "/set system Two", "hi", "/set system Three", "/show system", "ho")
    assert out.endswith("Three\n\nBlue.\n\n")
    assert [message["content"] for message in said(server)] == ["Two", "hi", "Blue.", "Three", "ho"]


def test_a_system_message_may_be_a_block(talk: Any, server: NativeServer) -> None:
    talk('/set system """One', 'two"""', '/set system """three"""', "hi")
    assert said(server)[0] == {"role": "system", "content": "three"}
    talk('/set system """One', 'two"""', "hi")
    assert said(server)[0] == {"role": "system", "content": "One\ntwo"}


def test_clearing_keeps_the_system_message(talk: Any, server: NativeServer) -> None:
    talk("/set system One", "hi", "/clear", "ho")
    assert [message["content"] for message in said(server)] == ["One", "ho"]


@pytest.mark.parametrize(
    ("line", "think", "out"),
    [
        ("/set think", True, "Set 'think' mode.\n"),
        ("/set think high", "high", "Set 'think' mode to 'high'.\n"),
        ("/set nothink", False, "Set 'nothink' mode.\n"),
    ],
)
def test_thinking_can_be_chosen(
    talk: Any, server: NativeServer, line: str, think: bool | str, out: str
) -> None:
    printed, err = talk(line, "hi")
    assert printed.startswith(out)
    assert err == 'warning: model "m" does not support thinking output\n'
    assert server.asked("POST /api/chat")[0]["think"] == think


def test_format_and_its_end_are_sent(talk: Any, server: NativeServer) -> None:
    talk("/set format json", "one", "/set noformat", "two")
    assert [request.get("format") for request in server.asked("POST /api/chat")] == ["json", None]


def test_verbose_tells_times(talk: Any, server: NativeServer) -> None:
    server.says("POST /api/chat", {"message": {"role": "assistant", "content": "x"}, "eval_count": 2})
    assert talk("/set verbose", "hi", "/set quiet", "hi")[1] == "eval count:           2 token(s)\n"


def test_another_model_can_be_loaded(talk: Any, server: NativeServer) -> None:
    server.says("POST /api/show", CARD)
    server.says("POST /api/generate", {"done": True})
    out, _ = talk("/set system One", "/set parameter top_k 5", "hi", "/load other", "/show system", "ho")
    assert "Loading model 'other'\nBe brief.\n\n" in out
    request = server.asked("POST /api/chat")[-1]
    assert request == {
        "model": "other",
        "messages": [{"role": "user", "content": "ho"}],
        "options": {"top_k": 5},
    }


def test_an_unknown_model_changes_nothing(talk: Any, server: NativeServer) -> None:
    server.says("POST /api/show", {"error": "model 'other:latest' not found"}, status=404)
    out, _ = talk("hi", "/load other", "ho")
    assert "Loading model 'other'\nCouldn't find model 'other'\n" in out
    assert [message["content"] for message in said(server)] == ["hi", "Blue.", "ho"]


def test_a_name_that_cannot_be_ends_the_session(talk: Any, server: NativeServer) -> None:
    server.says("POST /api/show", {"error": "invalid model name"}, status=400)
    with pytest.raises(ApiError, match="invalid model name"):
        talk("/load a/b/c/d/e")


def test_a_session_can_be_saved(talk: Any, server: NativeServer) -> None:
    server.says("POST /api/create", {"status": "success"})
    stored = {"role": "user", "content": "Ahoy?"}
    card = {"messages": [stored], "details": {"parent_model": "base:latest"}}
    out, _ = talk("/set system One", "/set parameter top_k 5", "hi", "/save mine", card=card)
    assert out.endswith("Created new model 'mine'\n")
    assert server.asked("POST /api/create") == [
        {
            "model": "mine",
            "from": "base:latest",
            "system": "One",
            "parameters": {"top_k": 5},
            "messages": [
                stored,
                {"role": "system", "content": "One"},
                {"role": "user", "content": "hi"},
                {"role": "assistant", "content": "Blue."},
            ],
        }
    ]


def test_a_name_that_cannot_be_is_told_when_saving(talk: Any, server: NativeServer) -> None:
    server.says("POST /api/create", {"error": "invalid model name"}, status=400)
    assert talk("/save a/b/c/d/e")[0] == "error: The model name 'a/b/c/d/e' is invalid\n"


def test_a_session_that_cannot_be_saved_goes_on(talk: Any, server: NativeServer) -> None:
    server.says("POST /api/create", {"error": "write x: no space left on device"})
    out, _ = talk("/save mine", "/clear")
    assert out == "error: could not save 'mine': write x: no space left on device\nCleared session context\n"


@pytest.mark.parametrize("parent", ["", "a b", "/models/blobs/sha256-0", "sub/dir/of/files/m.gguf"])
def test_a_model_made_of_files_is_its_own_parent(talk: Any, server: NativeServer, parent: str) -> None:
    server.says("POST /api/create", {"status": "success"})
    talk("/save mine", card={"details": {"parent_model": parent}})
    assert server.asked("POST /api/create") == [{"model": "mine", "from": "m"}]


def test_the_modelfile_is_shown_with_what_was_set(talk: Any, server: NativeServer) -> None:
    server.says("POST /api/show", {"modelfile": "FROM x"})
    out, _ = talk("/show modelfile", "/set system One", "/set parameter top_k 5", "/show modelfile")
    assert out.startswith("FROM x\nSet system message.\n")
    assert server.asked("POST /api/show") == [
        {"model": "m", "verbose": False},
        {"model": "m", "verbose": False, "system": "One", "options": {"top_k": 5}},
    ]


def test_a_setting_that_another_model_lacks_does_not_end_the_session(talk: Any, server: NativeServer) -> None:
    server.says("POST /api/show", CARD)
    server.says("POST /api/generate", {"error": '"other" does not support thinking'}, status=400)
    out, _ = talk("/set think", "/load other", "/clear")
    assert out.endswith(
        'error: 400 Bad Request: "other" does not support thinking\nCleared session context\n'
    )


def test_models_can_be_listed(talk: Any, server: NativeServer) -> None:
    server.says("GET /api/tags", {"models": []})
    assert talk("/list x")[0] == "NAME    ID    SIZE    MODIFIED \n"


def test_a_path_is_a_file_where_the_model_takes_them(talk: Any, server: NativeServer, tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(b"\x89PNG\r\n\x1a\n")
    card = {"capabilities": ["vision"]}
    assert talk(f"{path} what?", card=card)[1] == f"Added image '{path}'\n"
    assert said(server) == [{"role": "user", "content": "what?", "images": ["iVBORw0KGgo="]}]
    assert talk(f"{path} what?")[0] == f"Unknown command '{path}'. Type /? for help\n"


def test_loading_a_model_that_makes_pictures_ends_the_session(server: NativeServer, tmp_path: Path) -> None:
    from orchestrator.errors import BadRequest

    server.says("POST /api/show", {"capabilities": ["image"]})
    with session(server, tmp_path, "/load other\r") as talking, pytest.raises(BadRequest):
        talking.run()
