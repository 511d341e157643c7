"""From a manifest to a model: its small parts read, the headers of its large ones looked into.

Blobs never change, so what was found is kept by digest. Plain synchronous code.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from orchestrator.domain.digests import Digest
from orchestrator.domain.json_value import parse_json
from orchestrator.domain.loads import ModelFacts, ModelFiles
from orchestrator.domain.names import ModelName
from orchestrator.domain.requests import Message
from orchestrator.errors import BadRequest, StoreError, reason_of
from orchestrator.files.facts import model_facts
from orchestrator.files.ggml import UNKNOWN_FILE_TYPE
from orchestrator.files.gguf import GgufConfig, read_config, read_header
from orchestrator.store.blobs import BlobStore
from orchestrator.store.capabilities import ModelTraits, capabilities
from orchestrator.store.errors import DamagedModel, IncompleteModel
from orchestrator.store.kept import Kept
from orchestrator.store.manifests import StoredManifest
from orchestrator.store.messages import read_messages
from orchestrator.store.model import NO_WEIGHTS, ListedModel, Model
from orchestrator.store.shards import weights_of
from orchestrator.store.wire import Layer, Manifest, MediaType, ModelConfig
from orchestrator.templates.gotemplate import GoTemplate
from orchestrator.wire.complaints import complaint

logger = logging.getLogger(__name__)

LISTED_ENTRIES = 4096
"""A listing asks for every model, so a smaller number would keep nothing of a larger store."""
TEMPLATE_TYPES = (MediaType.TEMPLATE, MediaType.PROMPT)


class _DamagedWeights(DamagedModel):
    """The weights of a listed model cannot be read; ``entry`` is what is known without them."""

    def __init__(self, entry: ListedModel) -> None:
        super().__init__(entry.name, entry.damage)
        self.entry = entry


class ModelReader:
    """Reads models of one store."""

    def __init__(self, blobs: BlobStore, *, go_template: bool | None = None) -> None:
        """``go_template`` is ``OLLAMA_GO_TEMPLATE``."""
        self._blobs = blobs
        self._go_template = go_template
        self._models: Kept[tuple[ModelName, str], Model] = Kept()
        self._listed: Kept[str, ListedModel] = Kept(LISTED_ENTRIES)
        self._facts: Kept[tuple[Path | None, ...], ModelFacts] = Kept()
        self._configs: Kept[Path, GgufConfig] = Kept()
        self._reported: set[str] = set()

    def model(self, stored: StoredManifest) -> Model:
        """The model of a manifest. Raises ``DamagedModel``."""
        model = self._models.found((stored.name, stored.digest), lambda: self._read(stored))
        return replace(model, modified_ns=stored.modified_ns)

    def listed(self, stored: StoredManifest) -> ListedModel:
        """The entry of a manifest. Damage to the weights is told in it; raises ``DamagedModel`` for other."""
        try:
            entry = self._listed.found(stored.digest, lambda: self._entry(stored))
        except _DamagedWeights as damage:
            self._report(damage)
            entry = damage.entry
        return replace(entry, name=stored.name, modified_ns=stored.modified_ns)

    def config(self, manifest: Manifest) -> ModelConfig:
        """The configuration a manifest names; an empty one if it names none. Raises ``StoreError``."""
        if not manifest.config.digest:
            return ModelConfig()
        content = self._content(manifest.config)
        try:
            return ModelConfig.model_validate_json(content)
        except ValidationError as error:
            raise StoreError(
                f"invalid config {manifest.config.digest}: {complaint(error, whole='')}"
            ) from error

    def parameters(self, manifest: Manifest) -> dict[str, Any]:
        """The options of the ``params`` layer; the last one counts. Raises ``StoreError``."""
        layers = manifest.layers_of(MediaType.PARAMS)
        if not layers:
            return {}
        try:
            value = parse_json(self._content(layers[-1]))
        except ValueError as error:
            raise StoreError(f"invalid parameters {layers[-1].digest}: {error}") from error
        if not isinstance(value, dict):
            raise StoreError(f"invalid parameters {layers[-1].digest}: expected an object")
        return value

    def _read(self, stored: StoredManifest) -> Model:
        with _damage_of(stored.name):
            return self._assembled(stored)

    def _assembled(self, stored: StoredManifest) -> Model:
        manifest = stored.manifest
        weights = self._weights(manifest)
        projectors = self._paths(manifest, MediaType.PROJECTOR)
        text = self._text(manifest, *TEMPLATE_TYPES)
        traits = self._traits(self.config(manifest), weights, projectors, text)
        found = capabilities(traits, self._go_template)
        return Model(
            name=stored.name,
            digest=stored.digest,
            modified_ns=stored.modified_ns,
            size_bytes=stored.size_bytes,
            manifest=manifest,
            config=traits.config,
            files=self._files(stored, traits.config, weights, projectors, found),
            traits=traits,
            capabilities=found,
            has_weights=bool(weights),
            template_text=text,
            system=self._text(manifest, MediaType.SYSTEM) or "",
            parameters=self.parameters(manifest),
            messages=self._messages(manifest),
            licenses=tuple(_decoded(self._content(layer)) for layer in manifest.layers_of(MediaType.LICENSE)),
            parent=_parent(manifest),
            quantization=_quantization(traits.config, traits.weights),
        )

    def _traits(
        self, config: ModelConfig, weights: tuple[Path, ...], projectors: tuple[Path, ...], text: str | None
    ) -> ModelTraits:
        gguf = self._header_config(weights[0]) if weights else None
        return ModelTraits(
            config=config,
            weights=gguf,
            projectors=tuple(map(self._header_config, projectors)),
            template=_template(text),
            template_text=text or "",
            chat_template=gguf.string("tokenizer.chat_template") if gguf else "",
        )

    def _files(
        self,
        stored: StoredManifest,
        config: ModelConfig,
        weights: tuple[Path, ...],
        projectors: tuple[Path, ...],
        found: tuple[str, ...],
    ) -> ModelFiles:
        """What the engine loads; ``found`` are the capabilities."""
        draft = self._paths(stored.manifest, MediaType.DRAFT)[-1:]
        return ModelFiles(
            key=str(weights[0]) if weights else f"digest:{stored.digest}",
            name=stored.name.short,
            digest=stored.digest,
            weights=weights[0] if weights else NO_WEIGHTS,
            shards=weights[1:],
            projectors=projectors,
            adapters=self._paths(stored.manifest, MediaType.ADAPTER),
            draft=draft[0] if draft else None,
            family=config.model_family,
            families=config.model_families,
            capabilities=frozenset(found),
            facts=self._weights_facts(weights, projectors, draft) if weights else ModelFacts(),
        )

    def _entry(self, stored: StoredManifest) -> ListedModel:
        manifest = stored.manifest
        with _damage_of(stored.name):
            config = self.config(manifest)
            text = self._text(manifest, *TEMPLATE_TYPES)
            template = _template(text)
        entry = ListedModel(
            name=stored.name,
            digest=stored.digest,
            modified_ns=stored.modified_ns,
            size_bytes=stored.size_bytes,
            config=config,
            parent=_parent(manifest),
            quantization=config.file_type,
            context_length=config.context_length,
            embedding_length=config.embedding_length,
        )
        try:
            with _damage_of(stored.name):
                gguf, projectors = self._quick_configs(manifest)
        except DamagedModel as error:
            raise _DamagedWeights(replace(entry, damage=error.reason)) from error
        traits = ModelTraits(
            config=config, weights=gguf, projectors=projectors, template=template, template_text=text or ""
        )
        return replace(
            entry,
            quantization=_quantization(config, gguf),
            context_length=config.context_length or (gguf.uint("context_length") if gguf else 0),
            embedding_length=config.embedding_length or (gguf.uint("embedding_length") if gguf else 0),
            capabilities=capabilities(traits, self._go_template),
        )

    def _report(self, damage: _DamagedWeights) -> None:
        """Warn of a damaged model once, not at every listing."""
        entry = damage.entry
        if entry.digest not in self._reported:
            self._reported.add(entry.digest)
            logger.warning("damaged model listed", extra={"model": entry.name.short, "reason": entry.damage})

    def _quick_configs(self, manifest: Manifest) -> tuple[GgufConfig | None, tuple[GgufConfig, ...]]:
        weights = self._weights(manifest)
        projectors = self._paths(manifest, MediaType.PROJECTOR)
        return (read_config(weights[0]) if weights else None), tuple(map(read_config, projectors))

    def _header_config(self, path: Path) -> GgufConfig:
        return self._configs.found(path, lambda: read_header(path).config)

    def _weights(self, manifest: Manifest) -> tuple[Path, ...]:
        return weights_of(self._paths(manifest, MediaType.MODEL), self._header_config)

    def _weights_facts(
        self, weights: tuple[Path, ...], projectors: tuple[Path, ...], draft: tuple[Path, ...]
    ) -> ModelFacts:
        projector = projectors[0] if projectors else None
        guesser = draft[0] if draft else None
        facts = self._facts.found(
            (weights[0], projector, guesser),
            lambda: model_facts(weights[0], projector=projector, draft=guesser),
        )
        shards_bytes = sum(shard.stat().st_size for shard in weights[1:])
        return replace(facts, size_bytes=facts.size_bytes + shards_bytes) if shards_bytes else facts

    def _paths(self, manifest: Manifest, media_type: MediaType) -> tuple[Path, ...]:
        return tuple(self._blobs.path(Digest.parse(layer.digest)) for layer in manifest.layers_of(media_type))

    def _content(self, layer: Layer) -> bytes:
        return self._blobs.read(Digest.parse(layer.digest))

    def _text(self, manifest: Manifest, *media_types: MediaType) -> str | None:
        layers = manifest.layers_of(*media_types)
        return _decoded(self._content(layers[-1])) if layers else None

    def _messages(self, manifest: Manifest) -> tuple[Message, ...]:
        layers = manifest.layers_of(MediaType.MESSAGES)
        return read_messages(self._content(layers[-1])) if layers else ()


@contextmanager
def _damage_of(name: ModelName) -> Iterator[None]:
    """What keeps a model from being read, as the damage it is."""
    try:
        yield
    except OSError as error:
        raise _damage(error)(name, f"open {error.filename}: {reason_of(error)}") from error
    except (BadRequest, StoreError) as error:
        raise _damage(error.__cause__)(name, str(error)) from error


def _damage(cause: BaseException | None) -> type[DamagedModel]:
    return IncompleteModel if isinstance(cause, FileNotFoundError) else DamagedModel


def _template(text: str | None) -> GoTemplate | None:
    return None if text is None else GoTemplate.parse(text)


def _decoded(content: bytes) -> str:
    return content.decode("utf-8", "replace")


def _parent(manifest: Manifest) -> str:
    layers = manifest.layers_of(MediaType.MODEL)
    return layers[-1].from_ if layers else ""


def _quantization(config: ModelConfig, gguf: GgufConfig | None) -> str:
    if config.file_type in ("", UNKNOWN_FILE_TYPE) and gguf is not None:
        known = gguf.file_type_name
        return known if known != UNKNOWN_FILE_TYPE else config.file_type
    return config.file_type
