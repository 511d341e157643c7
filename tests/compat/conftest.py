"""A store with one published model in it."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from orchestrator.domain.loads import ModelFiles
from orchestrator.files.facts import model_facts
from orchestrator.store.layout import StoreLayout
from tests.compat.pairs import Pair, pairs


@pytest.fixture(scope="session")
def by_id() -> dict[str, Pair]:
    return {pair.id: pair for pair in pairs()}


@pytest.fixture
def layout(tmp_path: Path) -> StoreLayout:
    found = StoreLayout(tmp_path / "models")
    found.blobs.mkdir(parents=True)
    return found


def stored(layout: StoreLayout, content: bytes, name: str = "tiny") -> ModelFiles:
    """A blob as weights of a model."""
    path = layout.blobs / f"sha256-{hashlib.sha256(content).hexdigest()}"
    path.write_bytes(content)
    return ModelFiles(key=str(path), name=name, digest="d", weights=path, facts=model_facts(path))
