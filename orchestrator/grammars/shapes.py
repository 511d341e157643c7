"""What a schema asks for, type by type, and how two such demands are joined into one.

A schema is read as a list of shapes, of which a value has to fit one. Parts of objects and arrays stay
schemas in a shape: they are read when they are written down, so a schema that contains itself is no matter.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, NamedTuple

from orchestrator.grammars.places import Places, together
from orchestrator.grammars.ranges import NO_BOUNDS, Bounds

TYPES = ("object", "array", "string", "number", "integer", "boolean", "null")
"""Every type; ``number`` without ``integer`` is what no schema asks for."""

ALL_TYPES = frozenset(TYPES)


class Keyword(NamedTuple):
    """The JSON pointer to a keyword, and its value."""

    path: str
    value: str = ""


@dataclass(frozen=True, slots=True)
class Texts:
    """What a string must be like. Lengths are in characters."""

    least: int = 0
    most: int | None = None
    lengths: tuple[Keyword, ...] = ()
    """The keywords that the two come from."""
    patterns: tuple[Keyword, ...] = ()
    formats: tuple[Keyword, ...] = ()

    def __and__(self, other: Texts) -> Texts:
        return Texts(
            max(self.least, other.least),
            _lower(self.most, other.most),
            tuple(dict.fromkeys([*self.lengths, *other.lengths])),
            tuple(dict.fromkeys([*self.patterns, *other.patterns])),
            tuple(dict.fromkeys([*self.formats, *other.formats])),
        )


@dataclass(frozen=True, slots=True)
class Arrays:
    """What an array must be like: its first elements one by one, the others all alike."""

    first: tuple[Places, ...] = ()
    others: Places = ()
    has_others: bool = False
    """Whether anything was said about the others; if not, and there are first ones, there are none."""
    least: int | None = None
    most: int | None = None

    def __and__(self, other: Arrays) -> Arrays:
        size = max(len(self.first), len(other.first))
        return Arrays(
            tuple(together(self.element(i), other.element(i)) for i in range(size)),
            together(self.others, other.others),
            self.has_others or other.has_others,
            _higher(self.least, other.least),
            _lower(self.most, other.most),
        )

    def element(self, index: int) -> Places:
        """What the element of this index has to fit."""
        return self.first[index] if index < len(self.first) else self.others


@dataclass(frozen=True, slots=True)
class Objects:
    """What an object must be like. The order of the properties is that of the schema."""

    properties: Mapping[str, Places] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    others: Places = ()
    has_others: bool = False
    """Whether anything was said about other properties; if not, but about properties, there are no others."""
    has_properties: bool = False

    def __and__(self, other: Objects) -> Objects:
        names = dict.fromkeys([*self.properties, *other.properties])
        return Objects(
            {name: together(self.value(name), other.value(name)) for name in names},
            tuple(dict.fromkeys([*self.required, *other.required])),
            together(self.others, other.others),
            self.has_others or other.has_others,
            self.has_properties or other.has_properties,
        )

    def value(self, name: str) -> Places:
        """What the value of a property has to fit."""
        return self.properties.get(name, self.others)


@dataclass(frozen=True, slots=True)
class Shape:
    """A set of values: of these types, each with its own conditions."""

    types: frozenset[str] = ALL_TYPES
    meant: frozenset[str] = frozenset()
    """The types that its keywords are about; where no type is asked for, these are."""
    values: tuple[Any, ...] | None = None
    """The only values there are."""
    numbers: Bounds = NO_BOUNDS
    texts: Texts = Texts()
    arrays: Arrays = Arrays()
    objects: Objects = Objects()

    def __and__(self, other: Shape) -> Shape:
        return Shape(
            self.types & other.types,
            self.meant | other.meant,
            _common(self.values, other.values),
            self.numbers & other.numbers,
            self.texts & other.texts,
            self.arrays & other.arrays,
            self.objects & other.objects,
        )

    @property
    def size(self) -> int:
        """How much there is to look at."""
        return 1 + len(self.objects.properties) + len(self.arrays.first) + len(self.values or ())

    @property
    def is_empty(self) -> bool:
        """Whether no value can fit."""
        return not self.types or (self.values is not None and not any(map(self.admits, self.values)))

    @property
    def has_parts(self) -> bool:
        """Whether it says something about parts of values."""
        types = self.asked_types if self.values is None else frozenset[str]()
        return ("object" in types and self.objects != _NO_OBJECTS) or (
            "array" in types and self.arrays != _NO_ARRAYS
        )

    @property
    def asked_types(self) -> frozenset[str]:
        """The types a model shall choose from."""
        return self.meant if self.types == ALL_TYPES and self.meant else self.types

    def admits(self, value: Any) -> bool:
        """Whether one of ``values`` fits the rest of the shape, its parts and patterns aside."""
        match value:
            case None:
                return "null" in self.types
            case bool():
                return "boolean" in self.types
            case int() | float():
                kinds = {"number", "integer"} if value == int(value) else {"number"}
                return bool(kinds & self.types) and Decimal(str(value)) in self.numbers
            case str():
                size, most = len(value), self.texts.most
                return "string" in self.types and self.texts.least <= size <= (size if most is None else most)
            case list():
                return "array" in self.types
            case _:
                return "object" in self.types


_NO_OBJECTS, _NO_ARRAYS = Objects(), Arrays()

ANY = Shape()


def _common(first: tuple[Any, ...] | None, second: tuple[Any, ...] | None) -> tuple[Any, ...] | None:
    if first is None or second is None:
        return second if first is None else first
    known = set(map(_identity, second))
    return tuple(value for value in first if _identity(value) in known)


def _identity(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _lower(first: int | None, second: int | None) -> int | None:
    return min((size for size in (first, second) if size is not None), default=None)


def _higher(first: int | None, second: int | None) -> int | None:
    return max((size for size in (first, second) if size is not None), default=None)
