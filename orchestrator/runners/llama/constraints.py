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
from orchestrator.grammars.losses import losses
from orchestrator.grammars.schema import json_grammar, schema_grammar
from orchestrator.runners.base import CompletionCall
from orchestrator.wire.json import dumps


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
        message = f"Field 'json_schema': \"json_schema\": {error}"
        document = {"error": {"code": 400, "message": message, "type": "invalid_request_error"}}
        raise EngineRefused(dumps(document).decode(), status=400) from error


@cache
def _any_object() -> str:
    return json_grammar().text
