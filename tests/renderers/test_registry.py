"""The table of renderers."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from orchestrator.domain.requests import Message
from orchestrator.domain.think import Think
from orchestrator.domain.tools import Tool
from orchestrator.renderers import registry
from orchestrator.renderers.registry import RendererRegistry, UnknownRenderer


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
        registry.get("nobody")


def test_a_registered_renderer_is_found_by_its_name() -> None:
    renderers = RendererRegistry({"shout": Shout})
    assert renderers.names() == ("shout",)
    assert renderers.get("shout").render((), (), None) == "HEY"


def test_a_later_registration_replaces_an_earlier_one() -> None:
    renderers = RendererRegistry({"shout": Shout})
    renderers.register("shout", lambda: Shout("HO"))
    assert renderers.get("shout").render((), (), None) == "HO"


def test_registering_in_one_table_leaves_the_built_in_names_alone() -> None:
    renderers = RendererRegistry(registry.BUILT_IN)
    renderers.register("shout", Shout)
    assert "shout" not in registry.names()


@pytest.mark.parametrize("name", registry.names())
def test_every_built_in_renderer_can_be_made(name: str) -> None:
    assert isinstance(registry.get(name).leading_bos, str)
