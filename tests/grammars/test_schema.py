from __future__ import annotations

import json
import random
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.grammars.errors import InvalidSchema, SchemaTooLarge
from orchestrator.grammars.schema import json_grammar, schema_grammar
from tests.grammars.gbnf import Gbnf
from tests.grammars.schemas import DESCRIBED, Described

PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "age": {"type": "integer"},
        "tags": {"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 2},
    },
    "required": ["age"],
}
LIST = {
    "$ref": "#/$defs/node",
    "$defs": {
        "node": {
            "type": "object",
            "properties": {"value": True, "next": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]}},
            "required": ["value", "next"],
        }
    },
}
ENTWINED = {
    "$defs": {
        "a": {"properties": {"next": {"$ref": "#/$defs/a"}, "x": {"type": "integer"}}},
        "b": {"properties": {"next": {"$ref": "#/$defs/b"}, "x": {"maximum": 3}}},
    },
    "allOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/b"}],
}
TAGGED = {
    "allOf": [
        {"anyOf": [{"properties": {"k": {"const": tag}}, "required": ["k"]} for tag in "ab"]},
        {
            "oneOf": [
                {"properties": {"k": {"const": "a"}, "x": {"const": 1}}, "required": ["x"]},
                {"properties": {"k": {"const": "b"}, "y": {"const": 2}}, "required": ["y"]},
            ]
        },
    ]
}
EITHER = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
    "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
}
BOTH = {"allOf": [{"properties": {name: {}}, "required": [name]} for name in "ab"]}
TIGHTER = {
    "allOf": [
        {"properties": {"a": {"minimum": 1}}},
        {"properties": {"a": {"type": "integer", "maximum": 3}}, "additionalProperties": False},
    ]
}
DRAFT_7 = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "items": [{"const": 1}],
    "additionalItems": {"type": "null"},
}
ELEMENTS = {"allOf": [{"items": {"minimum": 1}}, {"prefixItems": [{"type": "integer", "maximum": 2}]}]}

