"""``orch run`` without a conversation."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Orch
from tests.native_server import NativeServer


def piped(content: bytes) -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(content))


@pytest.fixture(autouse=True)
def model(server: NativeServer) -> None:
    server.says("POST /api/show", {"capabilities": ["completion"]})
    server.says(
        "POST /api/generate", {"response": "Sky"}, {"response": " blue", "done": True, "eval_count": 2}
    )


@pytest.fixture(autouse=True)
def nothing_piped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", piped(b""))


def asked(server: NativeServer) -> Any:
    (request,) = server.asked("POST /api/generate")
    return request


def test_words_are_the_prompt_and_the_answer_is_printed(orch: Orch, server: NativeServer) -> None:
    printed = orch("run", "m", "Why", "is", "it?")
    assert (printed.status, printed.out, printed.err) == (0, "Sky blue\n\n", "")
    assert asked(server) == {"model": "m", "prompt": "Why is it?"}


def test_piped_text_comes_before_the_words(
    orch: Orch, server: NativeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", piped(b"piped\r\n\xff"))
    orch("run", "m", "Why?")
    assert asked(server)["prompt"] == "piped\r\n\ufffd Why?"


def test_an_empty_prompt_just_loads(orch: Orch, server: NativeServer) -> None:
    server.says("POST /api/generate", {"response": "", "done": True})
    printed = orch("run", "m", "--verbose", "")
    assert (printed.out, printed.err) == ("", "")


@pytest.mark.parametrize(
    ("flags", "members"),
    [
        (["--format", "json"], {"format": "json"}),
        (["--format", '{"type":"object"}'], {"format": {"type": "object"}}),
        (["--format="], {}),
        (["--keepalive", "90s"], {"keep_alive": "1m30s"}),
        (["--keepalive=0"], {"keep_alive": "0s"}),
        (["--keepalive=-1s"], {"keep_alive": "-1s"}),
        (["--think"], {"think": True}),
        (["--think="], {"think": True}),
        (["--think=false"], {"think": False}),
        (["--think=high"], {"think": "high"}),
    ],
)
def test_flags_go_into_the_request(
    orch: Orch, server: NativeServer, flags: list[str], members: dict[str, Any]
) -> None:
    assert orch("run", "m", "x", *flags).status == 0
    assert asked(server) == {"model": "m", "prompt": "x"} | members


@pytest.mark.parametrize(
    ("flag", "complaint"),
    [
        (
            "--think=HIGH",
            'invalid value for --think: "HIGH" (must be true, false, high, medium, low, or max)',
        ),
        ("--keepalive=10", 'time: missing unit in duration "10"'),
    ],
)
def test_wrong_values_are_told_before_the_model_is_asked_for(
    orch: Orch, server: NativeServer, flag: str, complaint: str
) -> None:
    printed = orch("run", "m", flag, "x")
    assert printed.status == 1
    assert printed.err.startswith(f"Error: {complaint}")
    assert not server.asked("POST /api/show")


def test_a_wrong_format_is_told_after_what_is_wrong_with_the_model(orch: Orch, server: NativeServer) -> None:
    server.says("POST /api/show", {"error": "invalid model name"}, status=400)
    assert orch("run", "a b", "--format=yaml", "hi").err == "Error: invalid model name\n"
    assert "missing unit" in orch("run", "m", "--format=yaml", "--keepalive=10", "hi").err
    server.says("POST /api/show", {"capabilities": ["completion"]})
    told = orch("run", "m", "--format=yaml", "hi").err
    assert told.startswith("Error: invalid value for --format: neither json nor a JSON schema")
    assert not server.asked("POST /api/generate")


def test_vectors_have_no_format(orch: Orch, server: NativeServer) -> None:
    server.says("POST /api/show", {"capabilities": ["embedding"]})
    server.says("POST /api/embed", {"embeddings": [[1, 2]]})
    assert orch("run", "m", "--format=yaml", "hi").out == "[1,2]\n"


def test_thinking_is_set_apart(orch: Orch, server: NativeServer) -> None:
    server.says("POST /api/show", {"capabilities": ["completion", "thinking"]})
    server.says(
        "POST /api/generate", {"thinking": "hm"}, {"thinking": "m"}, {"response": "Yes"}, {"done": True}
    )
    assert orch("run", "m", "x").out == "Thinking...\nhmm\n...done thinking.\n\nYes\n\n"
    assert asked(server)["think"] is True


def test_thinking_can_be_hidden(orch: Orch, server: NativeServer) -> None:
    server.says("POST /api/generate", {"thinking": "hm"}, {"response": "Yes"}, {"done": True})
    assert orch("run", "m", "--hidethinking", "x").out == "Yes\n\n"


def test_thinking_without_an_answer_is_left_open(orch: Orch, server: NativeServer) -> None:
    server.says("POST /api/generate", {"thinking": "hm"}, {"done": True})
    assert orch("run", "m", "x").out == "Thinking...\nhm\n\n"


def test_verbose_tells_times_on_the_other_stream(orch: Orch) -> None:
    printed = orch("run", "m", "--verbose", "x")
    assert printed.out == "Sky blue\n\n"
    assert printed.err == "eval count:           2 token(s)\n"


def test_a_model_that_is_not_there_is_fetched(orch: Orch, server: NativeServer) -> None:
    server.says("POST /api/show", {"error": "model 'm:latest' not found"}, status=404)
    server.says("POST /api/pull", {"status": "pulling manifest"}, {"error": "file does not exist"})
    printed = orch("run", "m", "x", "--insecure")
    assert printed.err == "pulling manifest\nError: file does not exist\n"
    assert server.asked("POST /api/pull") == [{"model": "m", "insecure": True}]


def test_other_errors_about_a_model_end_the_run(orch: Orch, server: NativeServer) -> None:
    server.says("POST /api/show", {"error": "invalid model name"}, status=400)
    assert orch("run", "a b", "x").err == "Error: invalid model name\n"


def test_an_error_in_the_answer_ends_the_run(orch: Orch, server: NativeServer) -> None:
    server.says("POST /api/generate", {"response": "Sky"}, {"error": "the engine died"})
    printed = orch("run", "m", "x")
    assert (printed.status, printed.out, printed.err) == (1, "Sky", "Error: the engine died\n")


def test_files_are_attached_where_the_model_takes_them(
    orch: Orch, server: NativeServer, tmp_path: Path
) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(b"\x89PNG\r\n\x1a\n")
    server.says("POST /api/show", {"capabilities": ["completion", "vision"]})
    assert orch("run", "m", f"what is {path}").err == f"Added image '{path}'\n"
    assert asked(server)["prompt"] == "what is"
    assert asked(server)["images"] == ["iVBORw0KGgo="]


def test_paths_are_text_where_it_does_not(orch: Orch, server: NativeServer, tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    orch("run", "m", f"what is {tmp_path}/a.png")
    assert asked(server)["prompt"] == f"what is {tmp_path}/a.png"


def test_models_that_make_pictures_are_refused(orch: Orch, server: NativeServer) -> None:
    server.says("POST /api/show", {"capabilities": ["image"]})
    assert orch("run", "m", "x").err == "Error: image generation models are not currently supported\n"


class TestEmbeddingModels:
    @pytest.fixture(autouse=True)
    def embedder(self, server: NativeServer, model: None) -> None:
        server.says("POST /api/show", {"capabilities": ["embedding"]})
        server.says("POST /api/embed", {"embeddings": [[0.5, -1e-05]]})

    def test_the_vector_is_printed(self, orch: Orch, server: NativeServer) -> None:
        assert orch("run", "m", "hello", "you").out == "[0.5,-0.00001]\n"
        assert server.asked("POST /api/embed") == [{"model": "m", "input": "hello you"}]

    @pytest.mark.parametrize(
        ("flags", "members"),
        [
            (["--truncate"], {"truncate": True}),
            (["--truncate=false"], {"truncate": False}),
            (["--dimensions", "8"], {"dimensions": 8}),
            (["--dimensions=-4"], {}),
            (["--keepalive", "1m"], {"keep_alive": "1m0s"}),
        ],
    )
    def test_flags_go_into_the_request(
        self, orch: Orch, server: NativeServer, flags: list[str], members: dict[str, Any]
    ) -> None:
        orch("run", "m", "x", *flags)
        assert server.asked("POST /api/embed") == [{"model": "m", "input": "x"} | members]

    def test_text_is_required(self, orch: Orch) -> None:
        assert orch("run", "m").err == (
            'Error: embedding models require input text. Usage: orch run m "your text here"\n'
        )

    def test_an_empty_reply_is_an_error(self, orch: Orch, server: NativeServer) -> None:
        server.says("POST /api/embed", {"embeddings": []})
        assert orch("run", "m", "x").err == "Error: no embeddings returned\n"
