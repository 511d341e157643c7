"""The renderers by name, as a model's config names them."""

from __future__ import annotations

from collections.abc import Callable

from orchestrator.errors import BadRequest
from orchestrator.renderers.base import Renderer

Constructor = Callable[[], Renderer]


class UnknownRenderer(BadRequest):
    """A model's config names a renderer that does not exist."""

    def __init__(self, name: str) -> None:
        super().__init__(f'unknown renderer "{name}"')
        self.name = name


class RendererRegistry:
    """A table of constructors; what is registered later replaces what was there."""

    def __init__(self, constructors: dict[str, Constructor] | None = None) -> None:
        self._constructors: dict[str, Constructor] = dict(constructors or {})

    def register(self, name: str, constructor: Constructor) -> None:
        """Add a renderer, or replace the one of that name."""
        self._constructors[name] = constructor

    def get(self, name: str) -> Renderer:
        """A renderer of that name. Raises ``UnknownRenderer``."""
        constructor = self._constructors.get(name)
        if constructor is None:
            raise UnknownRenderer(name)
        return constructor()

    def names(self) -> tuple[str, ...]:
        """All names, sorted."""
        return tuple(sorted(self._constructors))


BUILT_IN: dict[str, Constructor] = {}
"""Name → constructor of every family that comes with the program."""

_registry = RendererRegistry(BUILT_IN)

get = _registry.get
names = _registry.names
register = _registry.register
