"""Where things are, and directories that cannot be made."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from orchestrator.domain.digests import Digest
from orchestrator.domain.names import ModelName
from orchestrator.errors import StoreError
from orchestrator.store.layout import StoreLayout, make_directory


def test_paths_are_those_of_existing_stores() -> None:
    layout = StoreLayout(Path("/m"))
    assert layout.manifest(ModelName.parse("owl")) == Path(
        "/m/manifests/registry.ollama.ai/library/owl/latest"
    )
    assert layout.blob(Digest("a" * 64)) == Path(f"/m/blobs/sha256-{'a' * 64}")


def test_directories_are_made_with_those_above(tmp_path: Path) -> None:
    make_directory(tmp_path / "a" / "b")
    make_directory(tmp_path / "a" / "b")
    assert stat.S_IMODE((tmp_path / "a" / "b").stat().st_mode) == 0o755


def test_a_directory_that_cannot_be_made_says_why(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError) as refused:
        make_directory(tmp_path / "file" / "a")
    assert str(refused.value) == (
        f"mkdir {tmp_path / 'file' / 'a'}: not a directory: ensure path elements are traversable"
    )
