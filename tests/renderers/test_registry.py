"""The table of renderers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from orchestrator.domain.requests import Message
from orchestrator.domain.think import Think
from orchestrator.domain.tools import Tool
from orchestrator.renderers import registry
from orchestrator.renderers.registry import UnknownRenderer


class Shout:
    """A renderer of one word."""

    leading_bos = ""
    places_images = False

    def __init__(self, word: str = "HEY") -> None:
        self.word = word

    def render(self, messages: Sequence[Message], tools: Sequence[Tool], think: Think | None) -> str:
        return self.word


def test_an_unknown_name_is_a_bad_request() -> None:
    with pytest.raises(UnknownRenderer, match='^unknown renderer "nobody"$'):
        registry.make("nobody")


@pytest.fixture(params=["shout", "olmo3"])
def name(request: pytest.FixtureRequest) -> Iterator[str]:
    """A name under which a renderer is registered: a new one, and a built-in one."""
    name: str = request.param
    registry.register(name, Shout)
    yield name
    registry.unregister(name)


def test_a_registered_renderer_is_found_by_its_name(name: str) -> None:
    assert name in registry.names()
    assert registry.make(name).render((), (), None) == "HEY"


def test_a_later_registration_replaces_an_earlier_one(name: str) -> None:
    registry.register(name, lambda: Shout("HO"))
    assert registry.make(name).render((), (), None) == "HO"


def test_what_is_registered_can_be_forgotten() -> None:
    registry.register("shout", Shout)
    registry.unregister("shout")
    assert "shout" not in registry.names()


def test_a_built_in_renderer_comes_back() -> None:
    registry.register("olmo3", Shout)
    registry.unregister("olmo3")
    assert not isinstance(registry.make("olmo3"), Shout)


@pytest.mark.parametrize("name", registry.names())
def test_every_built_in_renderer_can_be_made(name: str) -> None:
    assert isinstance(registry.make(name).leading_bos, str)
