"""The models of the records, made by a daemon."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from orchestrator.store.wire import MediaType
from tests.golden_records import FOLDER
from tests.http_replay.transport import Server

_FILES = ("files", "adapters", "draft_files")
_CLIP = b"clip"


class ModelNotMade(Exception):
    """The daemon refused to make a model of the world."""


@dataclass(frozen=True, slots=True)
class World:
    """Models by name, and the blobs they are made of."""

    blobs: Mapping[str, Mapping[str, str]]
    models: Mapping[str, Mapping[str, Any]]

    @classmethod
    def read(cls, folder: Path = FOLDER / "engine") -> World:
        """The recorded world."""
        content = json.loads((folder / "world.json").read_text())
        return cls(content["blobs"], content["models"])

    def content(self, name: str) -> bytes:
        """The bytes of a blob."""
        return gzip.decompress(base64.b64decode(self.blobs[name]["gzip_base64"]))


@dataclass(slots=True)
class Store:
    """What a daemon has made of the world so far, and where it is."""

    world: World
    server: Server
    folder: Path
    paths: dict[str, str] = field(default_factory=dict)
    """Path of a file in the store → name of the blob it was made of."""
    _made: set[str] = field(default_factory=set)

    def make(self, name: str) -> None:
        """Make a model, and before it its blobs. Raises ``ModelNotMade``."""
        if name in self._made:
            return
        model = self.world.models[name]
        for member in _FILES:
            for blob in model.get(member, {}):
                body = {"body_gzip_base64": self.world.blobs[blob]["gzip_base64"]}
                self._post(f"/api/blobs/{self.world.blobs[blob]['digest']}", body)
        self._post("/api/create", {"json": model})
        self._made.add(name)
        self.paths |= self._found(model)

    def _found(self, model: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """Where the daemon put the files of a model: an import writes weights anew, under another digest."""
        file = self.folder / "manifests" / "registry.ollama.ai" / "library" / model["model"] / "latest"
        layers = json.loads(file.read_text())["layers"]
        for kind, blobs in self._blobs_by_kind(model).items():
            digests = [layer["digest"] for layer in layers if layer["mediaType"] == kind]
            for digest, blob in zip(digests, blobs, strict=True):
                yield str(self.folder / "blobs" / digest.replace(":", "-")), blob

    def _blobs_by_kind(self, model: Mapping[str, Any]) -> dict[MediaType, list[str]]:
        files = list(model.get("files", {}))
        projectors = [blob for blob in files if _CLIP in self.world.content(blob)[:1024]]
        return {
            MediaType.MODEL: [blob for blob in files if blob not in projectors],
            MediaType.PROJECTOR: projectors,
            MediaType.ADAPTER: list(model.get("adapters", {})),
            MediaType.DRAFT: list(model.get("draft_files", {})),
        }

    def _post(self, path: str, body: Mapping[str, Any]) -> None:
        answer = self.server.send({"method": "POST", "path": path, **body})
        if answer.status not in (200, 201):
            raise ModelNotMade(f"{path}: status {answer.status}, {answer.last}")
