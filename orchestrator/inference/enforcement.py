"""What of a wanted format nobody enforces: clients are told rather than left to trust it (case B057)."""

from __future__ import annotations

import asyncio
from functools import lru_cache

from orchestrator.domain.formats import OutputFormat, SchemaFormat, UnknownFormat
from orchestrator.grammars.errors import InvalidSchema
from orchestrator.grammars.losses import losses
from orchestrator.grammars.schema import schema_grammar
from orchestrator.wire.json import dumps, loads


async def format_warnings(wanted: OutputFormat | UnknownFormat | None, *, rendered: bool) -> tuple[str, ...]:
    """A text that names the schema's keywords that will not hold, if there are any.

    ``rendered``: the daemon makes the prompt, so that it may give the engine a grammar of its own; an engine
    that renders by itself reads the schema by itself, too.
    """
    if not isinstance(wanted, SchemaFormat):
        return ()
    keywords = await asyncio.to_thread(_unenforced, dumps(wanted.schema), rendered)
    return (f"format: keywords not enforced: {', '.join(keywords)}",) if keywords else ()


@lru_cache(maxsize=64)
def _unenforced(schema_json: bytes, rendered: bool) -> tuple[str, ...]:
    schema = loads(schema_json)
    try:
        found = schema_grammar(schema).unenforced
    except InvalidSchema:
        return ()  # the engine will say what is wrong
    return found if rendered else tuple(dict.fromkeys((*found, *losses(schema))))
