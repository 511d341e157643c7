"""A published model file as translators see it: header, and large arrays on demand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from orchestrator.compat.errors import CannotTranslate
from orchestrator.files.gguf import GgufConfig, GgufHeader, TensorInfo, read_header

_KEPT_ARRAY = 4096
"""Arrays with one element per layer are kept at once; token lists are not."""


@dataclass(frozen=True)
class Source:
    """One GGUF file."""

    path: Path
    header: GgufHeader

    @classmethod
    def read(cls, path: Path) -> Source:
        """The file at ``path``. Raises ``MalformedGguf`` and ``OSError``."""
        return cls(path, read_header(path, keep_arrays=_KEPT_ARRAY))

    @property
    def architecture(self) -> str:
        return self.config.architecture

    @property
    def config(self) -> GgufConfig:
        """Typed access to keys, those of the architecture without its name."""
        return self.header.config

    @cached_property
    def tensors(self) -> dict[str, TensorInfo]:
        """The tensors by name, in file order."""
        return {tensor.name: tensor for tensor in self.header.tensors}

    def tensor(self, name: str) -> TensorInfo:
        """The tensor called ``name``. Raises ``CannotTranslate`` if there is none."""
        found = self.tensors.get(name)
        if found is None:
            raise CannotTranslate(f'{self.architecture} model without tensor "{name}"')
        return found

    def has_tensors(self, *prefixes: str) -> bool:
        """Whether a tensor's name begins with one of ``prefixes``."""
        return any(name.startswith(prefixes) for name in self.tensors)

    def dimension(self, name: str, axis: int) -> int:
        """Length of an axis of a tensor, 0 being the innermost. Raises ``CannotTranslate``."""
        shape = self.tensor(name).shape
        return shape[axis] if axis < len(shape) else 1

    def vision_blocks(self) -> int:
        """Blocks of the vision tower. Raises ``CannotTranslate`` if there are not even so many tensors."""
        count = self.config.uint("vision.block_count")
        if count > len(self.tensors):
            raise CannotTranslate(f"a tower of {count} blocks in a file of {len(self.tensors)} tensors")
        return count

    def array_length(self, key: str) -> int:
        """Elements of an array, read or not; 0 if there is none."""
        value = self.config.get(key)
        return getattr(value, "length", None) or (len(value) if isinstance(value, tuple) else 0)

    def array(self, key: str) -> tuple[Any, ...]:
        """All elements of an array, however long; empty if there is none."""
        value = self._whole.get(key)
        return value if isinstance(value, tuple) else ()

    def block_numbers(self) -> Iterator[int]:
        """Numbers of the network layers, each once, ascending."""
        return iter(sorted({tensor.block for tensor in self.header.tensors if tensor.block is not None}))

    @cached_property
    def _whole(self) -> GgufConfig:
        return read_header(self.path, keep_arrays=True).config
