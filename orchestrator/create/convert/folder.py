"""The files of a Hugging Face model, by the names they were uploaded under."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from orchestrator.create.convert.errors import ConversionFailed
from orchestrator.domain.json_value import parse_json

LARGEST_FILE_BYTES = 256 << 20
"""Of those that are read whole: the largest tokenizers take 40 MB."""


class ModelFolder:
    """The files of one model. Names are only looked up, so none leads out of the folder."""

    def __init__(self, files: Mapping[str, Path]) -> None:
        self.files = files

    def has(self, name: str) -> bool:
        return name in self.files

    def json(self, name: str) -> Any:
        """The content of a JSON file; bare ``NaN`` and infinities read as 0."""
        content = self.content(name)
        try:
            return parse_json(content, parse_constant=lambda _: 0)
        except ValueError as error:
            raise ConversionFailed(f"parse {name}: {error}") from error

    def object(self, name: str) -> dict[str, Any]:
        """The content of a JSON file that holds an object."""
        value = self.json(name)
        if not isinstance(value, dict):
            raise ConversionFailed(f"parse {name}: not an object")
        return value

    def object_if_there(self, name: str) -> dict[str, Any]:
        return self.object(name) if self.has(name) else {}

    def content(self, name: str) -> bytes:
        """The bytes of a small file. Raises ``ConversionFailed`` for one that is not small."""
        path = self.path(name)
        if (size := path.stat().st_size) > LARGEST_FILE_BYTES:
            raise ConversionFailed(f"read {name}: {size} bytes exceed maximum {LARGEST_FILE_BYTES}")
        return path.read_bytes()

    def text(self, name: str) -> str:
        """The characters of a small file; bytes that are no UTF-8 are replaced."""
        return self.content(name).decode("utf-8", "replace")

    def weights(self) -> dict[str, Path]:
        """The safetensors files at the top of the folder, names sorted; all the index names must be there."""
        weights = {
            name: path
            for name, path in sorted(self.files.items())
            if name.endswith(".safetensors") and "/" not in name
        }
        if not weights:
            raise ConversionFailed("unknown tensor format")
        index = self.object_if_there("model.safetensors.index.json").get("weight_map")
        if isinstance(index, dict) and (missing := sorted({*map(str, index.values())} - weights.keys())):
            raise ConversionFailed(f"model.safetensors.index.json names {missing[0]}, which is missing")
        return weights

    def path(self, name: str) -> Path:
        """Where a file is. Raises ``ConversionFailed`` if there is none."""
        path = self.files.get(name)
        if path is None or not path.exists():
            raise ConversionFailed(f"open {name}: no such file or directory")
        return path
