"""Reading of JSON schemas: from keywords to shapes.

The keywords of one schema, of the schema it refers to and of each part of ``allOf`` hold together;
``anyOf`` and ``oneOf`` give alternatives. A schema that llama.cpp refuses is refused here in its words; a
keyword that it loses because of another one beside it counts here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from orchestrator.grammars.errors import InvalidSchema, SchemaTooLarge
from orchestrator.grammars.gbnf import MOST_REPETITIONS
from orchestrator.grammars.places import Place, Places, resolve
from orchestrator.grammars.ranges import Bounds
from orchestrator.grammars.shapes import ALL_TYPES, ANY, TYPES, Arrays, Keyword, Objects, Shape, Texts

MOST_WORK = 200_000
"""Parts of a schema that are read, each as often as it takes part in a combination."""

MOST_ALTERNATIVES = 1000
_DEEPEST = 60
"""Schemas that apply to the same value, one within the other."""

_LONGEST_NUMBER = 40
"""Digits of a bound that is looked at."""

FORMATS = {"date": "date", "time": "time", "date-time": "date-time", "uuid": "uuid"} | {
    f"uuid{version}": "uuid" for version in range(1, 6)
}
"""Formats of strings that are enforced, and their rules."""

_NUMERIC = frozenset({"number", "integer"})
_TYPE_SETS = {name: frozenset({name}) for name in TYPES} | {"number": _NUMERIC}

_ABOUT: Mapping[str, frozenset[str]] = {
    keyword: types
    for keywords, types in (
        ("properties required additionalProperties", frozenset({"object"})),
        ("items prefixItems minItems maxItems additionalItems", frozenset({"array"})),
        ("pattern minLength maxLength format", frozenset({"string"})),
        ("minimum maximum exclusiveMinimum exclusiveMaximum", _NUMERIC),
    )
    for keyword in keywords.split()
}
"""Keywords that a grammar enforces, and the types they are about."""

_NOT_ENFORCED: Mapping[str, frozenset[str]] = {
    keyword: types
    for keywords, types in (
        ("patternProperties propertyNames minProperties maxProperties", frozenset({"object"})),
        ("dependentRequired dependentSchemas dependencies unevaluatedProperties", frozenset({"object"})),
        ("uniqueItems contains minContains maxContains unevaluatedItems", frozenset({"array"})),
        ("multipleOf", _NUMERIC),
        ("not if $dynamicRef $recursiveRef", ALL_TYPES),
    )
    for keyword in keywords.split()
}
"""Keywords that no grammar of a bearable size can enforce."""


class SchemaReader:
    """Reads the parts of one schema. ``unenforced`` collects what cannot be enforced."""

    def __init__(self, schema: Any) -> None:
        self.unenforced: dict[str, None] = {}
        self._root = schema
        self._read: dict[str, tuple[Shape, ...]] = {}
        self._open: list[str] = []
        self._work = 0

    @property
    def root(self) -> Place:
        """The whole schema."""
        return self.canonical(Place("#", self._root))

    def canonical(self, place: Place) -> Place:
        """``place``, or what it refers to if it does nothing else."""
        seen = set()
        while isinstance(place.schema, Mapping) and "$ref" in place.schema and _says_no_more(place.schema):
            if place.path in seen:
                raise InvalidSchema(place.path, f"circular $ref {place.schema['$ref']}")
            seen.add(place.path)
            place = resolve(self._root, place)
        return place

    def shapes(self, places: Places) -> tuple[Shape, ...]:
        """The alternatives for a value that has to fit all of ``places``; none if nothing can."""
        shapes: tuple[Shape, ...] = (ANY,)
        for place in places:
            shapes = self._both(shapes, self._shapes(place))
        return shapes

    def _shapes(self, place: Place) -> tuple[Shape, ...]:
        place = self.canonical(place)
        if isinstance(place.schema, bool):
            return (ANY,) if place.schema else ()
        if not isinstance(place.schema, Mapping):
            raise InvalidSchema(place.path, "schema must be an object")
        if place.path in self._open:
            raise InvalidSchema(place.path, f"circular $ref {place.path}")
        if len(self._open) >= _DEEPEST:
            raise InvalidSchema(place.path, "nested too deeply")
        if place.path not in self._read:
            self._open.append(place.path)
            self._read[place.path] = self._keywords(place)
            self._open.pop()
        return self._read[place.path]

    def _keywords(self, place: Place) -> tuple[Shape, ...]:
        schema = place.schema
        shapes = self._both((ANY,), (self._plain(place),))
        if "$ref" in schema:
            shapes = self._both(shapes, self._shapes(resolve(self._root, place)))
        for keyword in ("oneOf", "anyOf"):
            if keyword in schema:
                branches = [self._shapes(branch) for branch in _alternatives(place, keyword)]
                shapes = self._both(shapes, [shape for branch in branches for shape in branch])
        if "allOf" in schema:
            for part in _alternatives(place, "allOf"):
                shapes = self._both(shapes, self._shapes(part))
        return shapes

    def _both(self, first: Sequence[Shape], second: Sequence[Shape]) -> tuple[Shape, ...]:
        """What fits a shape of ``first`` and a shape of ``second``."""
        if first == (ANY,):
            return self._possible(second)
        return self._possible(one & other for one in first for other in second)

    def _possible(self, shapes: Iterator[Shape] | Sequence[Shape]) -> tuple[Shape, ...]:
        possible: list[Shape] = []
        for shape in shapes:
            self._work += shape.size
            if self._work > MOST_WORK or len(possible) > MOST_ALTERNATIVES:
                raise SchemaTooLarge
            if not shape.is_empty:
                possible.append(shape)
        return tuple(possible)

    def _plain(self, place: Place) -> Shape:
        """The keywords that say something by themselves."""
        schema = place.schema
        types = _types(place)
        for keyword, about in _NOT_ENFORCED.items():
            if keyword in schema and types & about:
                self._leave_out(place, keyword)
        meant = frozenset[str]().union(*(about for keyword, about in _ABOUT.items() if keyword in schema))
        asked = meant & types
        return Shape(
            types=types,
            meant=meant,
            values=_values(place),
            numbers=self._bounds(place) if asked & _NUMERIC else ANY.numbers,
            texts=self._texts(place) if "string" in asked else ANY.texts,
            arrays=self._arrays(place) if "array" in asked else ANY.arrays,
            objects=_objects(place) if "object" in asked else ANY.objects,
        )

    def _leave_out(self, place: Place, keyword: str) -> None:
        self.unenforced[f"{place.path}/{keyword}"] = None

    def _bounds(self, place: Place) -> Bounds:
        found = Bounds()
        low, high = self._bound(place, "minimum"), self._bound(place, "maximum")
        if low is not None:  # draft 4 said with a truth value that the end is open
            found &= Bounds(low=low, low_open=place.schema.get("exclusiveMinimum") is True)
        if high is not None:
            found &= Bounds(high=high, high_open=place.schema.get("exclusiveMaximum") is True)
        if (low := self._bound(place, "exclusiveMinimum")) is not None:
            found &= Bounds(low=low, low_open=True)
        if (high := self._bound(place, "exclusiveMaximum")) is not None:
            found &= Bounds(high=high, high_open=True)
        return found

    def _bound(self, place: Place, keyword: str) -> Decimal | None:
        value = place.schema.get(keyword)
        if value is None or (isinstance(value, bool) and keyword.startswith("exclusive")):
            return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise InvalidSchema(place.path, f"{keyword} must be a number")
        number = Decimal(str(value)) if isinstance(value, float) or abs(value) < 10**_LONGEST_NUMBER else None
        if number is None or len(f"{number:f}") > _LONGEST_NUMBER:
            self._leave_out(place, keyword)
            return None
        return number

    def _texts(self, place: Place) -> Texts:
        schema = place.schema
        for keyword in ("pattern", "format"):
            if not isinstance(schema.get(keyword, ""), str):
                raise InvalidSchema(place.path, f"{keyword} must be a string")
        formats: tuple[Keyword, ...] = ()
        if (name := schema.get("format")) in FORMATS:
            formats = (Keyword(f"{place.path}/format", FORMATS[name]),)
        elif name:
            self._leave_out(place, "format")
        lengths = [name for name in ("minLength", "maxLength") if name in schema]
        return Texts(
            self._count(place, "minLength") or 0,
            self._count(place, "maxLength"),
            tuple(Keyword(f"{place.path}/{name}") for name in lengths),
            (Keyword(f"{place.path}/pattern", schema["pattern"]),) if schema.get("pattern") else (),
            formats,
        )

    def _arrays(self, place: Place) -> Arrays:
        schema = place.schema
        first, others = "prefixItems", "items"
        if isinstance(schema.get("items"), list):
            first, others = "items", "additionalItems"  # as drafts before 2020 said it
        if not isinstance(schema.get(first, []), list):
            raise InvalidSchema(place.path, f"{first} must be an array of schemas")
        return Arrays(
            tuple((place.at(first, index),) for index in range(len(schema.get(first, [])))),
            (place.at(others),) if others in schema else (),
            others in schema,
            self._count(place, "minItems"),
            self._count(place, "maxItems"),
        )

    def _count(self, place: Place, keyword: str) -> int | None:
        value = place.schema.get(keyword)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise InvalidSchema(place.path, f"{keyword} must be a non-negative integer")
        if value > MOST_REPETITIONS:
            self._leave_out(place, keyword)
            return None
        return value


_ANNOTATIONS = frozenset(
    {"$ref", "$schema", "$id", "$comment", "$defs", "definitions", "title", "description", "default"}
    | {"examples", "example", "deprecated", "readOnly", "writeOnly"}
)
"""Keywords that say nothing about values, and ``$ref``."""


def _says_no_more(schema: Mapping[str, Any]) -> bool:
    return schema.keys() <= _ANNOTATIONS


def _alternatives(place: Place, keyword: str) -> list[Place]:
    parts = place.schema[keyword]
    if not isinstance(parts, list):
        raise InvalidSchema(f"{place.path}/{keyword}", "must be an array of schemas")
    if not parts:
        raise InvalidSchema(f"{place.path}/{keyword}", "must not be empty")
    return [place.at(keyword, index) for index in range(len(parts))]


def _types(place: Place) -> frozenset[str]:
    wanted = place.schema.get("type")
    if wanted is None:
        return ALL_TYPES
    names = wanted if isinstance(wanted, list) else [wanted]
    if not all(isinstance(name, str) for name in names):
        raise InvalidSchema(place.path, "type must be a string or an array of strings")
    if not names:
        raise InvalidSchema(place.path, "type must not be empty")
    if unknown := [name for name in names if name not in _TYPE_SETS]:
        raise InvalidSchema(place.path, f"unrecognized type {unknown[0]}")
    return frozenset[str]().union(*(_TYPE_SETS[name] for name in names))


def _values(place: Place) -> tuple[Any, ...] | None:
    schema = place.schema
    if "const" in schema:
        return (schema["const"],)
    if "enum" not in schema:
        return None
    if not isinstance(schema["enum"], list) or not schema["enum"]:
        raise InvalidSchema(place.path, "enum must be a non-empty array")
    return tuple(schema["enum"])


def _objects(place: Place) -> Objects:
    schema = place.schema
    properties = schema.get("properties", {})
    if not isinstance(properties, Mapping):
        raise InvalidSchema(place.path, "properties must be an object")
    others = schema.get("additionalProperties", {})
    if not isinstance(others, bool | Mapping):
        raise InvalidSchema(place.path, "additionalProperties must be a boolean or a schema")
    required = schema.get("required")
    names = required if isinstance(required, list) else []
    return Objects(
        {name: (place.at("properties", name),) for name in properties},
        tuple(name for name in names if isinstance(name, str)),
        (place.at("additionalProperties"),) if "additionalProperties" in schema else (),
        "additionalProperties" in schema,
        "properties" in schema,
    )
