"""Formats that engines get as grammars."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.domain.formats import JsonFormat, SchemaFormat
from orchestrator.domain.options import Options
from orchestrator.errors import EngineRefused
from orchestrator.runners.base import CompletionCall
from orchestrator.runners.llama.constraints import needs_grammar, with_grammar

PLAIN = SchemaFormat({"type": "object", "properties": {"a": {"enum": ["red", "blue"]}}})
BOUNDED = SchemaFormat({"type": "number", "minimum": 1, "maximum": 3})


@pytest.mark.parametrize(
    ("format", "reads_schemas", "needed"),
    [
        (None, False, False),
        (None, True, False),
        (JsonFormat(), True, False),
        (JsonFormat(), False, True),
        (PLAIN, True, False),
        (PLAIN, False, True),
        (BOUNDED, True, True),  # case B057: llama.cpp would let any number through
    ],
)
def test_a_grammar_is_needed_where_the_engine_would_enforce_less(
    format: Any, reads_schemas: bool, needed: bool
) -> None:
    assert needs_grammar(format, reads_schemas=reads_schemas) is needed


def test_a_format_becomes_a_grammar() -> None:
    call = with_grammar(CompletionCall(prompt="x", options=Options(), format=PLAIN))
    assert call.format is None
    assert call.grammar is not None
    assert "red" in call.grammar


def test_a_grammar_of_the_callers_own_stays() -> None:
    call = CompletionCall(prompt="x", options=Options(), format=PLAIN, grammar='root ::= "a"')
    assert with_grammar(call) is call


def test_a_bad_schema_is_refused_as_an_engine_refuses_it() -> None:
    call = CompletionCall(prompt="x", options=Options(), format=SchemaFormat({"type": "banana"}))
    with pytest.raises(EngineRefused, match="json_schema.*unrecognized type banana") as refused:
        with_grammar(call)
    assert refused.value.status == 400
