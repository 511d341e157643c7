"""The templates that come with the program."""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def template_text(name: str) -> str:
    """The text of the built-in template of that name."""
    return (files("orchestrator.templates") / "builtin" / f"{name}.gotmpl").read_text("utf-8")