LANGUAGES: list[tuple[Any, list[str], list[str]]] = [
    # a schema; texts that fit it; texts that do not
    ({}, ["{}", '[1, "a", null]', '"x"', "-1.5e-3", "true"], ["", "{", "nul", "'a'", "[1,]", '{"a"}', "1 "]),
    (True, ["{}", "1"], ["x"]),
    ({"type": "object"}, ["{}", '{"a":{"b":[]}}', '{ "a": 1,\n"b": 2\n}'], ["[]", "1", "{}1"]),
    ({"type": "array"}, ["[]", "[1,[2]]"], ["{}", "[1,]"]),
    ({"type": "null"}, ["null"], ["nil", "0"]),
    ({"type": "boolean"}, ["true", "false"], ["True", "1"]),
    ({"type": "integer"}, ["0", "-12", "1234567890123456"], ["1.0", "1e3", "00", "12345678901234567"]),
    ({"type": "number"}, ["0", "-12", "1.25", "1e3", "2.5E-07"], ["01", "+1", "1.", ".5", "1e400", "-"]),
    ({"type": ["integer", "null"]}, ["1", "null"], ["1.5", "{}"]),
    ({"type": ["integer", "number"]}, ["1", "1.5"], ['"1"']),
    ({"type": "string"}, ['""', r'"a\u00e9\n\/"', r'"\ud83d\ude00"'], ["a", r'"\ud83d"', '"\t"', r'"\x"']),
    (
        {"minLength": 2, "maxLength": 3},
        ['"ab"', r'"\n\n"', '"😀😀😀"', r'"\ud83d\ude00\u0041"'],
        ['"a"', '"abcd"', "1"],
    ),
    ({"enum": ["red", 1, None, {"a": [1]}]}, ['"red"', "1", "null", '{"a":[1]}'], ['"blue"', "2", "{}"]),
    ({"type": "string", "enum": ["red", 1]}, ['"red"'], ["1"]),
    ({"type": "integer", "enum": [1, 2, 3, True], "minimum": 2}, ["2", "3"], ["1", "true"]),
    ({"const": 'say "é"'}, [r'"say \"é\""'], ['"say"']),
    (
        PERSON,
        ['{"age":1}', '{"name":"x", "age":1, "tags":["a","b"]}', '{\n  "age" : 1,\n  "tags": []\n}'],
        ["{}", '{"name":"x"}', '{"age":1,"name":"x"}', '{"age":1,"y":2}', '{"age":1,"tags":["a","a","a"]}'],
    ),
    (
        PERSON | {"additionalProperties": True},
        ['{"age":1,"x":{}}', '{"name":"","age":1,"agent":2,"":3}'],
        ['{"age":1,"age":2}', '{"age":1,"name":"a"}', '{"x":1}', r'{"age":1,"\u0061ge":1}'],
    ),
    ({"properties": {"a": {}, "b": {}}}, ["{}", '{"a":1}', '{"b":1}', '{"a":1,"b":2}'], ["1", '{"c":1}']),
    ({"additionalProperties": {"type": "integer"}}, ["{}", '{"a":1,"b":2}'], ['{"a":"x"}', "1"]),
    ({"type": "object", "properties": {}}, ["{}"], ["{ }", '{"a":1}', "1"]),
    ({"type": "object", "additionalProperties": False}, ["{}"], ['{"a":1}']),
    (
        {"type": "object", "required": ["a", "b"]},
        ['{"a":1,"b":2}', '{"a":1,"b":{},"c":3}'],
        ["{}", '{"a":1}'],
    ),
    (
        {"properties": {"a": {}}, "required": ["b"]},
        ['{"b":1}', '{"a":1,"b":2}'],
        ['{"a":1}', '{"b":1,"c":1}'],
    ),
    ({"properties": {"a": False, "b": {}}}, ["{}", '{"b":1}'], ['{"a":1}']),
    ({"properties": {'€"\\\n': {}}, "required": ['€"\\\n']}, [r'{"€\"\\\n":1}'], ["{}"]),
    ({"items": {"type": "integer"}}, ["[]", "[1,2,3]"], ['["a"]', "[1.5]"]),
    ({"items": False}, ["[]"], ["[1]"]),
    ({"type": "array", "minItems": 2}, ["[1,2]", "[1,2,3]"], ["[1]"]),
    ({"items": {"type": "null"}, "minItems": 1, "maxItems": 2}, ["[null]", "[ null, null ]"], ["[]"]),
    ({"type": "array", "maxItems": 0}, ["[]", "[ ]"], ["[1]"]),
    ({"prefixItems": [{"type": "integer"}, {"const": 2}]}, ["[1,2]"], ["[]", "[1]", "[1,2,3]", '["a",2]']),
    ({"prefixItems": [{}, {"const": 2}], "minItems": 0}, ["[]", "[1]", "[1,2]"], ["[1,2,3]", "[1,1]"]),
    (
        {"prefixItems": [{"const": 1}], "minItems": 2, "maxItems": 3},
        ["[1,2]", "[1,2,3]"],
        ["[1]", "[1,2,3,4]"],
    ),
    ({"prefixItems": [{"const": 1}], "items": {"type": "null"}}, ["[1]", "[1,null,null]"], ["[]", "[1,1]"]),
    ({"prefixItems": [{}, False, {}], "minItems": 0}, ["[]", "[1]"], ["[1,2]"]),
    (DRAFT_7, ["[1]", "[1,null]"], ["[1,1]", "[]"]),
    ({"prefixItems": [{}, {}], "maxItems": 1}, ["[1]"], ["[1,2]", "[]"]),
    ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, ["1", "null"], ['"a"']),
    ({"oneOf": [{"const": "a"}, {"const": "b"}]}, ['"a"', '"b"'], ['"c"']),
    ({"anyOf": [{"type": "string"}, {"type": "null"}], "maxLength": 1}, ['"a"', "null"], ['"ab"']),
    ({"anyOf": [{"type": "string"}, False]}, ['"a"'], ["null"]),
    (EITHER, ['{"a":1}', '{"b":1}', '{"a":1,"b":1}'], ["{}"]),
    (BOTH, ['{"a":1,"b":2}'], ['{"a":1}', '{"a":1,"b":2,"c":3}']),
    ({"allOf": [{"enum": [1, 2, 3]}, {"enum": [2, 3, 4]}], "maximum": 2}, ["2"], ["1", "3", "4"]),
    ({"allOf": [{"type": "integer", "minimum": 1}, {"maximum": 5}]}, ["1", "5"], ["0", "6", "1.5"]),
    (TIGHTER, ["{}", '{"a":1}', '{"a":3}'], ['{"a":0}', '{"a":4}', '{"a":1.5}', '{"b":1}']),
    (ELEMENTS, ["[1]", "[2]", "[1,5]"], ["[0]", "[3]", "[1,0]"]),
    (TAGGED, ['{"k":"a","x":1}', '{"k":"b","y":2}'], ['{"k":"a"}', '{"k":"a","y":2}']),
    (LIST, ['{"value":1,"next":null}', '{"value":[],"next":{"value":"","next":null}}'], ['{"value":1}']),
    ({"type": "array", "items": {"$ref": "#"}}, ["[]", "[[],[[]]]"], ["[1]", "{}"]),
    (ENTWINED, ['{"next":{"next":{"x":3}}}', '{"x":1}'], ['{"next":{"next":{"x":4}}}', '{"x":1.5}']),
    ({"$ref": "#/definitions/a~1b%25", "definitions": {"a/b%": {"type": "null"}}}, ["null"], ["1"]),
    ({"$ref": "#/prefixItems/1", "prefixItems": [{}, {"type": "null"}]}, ["null"], ["1"]),
    ({"$ref": "#/$defs/a", "maxLength": 1, "$defs": {"a": {"type": "string"}}}, ['"a"'], ['"ab"', "1"]),
    ({"type": "string", "pattern": r"^[a-c]+\d$"}, ['"a1"', '"abc9"'], ['"1"', '"a"', '"d1"']),
    ({"format": "date"}, ['"2024-02-29"'], ['"2024-13-01"', '"2024-1-1"', "1"]),
    ({"format": "time"}, ['"23:59:59Z"', '"00:00:00.5+01:30"'], ['"24:00:00Z"', '"12:00"']),
    ({"type": "string", "format": "date-time"}, ['"2024-02-29T12:00:00Z"'], ['"2024-02-29"']),
    ({"format": "uuid"}, ['"123e4567-e89b-12d3-a456-426614174000"'], ['"123e4567"']),
]


