"""Tiny model folders for conversion, written by the program that comes with the recorded cases."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from orchestrator.create.convert.conversion import convert_adapter_directory, convert_directory
from orchestrator.files.gguf import GgufConfig
from tests.golden_records import FOLDER

_OURS = Path(__file__).parents[2] / "golden" / "convert" / "make_models.py"


def write_folder(name: str, directory: Path) -> dict[str, Path]:
    """Write the folder ``name`` and give its files by the names they are uploaded under."""
    for file, content in folder_program().FOLDERS[name]().contents().items():
        path = directory / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return files_in(directory)


def convert(files: Mapping[str, Path], out: Path) -> None:
    """Convert a model to its end."""
    for _ in convert_directory(files, out):
        pass


def convert_adapter(base: GgufConfig, files: Mapping[str, Path], out: Path) -> None:
    """Convert an adapter to its end."""
    for _ in convert_adapter_directory(base, files, out):
        pass


def configuration(name: str) -> dict[str, Any]:
    """The content of ``config.json`` in the folder ``name``; empty if there is no such folder or file."""
    folder = folder_program().FOLDERS.get(name)
    return (folder().config or {}) if folder else {}


def spm_model(pieces: list[tuple[str, float, int]], *, dummy_prefix: bool = True) -> bytes:
    """A SentencePiece file of pieces: text, score, type."""
    content: bytes = folder_program().spm_model(pieces, dummy_prefix)
    return content


def change(directory: Path, changes: Iterable[Mapping[str, Any]]) -> dict[str, Path]:
    """Apply the changes of a case to a written folder, and give its files."""
    for entry in changes:
        folder_program().change(directory, entry)
    return files_in(directory)


def files_in(directory: Path) -> dict[str, Path]:
    return {path.relative_to(directory).as_posix(): path for path in directory.rglob("*") if path.is_file()}


@cache
def folder_program() -> Any:
    """The program that writes the folders."""
    path = FOLDER / "convert" / "make_models.py"
    spec = importlib.util.spec_from_file_location("make_models", path if path.exists() else _OURS)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where dataclasses look for it
    spec.loader.exec_module(module)
    return module
