"""Formats as grammars, where an engine cannot be trusted with a JSON schema.

The embedded engine hands schemas to a library of its own, which leaves the output free when it does not
understand one, and leaves objects open that llama.cpp closes. llama.cpp in turn loses some keywords beside
others. A grammar is obeyed by all of them alike. Schemas that cannot be are refused here as a llama-server
refuses them.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from orchestrator.domain.formats import JsonFormat, OutputFormat, SchemaFormat
from orchestrator.errors import EngineRefused
from orchestrator.grammars.errors import InvalidSchema
from orchestrator.grammars.gbnf import MOST_REPETITIONS
from orchestrator.grammars.losses import losses
from orchestrator.grammars.schema import json_grammar, schema_grammar
from orchestrator.runners.base import CompletionCall
from orchestrator.wire.json import dumps

_NO_GRAMMAR = "failed to parse grammar"
_TOO_MUCH_REPEATED = (
    "the schema of the format, or of a tool, asks for more repetitions than the engine can take: "
    f"keep minItems, maxItems, minLength, maxLength and counts in patterns at {MOST_REPETITIONS} or less, "
    "and lower where what is repeated is itself large"
)


def needs_grammar(format: OutputFormat | None, *, reads_schemas: bool) -> bool:
    """Whether an engine had better get a grammar than ``format`` itself (case B057)."""
    match format:
        case None:
            return False
        case SchemaFormat(schema) if reads_schemas:
            return bool(losses(schema))
        case _:
            return not reads_schemas


def with_grammar(call: CompletionCall) -> CompletionCall:
    """``call`` with a grammar in the place of its format. Raises ``EngineRefused``."""
    if call.format is None or call.grammar is not None:
        return call
    return replace(call, format=None, grammar=_grammar(call.format))


def _grammar(format: OutputFormat) -> str:
    if isinstance(format, JsonFormat):
        return _any_object()
    try:
        return schema_grammar(format.schema).text
    except InvalidSchema as error:
        raise _refusal(f"Field 'json_schema': \"json_schema\": {error}") from error


def in_clear_words(refusal: EngineRefused) -> EngineRefused:
    """``refusal``, or one that says what of a schema the engine could not take.

    Its rule is its own: 2001 repetitions are too many, 2002 at most are any number, and what each of them
    costs counts. So nothing is foretold here.
    """
    return _refusal(_TOO_MUCH_REPEATED) if _NO_GRAMMAR in str(refusal) else refusal


def _refusal(message: str) -> EngineRefused:
    """A refusal in the form that an engine gives it."""
    document = {"error": {"code": 400, "message": message, "type": "invalid_request_error"}}
    return EngineRefused(dumps(document).decode(), status=400)


@cache
def _any_object() -> str:
    return json_grammar().text