def texts(*, fitting: bool) -> list[Any]:
    return [
        pytest.param(schema, text, id=f"{number}-{text}")
        for number, (schema, good, bad) in enumerate(LANGUAGES)
        for text in (good if fitting else bad)
    ]


def grammar_of(schema: Any) -> Gbnf:
    return Gbnf(schema_grammar(schema).text)


@pytest.mark.parametrize(("schema", "text"), texts(fitting=True))
def test_what_fits_is_accepted(schema: Any, text: str) -> None:
    assert grammar_of(schema).accepts(text)
    jsonschema.validate(json.loads(text), schema)


@pytest.mark.parametrize(("schema", "text"), texts(fitting=False))
def test_what_does_not_fit_is_not_accepted(schema: Any, text: str) -> None:
    assert not grammar_of(schema).accepts(text)


@pytest.mark.parametrize("number", range(len(LANGUAGES)))
def test_whatever_is_accepted_fits(number: int) -> None:
    schema = LANGUAGES[number][0]
    grammar, source = grammar_of(schema), random.Random(number)
    for _ in range(40):
        jsonschema.validate(json.loads(grammar.draw(source)), schema)


@given(described=DESCRIBED, seed=st.integers(0, 999))
def test_whatever_is_accepted_fits_any_schema(described: Described, seed: int) -> None:
    grammar, source = grammar_of(described.schema), random.Random(seed)
    for _ in range(5):
        text = grammar.draw(source, depth=8)
        assert grammar.accepts(text)
        jsonschema.validate(json.loads(text), described.schema)


@given(described=DESCRIBED, data=st.data(), ascii_only=st.booleans(), indent=st.sampled_from([None, 0, 2]))
def test_a_value_made_for_a_schema_is_accepted(
    described: Described, data: st.DataObject, ascii_only: bool, indent: int | None
) -> None:
    value = data.draw(described.values)
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    jsonschema.validate(value, described.schema)
    assert grammar_of(described.schema).accepts(text)


