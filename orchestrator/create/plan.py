"""What a create request asks for, checked as far as that goes without the store.

Source: ``modelfile`` §4.3, §5.1, §5.2; ``api-native`` §9.9.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from orchestrator.create.errors import CreateRefused
from orchestrator.create.remote import CLOUD_URL, remote_url
from orchestrator.domain.digests import InvalidDigest
from orchestrator.domain.names import InvalidName, InvalidReference, ModelName, ModelReference, Source
from orchestrator.domain.requests import Message

Files = Mapping[str, str]
"""Names of uploaded files → digests, as the client wrote them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layers:
    """What a model gets besides its weights; empty keeps what the base has."""

    template: str = ""
    system: str = ""
    license: Any = None
    """A text, or a list of texts; checked after the base."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    messages: tuple[Message, ...] = ()
    renderer: str = ""
    parser: str = ""
    requires: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateRequest(Layers):
    """A request to create a model, as it came. ``None`` is "not given" where that differs from empty."""

    model: str
    base: str = ""
    """Name of the model to start from (``from``)."""
    remote_host: str = ""
    files: Files | None = None
    adapters: Files | None = None
    draft_files: Files | None = None
    quantize: str = ""
    draft_quantize: str = ""
    info: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ExistingModel:
    """Start from a model of the store, or of its registry."""

    name: ModelName


@dataclass(frozen=True, slots=True)
class RemoteModel:
    """A stub: the model is on another server."""

    host: str
    model: str


@dataclass(frozen=True, slots=True)
class UploadedFiles:
    """Start from files that are in the store as blobs."""

    files: Files


Base = ExistingModel | RemoteModel | UploadedFiles


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigOverrides:
    """Values of the configuration that the client knows better (``info``); empty is "not given"."""

    capabilities: tuple[str, ...] = ()
    model_family: str = ""
    base_name: str = ""
    quantization_level: str = ""
    parameter_size: str = ""
    context_length: int = 0
    embedding_length: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatePlan(Layers):
    """A create request whose form is right."""

    name: ModelName
    base: Base
    adapters: Files | None = None
    drafts: Files = field(default_factory=dict)
    quantize: str = ""
    """Type of the weights, upper case; empty leaves it."""
    draft_quantize: str = ""
    overrides: ConfigOverrides = ConfigOverrides()


def check_form(request: CreateRequest) -> ModelName:
    """The name of the model to be made, after what is looked at before all else: files, digests, the name.

    Raises ``CreateRefused``, ``InvalidDigest`` or ``InvalidName``.
    """
    for files in (request.files, request.adapters, request.draft_files):
        _check_files(files or {})
    if request.draft_quantize and not request.draft_files:
        raise CreateRefused("--draft-quantize requires a DRAFT model")
    return ModelName.parse(request.model)


def plan_create(request: CreateRequest) -> CreatePlan:
    """Check a request. Raises ``CreateRefused``, ``InvalidDigest`` or ``InvalidName``."""
    name = check_form(request)
    overrides = _overrides(request.info)
    base = _base(request)
    if isinstance(base, RemoteModel) and request.draft_files:
        raise CreateRefused("DRAFT cannot be used with remote models")
    return CreatePlan(
        name=name,
        base=base,
        adapters=request.adapters,
        drafts=request.draft_files or {},
        quantize=request.quantize.upper(),
        draft_quantize=request.draft_quantize.upper(),
        template=request.template,
        system=request.system,
        license=request.license,
        parameters=request.parameters,
        messages=request.messages,
        renderer=request.renderer,
        parser=request.parser,
        requires=request.requires,
        overrides=overrides,
    )


def licenses_of(value: Any) -> tuple[str, ...]:
    """The texts of ``license``: one, a list of them, or none. Raises ``TypeError``."""
    match value:
        case None | "":
            return ()
        case str():
            return (value,)
        case list() if all(isinstance(text, str) for text in value):
            return tuple(value)
        case _:
            raise TypeError("license must be a text or a list of texts")


def _base(request: CreateRequest) -> Base:
    if request.base:
        try:
            reference = ModelReference.parse(request.base)
        except InvalidReference as error:
            raise InvalidName(request.base, "source", request.base) from error
        name = reference.name
        if request.remote_host:
            return RemoteModel(remote_url(request.remote_host), reference.base)
        if reference.source is Source.CLOUD:
            return RemoteModel(CLOUD_URL, reference.base)
        return ExistingModel(name)
    if request.files is None:
        raise CreateRefused("neither 'from' or 'files' was specified")
    return UploadedFiles(request.files)


def _check_files(files: Files) -> None:
    for name, digest in files.items():
        if any(part in ("", ".", "..") for part in name.split("/")):
            raise CreateRefused("file path must be relative")
        if not digest:
            raise InvalidDigest(digest)


def _overrides(info: Mapping[str, Any]) -> ConfigOverrides:
    capabilities = info.get("capabilities")
    return ConfigOverrides(
        capabilities=tuple(name for name in capabilities if isinstance(name, str))
        if isinstance(capabilities, list)
        else (),
        model_family=_text(info, "model_family"),
        base_name=_text(info, "base_name"),
        quantization_level=_text(info, "quantization_level"),
        parameter_size=_text(info, "parameter_size"),
        context_length=_count(info, "context_length"),
        embedding_length=_count(info, "embedding_length"),
    )


def _text(info: Mapping[str, Any], key: str) -> str:
    value = info.get(key, "")
    if not isinstance(value, str):
        raise CreateRefused(f'info field "{key}" must be a string')
    return value


def _count(info: Mapping[str, Any], key: str) -> int:
    value = info.get(key, 0)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise CreateRefused(f'info field "{key}" must be a number')
    if value < 0 or value != int(value):
        raise CreateRefused(f'info field "{key}" must be a non-negative integer')
    return int(value)
