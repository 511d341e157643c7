"""Schemas made up at random, each with values that fit it."""

from __future__ import annotations

from typing import Any, NamedTuple

from hypothesis import strategies as st


class Described(NamedTuple):
    """A schema, and a strategy for values of it that its grammar has to accept."""

    schema: Any
    values: st.SearchStrategy[Any]


CHARACTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\x7f")
TEXT = st.text(CHARACTERS, max_size=6)
NAMES = st.text(st.characters(max_codepoint=0x7E), max_size=6)
"""What a grammar spells out: there JSON has one spelling."""
SCALARS = st.none() | st.booleans() | st.integers(-999, 999) | NAMES
JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3)
)


@st.composite
def strings(draw: st.DrawFn) -> Described:
    least, more = draw(st.integers(0, 3)), draw(st.none() | st.integers(0, 3))
    schema: dict[str, Any] = {"type": "string"} | ({"minLength": least} if least else {})
    if more is None:
        return Described(schema, st.text(CHARACTERS, min_size=least, max_size=least + 3))
    values = st.text(CHARACTERS, min_size=least, max_size=least + more)
    return Described(schema | {"maxLength": least + more}, values)


@st.composite
def integers(draw: st.DrawFn) -> Described:
    low, high = sorted((draw(st.integers(-2000, 2000)), draw(st.integers(-2000, 2000))))
    kept = draw(st.sets(st.sampled_from(["minimum", "maximum"])))
    schema = {"type": "integer"} | {
        name: v for name, v in (("minimum", low), ("maximum", high)) if name in kept
    }
    return Described(schema, st.integers(low, high))


@st.composite
def numbers(draw: st.DrawFn) -> Described:
    low, high = sorted((draw(st.integers(-500, 500)), draw(st.integers(-500, 500))))
    ends = {"minimum": low / 100, "maximum": high / 100}
    kept = draw(st.sets(st.sampled_from(sorted(ends))))
    schema = {"type": "number"} | {name: value for name, value in ends.items() if name in kept}
    return Described(schema, st.integers(low, high).map(lambda hundredths: hundredths / 100))


@st.composite
def choices(draw: st.DrawFn) -> Described:
    options = draw(st.lists(SCALARS, min_size=1, max_size=4))
    return Described({"enum": options}, st.sampled_from(options))


LEAVES: st.SearchStrategy[Described] = st.one_of(
    strings(),
    integers(),
    numbers(),
    choices(),
    st.just(Described({"type": "boolean"}, st.booleans())),
    st.just(Described({"type": ["null", "string"]}, st.none() | TEXT)),
    st.just(Described({}, JSON)),
)


def objects(inner: st.SearchStrategy[Described]) -> st.SearchStrategy[Described]:
    @st.composite
    def make(draw: st.DrawFn) -> Described:
        properties = draw(st.dictionaries(NAMES, inner, max_size=4))
        required = draw(st.sets(st.sampled_from(sorted(properties)))) if properties else set()
        schema = {
            "type": "object",
            "properties": {name: value.schema for name, value in properties.items()},
            "required": sorted(required),
        }
        optional = {name: value.values for name, value in properties.items() if name not in required}
        given = {name: value.values for name, value in properties.items() if name in required}
        members = st.fixed_dictionaries(given, optional=optional)
        return Described(schema, members.map(lambda value: {n: value[n] for n in properties if n in value}))

    return make()


def arrays(inner: st.SearchStrategy[Described]) -> st.SearchStrategy[Described]:
    @st.composite
    def make(draw: st.DrawFn) -> Described:
        items = draw(inner)
        least, most = sorted((draw(st.integers(0, 3)), draw(st.integers(0, 3))))
        schema = {"type": "array", "items": items.schema, "minItems": least, "maxItems": most}
        return Described(schema, st.lists(items.values, min_size=least, max_size=most))

    return make()


def tuples(inner: st.SearchStrategy[Described]) -> st.SearchStrategy[Described]:
    def make(items: list[Described]) -> Described:
        schema = {"type": "array", "prefixItems": [item.schema for item in items]}
        return Described(schema, st.tuples(*(item.values for item in items)).map(list))

    return st.lists(inner, min_size=1, max_size=3).map(make)


def unions(inner: st.SearchStrategy[Described]) -> st.SearchStrategy[Described]:
    def make(options: list[Described]) -> Described:
        schema = {"anyOf": [option.schema for option in options]}
        return Described(schema, st.one_of([option.values for option in options]))

    return st.lists(inner, min_size=1, max_size=3).map(make)


DESCRIBED = st.recursive(
    LEAVES, lambda inner: objects(inner) | arrays(inner) | tuples(inner) | unions(inner), max_leaves=6
)
"""Any of them, up to a few levels deep."""