def test_properties_come_in_the_order_of_the_schema() -> None:
    grammar = grammar_of({"properties": {"b": {}, "a": {}, "c": {}}, "required": ["a"]})
    assert grammar.accepts('{"b":1,"a":2,"c":3}')
    assert not grammar.accepts('{"a":2,"b":1}')


def test_any_object_is_what_the_json_format_means() -> None:
    grammar = Gbnf(json_grammar().text)
    assert grammar.accepts('{"a": [1, {"b": null}]}')
    assert not grammar.accepts("[]")


def test_equal_parts_share_a_rule() -> None:
    colors = {"enum": ["red", "blue"]}
    text = schema_grammar({"properties": {"a": colors, "b": colors, "c": {"$ref": "#/properties/a"}}}).text
    assert text.count(r'"\"red\""') == 1


@pytest.mark.parametrize(
    ("schema", "left_out"),
    [
        ({"type": "number", "multipleOf": 3}, ["#/multipleOf"]),
        ({"properties": {"a/b": {"not": {"type": "null"}}}}, ["#/properties/a~1b/not"]),
        ({"type": "array", "uniqueItems": True, "contains": {}}, ["#/contains", "#/uniqueItems"]),
        (
            {"type": "object", "patternProperties": {}, "minProperties": 1},
            ["#/minProperties", "#/patternProperties"],
        ),
        ({"format": "email"}, ["#/format"]),
        ({"type": "integer", "format": "int32"}, []),
        ({"type": "string", "multipleOf": 3, "x-mine": 1, "title": "t"}, []),
        ({"pattern": r"^\bword\b$"}, ["#/pattern"]),
        ({"pattern": "^a+$", "maxLength": 3, "format": "date"}, ["#/format", "#/maxLength"]),
        ({"allOf": [{"pattern": "^a"}, {"pattern": "b$"}]}, ["#/allOf/1/pattern"]),
        ({"enum": ["a", "b"], "pattern": "^a$"}, ["#/pattern"]),
        ({"type": "string", "maxLength": 100_000}, ["#/maxLength"]),
        ({"type": "array", "minItems": 100_000}, ["#/minItems"]),
        ({"type": "integer", "minimum": 10**50}, ["#/minimum"]),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"if": {}}}}, ["#/$defs/a/if"]),
        ({"$defs": {"unused": {"not": {}}}}, []),
    ],
)
def test_keywords_that_are_not_enforced_are_named(schema: Any, left_out: list[str]) -> None:
    grammar = schema_grammar(schema)
    assert sorted(grammar.unenforced) == left_out
    Gbnf(grammar.text)


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        ({"type": "banana"}, "#: unrecognized type banana"),
        ({"$ref": "#/nope"}, "#: cannot resolve $ref #/nope, nope not found"),
        ({"$ref": "#/a/3", "a": [{}]}, "#: cannot resolve $ref #/a/3, 3 is out of range"),
        ({"$ref": 1}, "#: $ref must be a string"),
        (
            {"$ref": "http://x/y"},
            "#: unsupported $ref http://x/y, only references into the same document are supported",
        ),
        ({"$ref": "#"}, "#: circular $ref #"),
        ({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}, None),
        ({"anyOf": [{"$ref": "#"}, {"type": "null"}]}, "#: circular $ref #"),
        ({"type": []}, "#: type must not be empty"),
        ({"type": 3}, "#: type must be a string or an array of strings"),
        ({"type": ["string", "x"]}, "#: unrecognized type x"),
        ({"anyOf": {}}, "#/anyOf: must be an array of schemas"),
        ({"oneOf": []}, "#/oneOf: must not be empty"),
        ({"enum": []}, "#: enum must be a non-empty array"),
        ({"properties": []}, "#: properties must be an object"),
        (
            {"properties": {"a": {"properties": {"b": {"type": "x"}}}}},
            "#/properties/a/properties/b: unrecognized",
        ),
        ({"properties": {"a": 3}}, "#/properties/a: schema must be an object"),
        ({"additionalProperties": 3}, "#: additionalProperties must be a boolean or a schema"),
        ({"minLength": -1}, "#: minLength must be a non-negative integer"),
        ({"type": "array", "maxItems": "1"}, "#: maxItems must be a non-negative integer"),
        ({"minimum": "1"}, "#: minimum must be a number"),
        ({"pattern": 1}, "#: pattern must be a string"),
        ({"format": 1}, "#: format must be a string"),
        ({"prefixItems": {}}, "#: prefixItems must be an array of schemas"),
        ("object", "#: schema must be an object"),
        (False, "#: no value can fit"),
        ({"type": "string", "enum": [1]}, "#: no value can fit"),
        ({"allOf": [{"type": "string"}, {"type": "null"}]}, "#: no value can fit"),
        ({"type": "integer", "minimum": 3, "maximum": 2}, "#: no value can fit"),
        ({"type": "string", "minLength": 3, "maxLength": 2}, "#: no value can fit"),
        ({"type": "array", "minItems": 3, "maxItems": 2}, "#: no value can fit"),
        ({"properties": {"a": False}, "required": ["a"]}, "#: no value can fit"),
    ],
)
def test_a_schema_that_cannot_be_is_refused(schema: Any, problem: str | None) -> None:
    with pytest.raises(InvalidSchema) as refused:
        schema_grammar(schema)
    start = "JSON schema conversion failed:\nJSON schema error at "
    assert str(refused.value).startswith(start + (problem or "#/$defs/"))


