"""``orch create``."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from tests.cli.conftest import Orch
from tests.native_server import NativeServer

CONTENT = b"some weights"
DIGEST = f"sha256:{hashlib.sha256(CONTENT).hexdigest()}"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: NativeServer) -> Path:
    monkeypatch.chdir(tmp_path)
    server.says("POST /api/create", {"status": "writing manifest"}, {"status": "success"})
    return tmp_path


def test_a_model_is_made_from_another(orch: Orch, server: NativeServer, folder: Path) -> None:
    (folder / "Modelfile").write_text("FROM base\nSYSTEM Be brief.\nPARAMETER top_k 5\n")
    printed = orch("create", "mine")
    assert (printed.status, printed.out) == (0, "")
    assert printed.err == "gathering model components\nwriting manifest\nsuccess\n"
    assert server.asked("POST /api/create") == [
        {"model": "mine", "from": "base", "system": "Be brief.", "parameters": {"top_k": 5}}
    ]


def test_files_are_uploaded_first(orch: Orch, server: NativeServer, folder: Path) -> None:
    (folder / "other").write_text("FROM ./m.gguf\n")
    (folder / "m.gguf").write_bytes(CONTENT)
    server.says(f"POST /api/blobs/{DIGEST}", status=201)
    printed = orch("create", "mine", "-f", "other", "-q", "q4_K_M")
    assert f"\ncopying file {DIGEST} 100%\n" in printed.err
    assert CONTENT in [each.body for each in server.requests]
    assert server.asked("POST /api/create") == [
        {"model": "mine", "quantize": "q4_K_M", "files": {"m.gguf": DIGEST}}
    ]


def test_a_file_the_server_has_is_not_sent_again(orch: Orch, server: NativeServer, folder: Path) -> None:
    (folder / "Modelfile").write_text("FROM ./m.gguf\n")
    (folder / "m.gguf").write_bytes(CONTENT)
    server.says(f"HEAD /api/blobs/{DIGEST}")
    assert f"copying file {DIGEST} 100%\n" in orch("create", "mine").err
    assert CONTENT not in [each.body for each in server.requests]


@pytest.mark.parametrize(
    ("words", "text", "err"),
    [
        (["a b"], "FROM base\n", "\nError: invalid model name: a b\n"),
        ([""], "FROM base\n", "\nError: invalid model name:\n"),
        (["m"], "SYSTEM hi\n", "\nError: no FROM line\n"),
        (["m"], "FROM base\nPARAMETER flavour x\n", "Error: unknown parameter 'flavour'\n"),
        (
            ["m", "--draft-quantize", "q4_0"],
            "FROM base\n",
            "Error: --draft-quantize requires a DRAFT model\n",
        ),
        (["m", "-f", "nowhere"], "FROM base\n", "Error: no Modelfile or safetensors files found\n"),
        (["m", "-f", "."], "FROM base\n", "Error: open {}: is a directory\n"),
        (["m"], "FROM base\nADAPTER ./none\n", "Error: open {}/none: no such file or directory\n"),
        (
            ["m", "--experimental"],
            "FROM base\n",
            "Error: base is not a supported safetensors model directory ",
        ),
    ],
)
def test_what_is_wrong_is_told(orch: Orch, folder: Path, words: list[str], text: str, err: str) -> None:
    (folder / "Modelfile").write_text(text)
    printed = orch("create", *words)
    assert printed.status == 1
    assert err.format(folder) in printed.err


def test_a_deprecated_parameter_is_warned_of(orch: Orch, folder: Path) -> None:
    (folder / "Modelfile").write_text("FROM base\nPARAMETER mirostat 1\n")
    assert orch("create", "m").out == "warning: parameter mirostat is deprecated\n"


def test_a_safetensors_folder_may_be_experimental(orch: Orch, server: NativeServer, folder: Path) -> None:
    (folder / "Modelfile").write_text("FROM ./model\n")
    (folder / "model").mkdir()
    (folder / "model" / "config.json").write_text("{}")
    (folder / "model" / "model.safetensors").write_bytes(b"\x00")
    for content in (b"{}", b"\x00"):
        server.says(f"HEAD /api/blobs/sha256:{hashlib.sha256(content).hexdigest()}")
    assert orch("create", "m", "--experimental").status == 0
    (request,) = server.asked("POST /api/create")
    assert request["files"].keys() == {"config.json", "model.safetensors"}
