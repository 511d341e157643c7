"""Output parsers by name. Adding a family is one entry in ``_BUILT_IN``; ``register`` overrides at run time."""

from __future__ import annotations

from collections.abc import Callable

from orchestrator.parsers.base import Parser, ParserTraits

ParserFactory = Callable[[], Parser]

_BUILT_IN: dict[str, tuple[ParserFactory, ParserTraits]] = {}

_registered: dict[str, tuple[ParserFactory, ParserTraits]] = {}


def register(name: str, factory: ParserFactory, traits: ParserTraits) -> None:
    """Make ``name`` known, or replace the built-in parser of that name."""
    _registered[name] = (factory, traits)


def make(name: str) -> Parser | None:
    """A fresh parser, or ``None`` for a name that nobody knows: such models go on without one."""
    entry = _registered.get(name) or _BUILT_IN.get(name)
    return entry[0]() if entry else None


def traits(name: str) -> ParserTraits | None:
    """What a named parser gives a model, without making one."""
    entry = _registered.get(name) or _BUILT_IN.get(name)
    return entry[1] if entry else None
