"""What a request for a response says in vain, although its keys are known. Source: ``api-compat`` §6."""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator.api.openai.passed_over import FORMATS, FUNCTION
from orchestrator.api.openai.responses.convert import LOGPROBS
from orchestrator.api.search_tool import WEB_SEARCH
from orchestrator.domain.remarks import no_effect
from orchestrator.wire import responses as wire

_TOOLS = (FUNCTION, "namespace", WEB_SEARCH)
_TRUNCATIONS = ("auto", "disabled")


def in_response(body: wire.ResponsesRequest) -> Iterator[str]:
    """One text for each value that changes nothing."""
    wanted = body.text.format if body.text else None
    if wanted is not None and wanted.type not in FORMATS:
        yield no_effect("text.format", f"its type is none of {', '.join(FORMATS)}")
    elif wanted is not None and wanted.type == "json_schema" and wanted.schema_ is None:
        yield no_effect("text.format", "there is no schema")
    if body.top_logprobs and LOGPROBS not in body.include:
        yield no_effect("top_logprobs", f'it needs "{LOGPROBS}" in include')
    if body.truncation not in ("", *_TRUNCATIONS):
        yield no_effect("truncation", f"it is none of {', '.join(_TRUNCATIONS)}")
    for index, tool in enumerate(body.tools):
        if tool.type not in ("", *_TOOLS):
            yield no_effect(f"tools[{index}].type", f'"{tool.type}" is none of {", ".join(_TOOLS)}')
