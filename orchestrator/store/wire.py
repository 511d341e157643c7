"""The JSON files of the store, field for field: manifests and model configurations.

Reading is lenient: unknown members are ignored, ``null`` is absent. Source: ``store`` §3.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

MANIFEST_MEDIA_TYPE = "application/vnd.docker.distribution.manifest.v2+json"


class MediaType(StrEnum):
    """What a layer is."""

    CONFIG = "application/vnd.docker.container.image.v1+json"
    MODEL = "application/vnd.ollama.image.model"
    PROJECTOR = "application/vnd.ollama.image.projector"
    ADAPTER = "application/vnd.ollama.image.adapter"
    DRAFT = "application/vnd.ollama.image.draft"
    TEMPLATE = "application/vnd.ollama.image.template"
    PROMPT = "application/vnd.ollama.image.prompt"
    """Old name of ``TEMPLATE``."""
    SYSTEM = "application/vnd.ollama.image.system"
    PARAMS = "application/vnd.ollama.image.params"
    MESSAGES = "application/vnd.ollama.image.messages"
    LICENSE = "application/vnd.ollama.image.license"
    EMBED = "application/vnd.ollama.image.embed"
    """Obsolete."""
    TENSOR = "application/vnd.ollama.image.tensor"
    JSON = "application/vnd.ollama.image.json"


def _null_is(default: Any) -> BeforeValidator:
    return BeforeValidator(lambda value: default if value is None else value)


Text = Annotated[str, _null_is("")]
Count = Annotated[int, _null_is(0)]
Texts = Annotated[tuple[str, ...], _null_is(())]


class _Wire(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True, protected_namespaces=())


class Layer(_Wire):
    """One part of a model: its kind, digest and size."""

    media_type: Text = Field(default="", validation_alias="mediaType")
    digest: Text = ""
    size: Count = 0
    from_: Text = Field(default="", validation_alias="from")
    """Name of the model or file it came from."""
    name: Text = ""
    """Tensor or file path, in models kept as tensors."""

    def to_json(self) -> dict[str, Any]:
        """The members as they are written, in order."""
        out: dict[str, Any] = {"mediaType": self.media_type, "digest": self.digest, "size": self.size}
        return out | _given({"from": self.from_, "name": self.name})


class Manifest(_Wire):
    """A model's list of parts."""

    schema_version: Count = Field(default=2, validation_alias="schemaVersion")
    media_type: Text = Field(default=MANIFEST_MEDIA_TYPE, validation_alias="mediaType")
    config: Annotated[Layer, _null_is(Layer())] = Layer()
    layers: Annotated[tuple[Layer, ...], _null_is(())] = ()

    def to_json(self) -> dict[str, Any]:
        """The members as they are written, in order; no layers are ``null``."""
        return {
            "schemaVersion": self.schema_version,
            "mediaType": self.media_type,
            "config": self.config.to_json(),
            "layers": [layer.to_json() for layer in self.layers] or None,
        }

    @property
    def parts(self) -> tuple[Layer, ...]:
        """The layers, then the configuration."""
        return (*self.layers, self.config) if self.config.digest else self.layers

    def layers_of(self, *media_types: MediaType) -> tuple[Layer, ...]:
        return tuple(layer for layer in self.layers if layer.media_type in media_types)


class DraftConfig(_Wire):
    """What is known of a draft model."""

    model_format: Text = ""
    architecture: Text = ""
    tensor_prefix: Text = ""
    config: Text = ""

    def to_json(self) -> dict[str, Any]:
        return _given(self.model_dump())


class ModelConfig(_Wire):
    """The configuration blob of a model."""

    model_format: Text = ""
    """``gguf``, or ``safetensors`` for models kept as tensors; empty means ``gguf``."""
    model_family: Text = ""
    model_families: Texts = ()
    model_type: Text = ""
    """Number of parameters in words: ``8.0B``."""
    file_type: Text = ""
    """Quantization: ``Q4_K_M``."""
    renderer: Text = ""
    parser: Text = ""
    requires: Text = ""
    """Least version of the server."""
    remote_host: Text = ""
    remote_model: Text = ""
    capabilities: Texts = ()
    context_length: Count = 0
    embedding_length: Count = 0
    base_name: Text = ""
    draft: DraftConfig | None = None
    architecture: Text = "amd64"
    os: Text = "linux"

    def to_json(self) -> dict[str, Any]:
        """The members as they are written, in order; most are left out when empty."""
        always = ("model_format", "model_family", "model_type", "file_type", "architecture", "os")
        out: dict[str, Any] = {}
        for field in type(self).model_fields:
            value = getattr(self, field)
            if field == "model_families":
                out[field] = list(value) or None
            elif field == "draft":
                out |= {"draft": value.to_json()} if value is not None else {}
            elif value or field in always:
                out[field] = list(value) if isinstance(value, tuple) else value
        return out


def _given(members: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in members.items() if value}