def nested(count: int, **inner: Any) -> Any:
    schema: Any = {"type": "integer"}
    for _ in range(count):
        schema = {name: [schema] if name.endswith("Of") else {"x": schema} for name in inner}
    return schema


def chained(count: int, **link: Any) -> Any:
    """Definitions, each of which uses the next one twice."""
    defs: dict[str, Any] = {
        f"d{i}": {name: [{"$ref": f"#/$defs/d{i + 1}"}] * 2 for name in link} for i in range(count)
    }
    return {"$ref": "#/$defs/d0", "$defs": defs | {f"d{count}": {"properties": {"x": {}}}}}


@pytest.mark.parametrize(
    "schema",
    [
        pytest.param(nested(900, properties=True), id="deep objects"),
        pytest.param(chained(50, allOf=True), id="twice the same"),
        pytest.param(
            {"$ref": "#/$defs/0", "$defs": [{"$ref": f"#/$defs/{i + 1}"} for i in range(3000)] + [{}]},
            id="refs",
        ),
        pytest.param({"enum": [f"value {i}" for i in range(5000)]}, id="values"),
        pytest.param({"properties": {f"p{i}": {} for i in range(3000)}}, id="properties"),
        pytest.param({"prefixItems": [{}] * 2000, "minItems": 0}, id="elements"),
    ],
)
def test_a_large_schema_is_no_trouble(schema: Any) -> None:
    Gbnf(schema_grammar(schema).text)


@pytest.mark.parametrize(
    "schema",
    [
        pytest.param(nested(200, anyOf=True), id="deep alternatives"),
        pytest.param(chained(50, anyOf=True), id="alternatives of alternatives"),
        pytest.param(
            {"allOf": [{"anyOf": [{"properties": {f"{i}{j}": {}}} for i in range(10)]} for j in range(6)]},
            id="combinations",
        ),
        pytest.param({"enum": list(range(300_000))}, id="values"),
        pytest.param({"properties": {f"p{i}": {} for i in range(100_000)}}, id="properties"),
        pytest.param({"properties": {"k" * 100_000: {}}, "additionalProperties": True}, id="a long key"),
        pytest.param(
            {"properties": {f"p{i}": {"type": "string", "maxLength": i} for i in range(2000)}},
            id="repetitions",
        ),
        pytest.param({"const": "x" * 2_000_000}, id="a long text"),
    ],
)
def test_a_schema_out_of_all_measure_is_refused(schema: Any) -> None:
    with pytest.raises(InvalidSchema):
        schema_grammar(schema)


def test_a_schema_too_large_comes_with_advice() -> None:
    assert SchemaTooLarge().hint
