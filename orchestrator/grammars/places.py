"""Where the parts of a schema are, and what its references point at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import unquote

from orchestrator.grammars.errors import InvalidSchema


class Place(NamedTuple):
    """A part of a schema, and the JSON pointer to it."""

    path: str
    schema: Any

    def at(self, *steps: str | int) -> Place:
        """The part that ``steps`` lead to from here."""
        path, schema = self
        for step in steps:
            path, schema = f"{path}/{_quoted(step)}", schema[step]
        return Place(path, schema)


Places = tuple[Place, ...]
"""Schemas that a value has to fit all at once; none of them: any value fits."""


def together(first: Places, second: Places) -> Places:
    """Both demands; what is in both counts once."""
    return tuple({place.path: place for place in (*first, *second)}.values())


def resolve(root: Any, place: Place) -> Place:
    """What the ``$ref`` of ``place`` points at. Raises ``InvalidSchema``."""
    ref = place.schema["$ref"]
    if not isinstance(ref, str):
        raise InvalidSchema(place.path, "$ref must be a string")
    if ref != "#" and not ref.startswith("#/"):
        problem = f"unsupported $ref {ref}, only references into the same document are supported"
        raise InvalidSchema(place.path, problem)
    target = Place("#", root)
    for step in ref.split("/")[1:]:
        target = _step(target, unquote(step).replace("~1", "/").replace("~0", "~"), ref, place.path)
    return target


def _step(target: Place, name: str, ref: str, path: str) -> Place:
    match target.schema:
        case Mapping() if name in target.schema:
            return target.at(name)
        case list() if name.isascii() and name.isdigit() and len(name) < 10:
            if int(name) < len(target.schema):
                return target.at(int(name))
            raise InvalidSchema(path, f"cannot resolve $ref {ref}, {name} is out of range")
        case _:
            raise InvalidSchema(path, f"cannot resolve $ref {ref}, {name} not found")


def _quoted(step: str | int) -> str:
    return str(step).replace("~", "~0").replace("/", "~1")
