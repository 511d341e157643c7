"""What is told of formats that are not enforced as a whole."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.domain.formats import JsonFormat, SchemaFormat, UnknownFormat
from orchestrator.inference.enforcement import format_warnings

ENFORCED = {
    "type": "object",
    "properties": {"mark": {"enum": ["red", "blue"]}, "n": {"type": "integer", "minimum": 1, "maximum": 3}},
    "required": ["mark", "n"],
}


@pytest.mark.parametrize(
    "format", [None, JsonFormat(), UnknownFormat(5), SchemaFormat(ENFORCED), SchemaFormat({"type": "banana"})]
)
@pytest.mark.parametrize("rendered", [True, False])
async def test_nothing_is_told_of_what_holds_or_is_refused(format: Any, rendered: bool) -> None:
    assert await format_warnings(format, rendered=rendered) == ()


# case B057
@pytest.mark.parametrize(
    ("schema", "rendered", "keywords"),
    [
        ({"type": "integer", "multipleOf": 5}, True, "#/multipleOf"),
        ({"type": "array", "uniqueItems": True}, True, "#/uniqueItems"),
        ({"properties": {"d": {"type": "string", "format": "email"}}}, True, "#/properties/d/format"),
        ({"type": "number", "minimum": 1}, False, "#/minimum"),
        ({"type": "number", "minimum": 1, "multipleOf": 2}, False, "#/multipleOf, #/minimum"),
    ],
)
async def test_keywords_that_do_not_hold_are_named(schema: Any, rendered: bool, keywords: str) -> None:
    found = await format_warnings(SchemaFormat(schema), rendered=rendered)
    assert found == (f"format: keywords not enforced: {keywords}",)
