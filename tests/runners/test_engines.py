from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from orchestrator.runners.engines import (
    BINARY,
    QUANTIZER,
    EngineKind,
    EngineNotFound,
    Transport,
    find_engine,
    find_quantizer,
    native_engine,
)


def binary(path: Path, content: bytes = b"\x7fELF") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    path.chmod(0o755)
    return path


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """An environment in which there is no engine but the wheel."""
    return {"PATH": str(tmp_path / "bin"), "XDG_CACHE_HOME": str(tmp_path / "cache")}


def test_engines_are_looked_for_in_their_order(tmp_path: Path, environ: dict[str, str]) -> None:
    def found(named: Path | None = None) -> str:
        return find_engine(environ, named=named, prefix=tmp_path / "prefix").argv_prefix[0]

    assert found() == sys.executable
    on_path = binary(tmp_path / "bin" / BINARY)
    assert found() == str(on_path)
    older = binary(tmp_path / "cache/orch/llama/b1-x/bin" / BINARY)
    assert found() == str(older)
    newer = binary(tmp_path / "cache/orch/llama/b2-x" / BINARY)
    os.utime(older, (1, 1))
    assert found() == str(newer)
    installed = binary(tmp_path / "prefix/lib/orch" / BINARY)
    assert found() == str(installed)
    named = binary(tmp_path / "mine")
    assert found(named) == str(named)


def test_an_engine_that_is_named_must_be_there(tmp_path: Path, environ: dict[str, str]) -> None:
    with pytest.raises(EngineNotFound, match=r"^ORCH_LLAMA_SERVER=.*missing: no such file$"):
        find_engine(environ, named=tmp_path / "missing")


def test_the_embedded_engine_is_run_by_this_interpreter(tmp_path: Path, environ: dict[str, str]) -> None:
    engine = find_engine(environ, prefix=tmp_path)
    assert engine.kind is EngineKind.EMBEDDED
    assert engine.argv_prefix == (sys.executable, "-m", "orchestrator.runners.embedded")
    assert (engine.cwd / "orchestrator").is_dir()


def test_libraries_are_where_the_binary_really_is(tmp_path: Path) -> None:
    real = binary(tmp_path / "lib" / BINARY)
    link = tmp_path / BINARY
    link.symlink_to(real)
    engine = native_engine(link)
    assert engine.argv_prefix == (str(link),)
    assert engine.library_dir == engine.cwd == real.parent


def test_gpu_variants_are_folders_with_a_backend(tmp_path: Path) -> None:
    path = binary(tmp_path / BINARY)
    for file in ("cuda_v13/libggml-cuda.so", "cuda_v13/libggml-base.so", "cuda_v13/libggml-cpu-x64.so"):
        binary(tmp_path / file)
    binary(tmp_path / "cpu/libggml-cpu.so")
    (tmp_path / "empty").mkdir()
    assert native_engine(path).backends == {tmp_path / "cuda_v13": tmp_path / "cuda_v13/libggml-cuda.so"}


def test_a_wrapper_script_is_spoken_to_by_a_port(tmp_path: Path) -> None:
    assert native_engine(binary(tmp_path / "script", b"#!/bin/sh\n")).transport is Transport.TCP
    assert native_engine(binary(tmp_path / "program")).transport is Transport.UNIX


def test_the_quantizer_stands_beside_a_native_engine(tmp_path: Path, environ: dict[str, str]) -> None:
    real = binary(tmp_path / "lib" / BINARY)
    link = tmp_path / "bin" / "engine"
    link.parent.mkdir()
    link.symlink_to(real)
    assert find_quantizer(native_engine(link)) is None
    behind = binary(tmp_path / "lib" / QUANTIZER)
    assert find_quantizer(native_engine(link)) == behind
    beside = binary(tmp_path / "bin" / QUANTIZER)
    assert find_quantizer(native_engine(link)) == beside
    beside.chmod(0o644)
    assert find_quantizer(native_engine(link)) == behind
    assert find_quantizer(find_engine(environ | {"PATH": ""}, prefix=tmp_path)) is None
