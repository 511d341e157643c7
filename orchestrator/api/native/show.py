"""``/api/show``: everything about one model. Source: ``api-native`` §9.8, ``store`` §10, ``modelfile`` §8."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from typing import Any

from aiohttp import web

from orchestrator.api.bodies import read
from orchestrator.api.native import details
from orchestrator.api.remote import open_described
from orchestrator.api.replies import json_reply
from orchestrator.api.routing import Route
from orchestrator.api.state import AppState
from orchestrator.domain.quoting import quoted
from orchestrator.errors import StoreError, reason_of
from orchestrator.files.gguf import ArraySummary, GgufHeader
from orchestrator.modelfile.commands import Command, Keyword
from orchestrator.modelfile.printer import generated_modelfile
from orchestrator.store.capabilities import uses_chat_template
from orchestrator.store.model import Model
from orchestrator.templates.values import inner_text
from orchestrator.units import rfc3339_local
from orchestrator.wire import native as wire
from orchestrator.wire.fields import shortest_single

PLAIN_TEMPLATE = "{{ .Prompt }}"
"""The template of a model that has none."""

_PADDING = 30
_NOT_SHOWN = ("general.name", "tokenizer.chat_template")
_COPILOT = "GitHubCopilotChat/"


def routes(state: AppState) -> tuple[Route, ...]:
    """The routes of this module."""

    async def show(request: web.Request) -> web.Response:
        body = await read(request, wire.ShowRequest)
        text = body.model or body.name
        model = await open_described(state, text)
        reply = await asyncio.to_thread(describe, model, body, go_template=state.inference.go_template)
        if request.headers.get("User-Agent", "").startswith(_COPILOT):
            reply = _with_basename(reply, text)
        return json_reply(reply)

    return (Route("POST", "/api/show", show),)


def describe(model: Model, body: wire.ShowRequest, *, go_template: bool | None) -> wire.ShowResponse:
    """What is told about ``model``; reads its files. Raises ``MalformedGguf``, ``StoreError``."""
    try:
        header = model.header(keep_arrays=body.verbose) if model.has_weights else None
        projector = model.projector_header(keep_arrays=body.verbose)
    except OSError as error:
        raise StoreError(f"open {error.filename}: {reason_of(error)}") from error
    system = body.system or model.system
    template = model.template_text or PLAIN_TEMPLATE
    shown = template
    if uses_chat_template(model.traits, go_template):
        shown = model.chat_template or template
    return wire.ShowResponse(
        license="\n".join(model.licenses),
        modelfile=generated_modelfile(
            "" if _is_of_tensors(model) else model.name.short,
            _commands(model, template, system, {**model.parameters, **(body.options or {})}),
        ),
        parameters="\n".join(_parameter_lines(model.parameters)),
        template="" if model.config.remote_host else shown,
        system=system,
        details=details.of_model(model),
        messages=[wire.Message(role=message.role, content=message.content) for message in model.messages],
        remote_model=model.config.remote_model,
        remote_host=model.config.remote_host,
        model_info=_remote_metadata(model) if header is None else _metadata(header),
        projector_info={} if projector is None else _metadata(projector),
        tensors=[] if header is None else _tensors(header),
        capabilities=list(model.capabilities),
        modified_at=rfc3339_local(model.modified_ns),
        requires=model.config.requires,
    )


def _is_of_tensors(model: Model) -> bool:
    """Whether the model is kept as tensors, of which no single file is the model."""
    return model.config.model_format == "safetensors"


def _commands(model: Model, template: str, system: str, parameters: Mapping[str, Any]) -> Iterator[Command]:
    """The commands that would make the model again."""
    files, config = model.files, model.config
    if _is_of_tensors(model):
        yield Command(Keyword.FROM, model.name.short)
    elif model.has_weights:
        yield Command(Keyword.FROM, str(files.weights))
    for path in files.adapters:
        yield Command(Keyword.ADAPTER, str(path))
    if files.draft is not None:
        yield Command(Keyword.DRAFT, str(files.draft))
    for path in files.projectors:
        yield Command(Keyword.FROM, str(path))
    yield Command(Keyword.TEMPLATE, template)
    for keyword, text in (
        (Keyword.SYSTEM, system),
        (Keyword.RENDERER, config.renderer),
        (Keyword.PARSER, config.parser),
    ):
        if text:
            yield Command(keyword, text)
    for name, value in _flat(parameters):
        yield Command(Keyword.PARAMETER, str(value) if type(value) is int else _plain(value), name)
    for license_text in model.licenses:
        yield Command(Keyword.LICENSE, license_text)
    for message in model.messages:
        yield Command(Keyword.MESSAGE, message.content, message.role)


def _parameter_lines(parameters: Mapping[str, Any]) -> Iterator[str]:
    for name, value in _flat(parameters):
        shown = quoted(value) if isinstance(value, str) else _plain(value)
        yield f"{name:<{_PADDING}} {shown}"


def _flat(parameters: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Names and values in the order of names; each element of a list by itself."""
    for name, value in sorted(parameters.items()):
        for element in value if isinstance(value, list | tuple) else (value,):
            yield name, element


def _plain(value: Any) -> str:
    """A value as Go prints it: numbers are doubles, whatever the JSON was."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    return inner_text(value)


def _metadata(header: GgufHeader) -> dict[str, Any]:
    """The metadata of a file in the order of its keys; arrays that were not read are null."""
    shown = {
        key: _shown(value, header.types[key])
        for key, value in header.metadata.items()
        if key not in _NOT_SHOWN
    }
    shown["general.parameter_count"] = header.parameter_count
    return dict(sorted(shown.items()))


def _shown(value: Any, kind: str) -> Any:
    match value:
        case ArraySummary():
            return None
        case tuple():
            return [_shown(element, kind.removeprefix("arr:")) for element in value]
        case float() if kind == "f32":
            return shortest_single(value)
        case _:
            return value


def _remote_metadata(model: Model) -> dict[str, Any]:
    """What a stub knows of the model elsewhere, under the keys a file would have."""
    config = model.config
    family = config.model_family
    metadata: dict[str, Any] = {}
    if family:
        metadata["general.architecture"] = family
    if config.base_name:
        metadata["general.basename"] = config.base_name
    if config.context_length:
        metadata[f"{family}.context_length"] = config.context_length
    if config.embedding_length:
        metadata[f"{family}.embedding_length"] = config.embedding_length
    return metadata


def _tensors(header: GgufHeader) -> list[wire.Tensor]:
    return [
        wire.Tensor(name=tensor.name, type=tensor.type, shape=list(tensor.shape)) for tensor in header.tensors
    ]


def _with_basename(reply: wire.ShowResponse, name: str) -> wire.ShowResponse:
    """The reply with the requested name as base name, which one editor looks for."""
    metadata = {**(reply.model_info or {}), "general.basename": name}
    return reply.model_copy(update={"model_info": dict(sorted(metadata.items()))})
