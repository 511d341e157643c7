"""What a request of this dialect says in vain, although its keys are known.

Ollama passes these values over without a word, and so the request is served all the same; but the client is
told. Source: ``api-compat`` §2–§4.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from orchestrator.api.warnings import unusual_roles
from orchestrator.domain.remarks import no_effect
from orchestrator.domain.tools import Tool
from orchestrator.wire import openai as wire

FORMATS = ("text", "json_object", "json_schema")
FUNCTION = "function"


def in_chat(body: wire.ChatCompletionRequest) -> Iterator[str]:
    """One text for each value of a chat completion that changes nothing."""
    if body.response_format is not None:
        yield from _in_format(body.response_format)
    yield from in_stops(body.stop)
    if body.top_logprobs and not body.logprobs:
        yield no_effect("top_logprobs", "it needs logprobs")
    if not _are_words(body.modalities):
        yield no_effect("modalities", "it is no list of words")
    if body.audio is not None:
        yield no_effect("audio", "only text is generated")
    if body.web_search_options is not None:
        yield no_effect("web_search_options", "nothing is searched here")
    yield from _in_tools(body.tools)
    yield from unusual_roles(message.role for message in body.messages or ())
    for index, message in enumerate(body.messages or ()):
        for name in ("audio", "function_call"):
            if getattr(message, name) is not None:
                yield no_effect(f"messages[{index}].{name}", "models here do not read it")


def in_completion(body: wire.CompletionRequest) -> Iterator[str]:
    """The same of a completion."""
    yield from in_stops(body.stop)


def in_transcription(fields: Mapping[str, str]) -> Iterator[str]:
    """The same of the fields of a form."""
    form = fields.get("response_format", "")
    if form not in ("", "json", "text"):
        yield no_effect("response_format", "it is neither json nor text")
    for name in ("timestamp_granularities", "timestamp_granularities[]", "include", "include[]"):
        if fields.get(name):
            yield no_effect(name, "a transcription is its text alone")
    if fields.get("temperature", "0").strip("0.") != "":
        yield no_effect("temperature", "a transcription is always made with 0")


def in_stops(value: Any) -> Iterator[str]:
    """The same of ``stop``."""
    match value:
        case None | str():
            pass
        case list():
            for index, stop in enumerate(value):
                if not isinstance(stop, str):
                    yield no_effect(f"stop[{index}]", "it is no text")
        case _:
            yield no_effect("stop", "it is neither a text nor a list of texts")


def _in_format(wanted: wire.ResponseFormat) -> Iterator[str]:
    kind = wanted.type.strip().lower()
    if kind not in FORMATS:
        yield no_effect("response_format", f"its type is none of {', '.join(FORMATS)}")
    elif kind == "json_schema" and (wanted.json_schema is None or wanted.json_schema.schema_ is None):
        yield no_effect("response_format", "there is no json_schema.schema")


def _in_tools(tools: Sequence[Tool]) -> Iterator[str]:
    for index, tool in enumerate(tools):
        if tool.type not in ("", FUNCTION):
            yield no_effect(f"tools[{index}].type", f'tools are functions here, and "{tool.type}" is none')


def _are_words(value: Any) -> bool:
    return value is None or (isinstance(value, list) and all(isinstance(word, str) for word in value))
