"""Grammars of JSON that fits a schema.

Every text that such a grammar accepts fits the schema, as far as its keywords are enforced. Not every text
that fits is accepted: properties come in the schema's order, and objects that name properties have no others
unless the schema asks for them, as with llama.cpp's own converter.

Source: JSON Schema 2020-12; llama.cpp b11434 for defaults and the texts of errors.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable
from typing import Any

from orchestrator.grammars.errors import InvalidSchema
from orchestrator.grammars.gbnf import Grammar, RuleBook, literal, one_of, optional, repeated
from orchestrator.grammars.json_rules import json_rule
from orchestrator.grammars.other_keys import other_keys
from orchestrator.grammars.patterns import Untranslatable, pattern_expression
from orchestrator.grammars.places import Places
from orchestrator.grammars.ranges import NO_BOUNDS, decimals, whole_numbers
from orchestrator.grammars.reader import SchemaReader
from orchestrator.grammars.shapes import ANY, TYPES, Arrays, Keyword, Objects, Shape, Texts

_COMMA = '"," space'
_STEPS = {"", "#", "properties", "$defs", "definitions"}
"""Steps of a path that a rule's name can do without."""


def schema_grammar(schema: Any) -> Grammar:
    """The grammar of JSON that fits ``schema``. Raises ``InvalidSchema``."""
    book = RuleBook()
    root = book.reserve("root")
    writer = SchemaWriter(book, schema)
    book.define(root, writer.expression())
    return Grammar(book.text(), writer.unenforced)


def json_grammar() -> Grammar:
    """The grammar of any JSON object."""
    return schema_grammar({"type": "object"})


