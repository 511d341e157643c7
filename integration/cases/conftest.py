"""One daemon over a scripted engine for all cases that need no other surroundings."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from integration.cases.place import Place, place


@pytest.fixture(scope="session")
def shared_place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """It is started once."""
    with place(tmp_path_factory.mktemp("cases")) as here:
        yield here


@pytest.fixture
def here(shared_place: Place) -> Place:
    """The daemon, its engine without any script."""
    shared_place.script()
    return shared_place
