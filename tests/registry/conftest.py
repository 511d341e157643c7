"""A registry, a store, and what pulls from the one into the other."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from orchestrator.registry.settings import RegistrySettings
from orchestrator.store.layout import StoreLayout
from orchestrator.store.models import ModelStore
from tests.registry.hostile import Registry
from tests.registry.pulling import Pulls


@pytest.fixture
async def hostile() -> AsyncIterator[Registry]:
    """A registry without models, honest until told otherwise."""
    async with Registry().serving() as registry:
        yield registry


@pytest.fixture
async def store(tmp_path: Path) -> ModelStore:
    store = ModelStore(StoreLayout(tmp_path / "models"))
    await store.start()
    return store


@pytest.fixture
def settings(tmp_path: Path) -> RegistrySettings:
    return RegistrySettings(key_folder=tmp_path / "key")


@pytest.fixture
def pulls(store: ModelStore, settings: RegistrySettings) -> Pulls:
    return Pulls(store, settings)