class SchemaWriter:
    """Writes rules for one schema into a book, which other schemas may share."""

    def __init__(self, book: RuleBook, schema: Any, *, name: str = "") -> None:
        self._book = book
        self._name = name
        self._reader = SchemaReader(schema)
        self._names: dict[tuple[str, ...], str] = {}
        self._pending: deque[tuple[str, Places]] = deque()

    @property
    def unenforced(self) -> tuple[str, ...]:
        """Pointers to the keywords that the rules do not enforce."""
        return tuple(self._reader.unenforced)

    def expression(self) -> str:
        """What stands for JSON that fits the schema. Raises ``InvalidSchema``."""
        try:
            whole = self._value((self._reader.root,))
            while self._pending:
                name, places = self._pending.popleft()
                self._book.define(name, self._body(places))
        except RecursionError as error:
            raise InvalidSchema("#", "nested too deeply") from error
        if whole is None:
            raise InvalidSchema("#", "no value can fit")
        return whole

    def _value(self, places: Places) -> str | None:
        """A value that fits ``places``, as a symbol; ``None`` if there is none."""
        places = tuple({place.path: place for place in map(self._reader.canonical, places)}.values())
        key = tuple(place.path for place in places)
        if key not in self._names:
            shapes = self._reader.shapes(places)
            if not shapes:
                return None
            if shapes == (ANY,):
                return json_rule(self._book, "value")
            hint = self._hint(places[0].path)
            if any(shape.has_parts for shape in shapes):
                self._names[key] = self._book.reserve(hint)
                self._pending.append((self._names[key], places))
            elif options := self._options(shapes):
                body = one_of(options)
                self._names[key] = body if body in self._book else self._book.add(hint, body)
            else:
                return None
        return self._names[key]

    def _body(self, places: Places) -> str:
        options = self._options(self._reader.shapes(places))
        if not options:
            raise InvalidSchema(places[0].path, "no value can fit")
        return one_of(options)

    def _options(self, shapes: Iterable[Shape]) -> list[str]:
        return [option for shape in shapes for option in self._shape(shape)]

    def _hint(self, path: str) -> str:
        steps = [self._name, *path.split("/")]
        return "-".join(step for step in steps if step not in _STEPS) or "json"

    def _shape(self, shape: Shape) -> Iterable[str]:
        """Expressions for the values of a shape."""
        if shape.values is not None:
            self._leave_out(*shape.texts.patterns, *shape.texts.formats)
            return [literal(_json(value)) for value in shape.values if shape.admits(value)]
        types = shape.asked_types
        options = [self._typed(shape, name) for name in TYPES if name in types]
        return filter(None, options)

    def _typed(self, shape: Shape, name: str) -> str | None:
        match name:
            case "object" if shape.objects != ANY.objects:
                return self._object(shape.objects)
            case "array" if shape.arrays != ANY.arrays:
                return self._array(shape.arrays)
            case "string":
                return self._string(shape.texts)
            case "integer" if "number" in shape.types:
                return None  # one of the numbers
            case "number" if shape.numbers != NO_BOUNDS:
                return decimals(shape.numbers)
            case "integer" if shape.numbers != NO_BOUNDS:
                return whole_numbers(shape.numbers)
            case _:
                return json_rule(self._book, name)

    def _leave_out(self, *keywords: Keyword) -> None:
        for keyword in keywords:
            self._reader.unenforced[keyword.path] = None

    def _space(self) -> str:
        return json_rule(self._book, "space")

    # strings

    def _string(self, texts: Texts) -> str | None:
        if texts.most is not None and texts.least > texts.most:
            return None
        inner = self._pattern(texts.patterns)
        if inner is None and texts.formats:
            inner = json_rule(self._book, texts.formats[0].value)
            self._leave_out(*texts.formats[1:])
        elif inner is not None:
            self._leave_out(*texts.formats)
        if inner is not None:
            self._leave_out(*texts.lengths)
        elif (texts.least, texts.most) == (0, None):
            return json_rule(self._book, "string")
        else:
            inner = repeated(json_rule(self._book, "char"), texts.least, texts.most)
        return rf'"\"" {inner} "\""'

    def _pattern(self, patterns: Iterable[Keyword]) -> str | None:
        """The first of ``patterns`` that a grammar can say."""
        found = None
        for keyword in patterns:
            try:
                expression = pattern_expression(keyword.value, "char")
            except Untranslatable:
                expression = None
            if expression is None or found is not None:
                self._leave_out(keyword)
            else:
                found = expression
        if found is not None and "char*" in found:
            json_rule(self._book, "char")
        return found

    # arrays

    def _array(self, arrays: Arrays) -> str | None:
        first = [self._value(places) for places in arrays.first]
        possible = first.index(None) if None in first else len(first)
        others = self._others_of_array(arrays) if possible == len(first) else None
        most = arrays.most
        if not others:
            most = possible if most is None else min(possible, most)
        least = arrays.least
        if least is None:
            least = len(first) if most is None else min(len(first), most)
        if most is not None and least > most:
            return None
        inner = self._elements([item for item in first[:most] if item], others, least, most)
        return f'"[" {self._space()} {inner}"]"'

    def _others_of_array(self, arrays: Arrays) -> str | None:
        """What follows the first elements, if anything may."""
        if arrays.first and not arrays.has_others and (arrays.least or 0) <= len(arrays.first):
            return None
        return self._value(arrays.others)

    def _elements(self, first: list[str], others: str | None, least: int, most: int | None) -> str:
        """``least`` to ``most`` elements, and white space after them."""
        rest, count = "", len(first)
        if others and most != count:
            before = max(count, 1)
            limit = None if most is None else most - before
            rest = repeated(f"({_COMMA} {others})", max(least - before, 0), limit)
            if not count:
                rest = f"{others} {rest}"
        for index in reversed(range(count)):
            rest = f"{first[index]} {rest}".rstrip()
            if index:
                rest = f"{_COMMA} {rest}"
            if index and index >= least:
                rest = f"{self._book.add(f'{self._name}-elements', rest)}?"
        return _ended(rest, may_be_empty=not least)

    # objects

    def _object(self, objects: Objects) -> str | None:
        names = dict.fromkeys([*objects.properties, *objects.required])
        required = set(objects.required)
        members = []
        for name in names:
            value = self._value(objects.value(name))
            if value is not None:
                members.append((f'{literal(_json(name))} space ":" space {value}', name in required))
            elif name in required:
                return None
        others = self._other_members(objects, names)
        if not members and others is None:
            return literal("{}")
        return f'"{{" {self._space()} {self._members(members, others)}"}}"'

    def _other_members(self, objects: Objects, names: Iterable[str]) -> str | None:
        """A member that the schema does not name, if there may be any."""
        if objects.has_properties and not objects.has_others:
            return None
        value = self._value(objects.others)
        if value is None:
            return None
        key = other_keys(self._book, names) if names else json_rule(self._book, "string")
        return f'{key} ":" space {value}'

    def _members(self, members: list[tuple[str, bool]], others: str | None) -> str:
        """``members`` in their order, those that are not required left out or not; ``others`` at the end."""
        first_required = next((i for i, (_, required) in enumerate(members) if required), len(members))
        rest = repeated(f"({_COMMA} {others})", 0, None) if others else ""
        beginnings = [f"{others} {rest}"] if others and first_required == len(members) else []
        for index, (member, required) in reversed(list(enumerate(members))):
            if index <= first_required:
                beginnings.append(f"{member} {rest}".rstrip())
            part = f"{_COMMA} {member}"
            rest = f"{part if required else optional(part)} {rest}".rstrip()
            if 0 < index <= first_required:
                rest = self._book.add(f"{self._name}-members", rest)  # said again by the beginning before it
        return _ended(one_of(reversed(beginnings)), may_be_empty=first_required == len(members))


def _ended(content: str, *, may_be_empty: bool) -> str:
    """``content`` and the white space after it; nothing at all has none."""
    if not content:
        return ""
    return optional(f"{content} space") + " " if may_be_empty else f"{content} space "


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
