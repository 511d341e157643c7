"""What an engine that reads schemas by itself would lose."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.grammars.losses import losses

STRING = {"type": "string"}


@pytest.mark.parametrize(
    "schema",
    [
        {},
        True,
        5,
        {
            "type": "object",
            "properties": {"a": STRING, "n": {"type": "integer", "minimum": 1}},
            "required": ["a"],
        },
        {"type": "array", "items": STRING, "minItems": 1, "maxItems": 3},
        {"type": "string", "enum": ["a"], "minLength": 1},
        {"type": "string", "minLength": 2},
        {"type": "string", "pattern": "^a+$"},
        {"$ref": "#/$defs/a", "description": "d", "$defs": {"a": STRING}},
    ],
)
def test_plain_schemas_lose_nothing(schema: Any) -> None:
    assert losses(schema) == ()


@pytest.mark.parametrize(
    ("schema", "lost"),
    [
        ({"type": "number", "minimum": 0, "maximum": 1}, ["#/minimum", "#/maximum"]),
        ({"properties": {"a/b": {"maximum": 1}}}, ["#/properties/a~1b/maximum"]),
        ({"$ref": "#/$defs/a", "maxLength": 3, "$defs": {"a": STRING}}, ["#/maxLength"]),
        ({"type": "object", "properties": {"a": STRING}, "anyOf": [{}]}, ["#/type", "#/properties"]),
        ({"properties": {}, "allOf": [{"type": ["number"], "minimum": 1}]}, ["#/allOf", "#/allOf/0/minimum"]),
        ({"type": "string", "pattern": "^a$", "maxLength": 1}, ["#/maxLength"]),
        ({"type": "string", "format": "date", "minLength": 1}, ["#/minLength"]),
        ({"type": "array", "maxItems": 1}, ["#/maxItems"]),
        ({"items": {}, "prefixItems": [STRING]}, ["#/prefixItems"]),
        ({"prefixItems": [STRING], "minItems": 0}, ["#/minItems"]),
        ({"items": [STRING], "maxItems": 0}, ["#/maxItems"]),
        ({"type": "string", "pattern": r"^\d+$"}, ["#/pattern"]),
        ({"type": "string", "pattern": "lion"}, ["#/pattern"]),
        ({"type": "object", "required": ["x"]}, ["#/required"]),
        ({"items": {"anyOf": [{"minimum": 2}]}}, ["#/items/anyOf/0/minimum"]),
    ],
)
def test_keywords_beside_stronger_ones_are_lost(schema: Any, lost: list[str]) -> None:
    assert list(losses(schema)) == lost
