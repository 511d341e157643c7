"""A file of a view while a translator works on it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from orchestrator.compat.errors import CannotTranslate
from orchestrator.compat.plan import (
    Computed,
    Data,
    FilePlan,
    Given,
    Kept,
    Operation,
    PlannedTensor,
    Stretch,
    Value,
)
from orchestrator.compat.source import Source
from orchestrator.files.ggml import packed_bytes
from orchestrator.files.gguf import DEFAULT_ALIGNMENT, TensorInfo

_ARCHITECTURE = "general.architecture"
_OF_VIEWS = ("orch.view.", "orch.overlay.")
"""Keys that say where the data of a view is: those of a view itself say nothing about a view of it."""


class Draft:
    """Metadata and tensors, at first those of the source. ``plan`` is what has become of them.

    Keys are written in full, unless they begin with a dot: that stands for the architecture of the draft.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.architecture = source.architecture
        self._metadata: dict[str, Value] = {
            key: Kept(_value_span(key, span))
            for key, span in source.header.spans.items()
            if not key.startswith(_OF_VIEWS)
        }
        self._tensors = {name: kept(tensor) for name, tensor in source.tensors.items()}

    def plan(self) -> FilePlan:
        """The file as it is planned now."""
        alignment = self.source.header.alignment
        if alignment != DEFAULT_ALIGNMENT:
            self.set_if_absent("general.alignment", "u32", alignment)
        return FilePlan(dict(self._metadata), tuple(self._tensors.values()), alignment)

    # metadata

    def full_key(self, key: str) -> str:
        return f"{self.architecture}{key}" if key.startswith(".") else key

    def has(self, key: str) -> bool:
        return self.full_key(key) in self._metadata

    def set(self, key: str, kind: str, value: Any) -> None:
        self._metadata[self.full_key(key)] = Given(kind, value)

    def set_if_absent(self, key: str, kind: str, value: Any) -> None:
        if not self.has(key):
            self.set(key, kind, value)

    def drop(self, *keys: str) -> None:
        for key in keys:
            self._metadata.pop(self.full_key(key), None)

    def clear_metadata(self, architecture: str) -> None:
        """Drop all metadata, and be a file of ``architecture``."""
        self._metadata = {}
        self.architecture = architecture
        self.set(_ARCHITECTURE, "str", architecture)

    def rename_key(self, old: str, new: str) -> None:
        """Give a value another key, if it is there; one that has that key already is lost."""
        value = self._metadata.pop(self.full_key(old), None)
        if value is not None:
            self._metadata[self.full_key(new)] = value

    def take_name(self, architecture: str, *, without: Sequence[str] = ()) -> None:
        """Be a model of ``architecture``: its keys are those of the old one but for what begins with a name
        in ``without``, where they are not there already."""
        old, self.architecture = self.architecture, architecture
        for key, value in list(self._metadata.items()):
            name = key.removeprefix(f"{old}.")
            if name == key:
                continue
            del self._metadata[key]
            if not name.startswith(tuple(without)):
                self._metadata.setdefault(f"{architecture}.{name}", value)
        self.set(_ARCHITECTURE, "str", architecture)

    # tensors

    @property
    def tensors(self) -> dict[str, PlannedTensor]:
        """The tensors by name. A copy."""
        return dict(self._tensors)

    def get(self, name: str) -> PlannedTensor | None:
        return self._tensors.get(name)

    def hide(self, *prefixes: str) -> None:
        """Leave out the tensors whose names begin so."""
        self.keep(lambda name: not name.startswith(prefixes))

    def keep(self, wanted: Callable[[str], bool]) -> None:
        """Leave out all other tensors."""
        self._tensors = {name: tensor for name, tensor in self._tensors.items() if wanted(name)}

    def rename(self, old: str, new: str) -> None:
        """Replace the first ``old`` in each tensor's name."""
        self.rename_each(lambda name: name.replace(old, new, 1))

    def rename_each(self, renamed: Callable[[str], str]) -> None:
        """Rename all tensors. Raises ``CannotTranslate`` if two of them would have one name."""
        tensors: dict[str, PlannedTensor] = {}
        for name, tensor in self._tensors.items():
            new = renamed(name)
            if new in tensors:
                raise CannotTranslate(f'two tensors would be called "{new}"')
            tensors[new] = _called(tensor, new)
        self._tensors = tensors

    def replace(self, old: Iterable[str], tensor: PlannedTensor) -> None:
        """Put ``tensor`` in the place of the first of ``old`` that is there; the others go."""
        names = set(old)
        tensors: dict[str, PlannedTensor] = {}
        for name, present in self._tensors.items():
            if name not in names:
                tensors[name] = present
            elif tensor.name not in tensors:
                tensors[tensor.name] = tensor
        self._tensors = tensors

    def add(self, tensor: PlannedTensor) -> None:
        self._tensors[tensor.name] = tensor

    def compute(
        self,
        name: str,
        operation: Operation,
        *,
        shape: tuple[int, ...] | None = None,
        kind: str = "F32",
        **arguments: int,
    ) -> None:
        """Make the data of a tensor out of what stands for it in the source."""
        stored = self.stored(name)
        data = Computed(operation, (stored,), arguments)
        self._tensors[name] = PlannedTensor(name, shape or stored.shape, kind, data)

    def promote(self, *names: str) -> None:
        """Have these tensors in F32, as far as they are there."""
        for name in names:
            if name in self._tensors and self._tensors[name].type != "F32":
                self.compute(name, Operation.PROMOTE)

    def stored(self, name: str) -> TensorInfo:
        """What stands in the source for a tensor that is unchanged. Raises ``CannotTranslate``."""
        present = self._tensors.get(name)
        if present is None:
            raise CannotTranslate(f'{self.source.architecture} model without tensor "{name}"')
        return self._stored(present)

    def _stored(self, tensor: PlannedTensor) -> TensorInfo:
        place = tensor.stretch
        if place is None:
            raise CannotTranslate(f'tensor "{tensor.name}" would have to be changed twice')
        return TensorInfo(tensor.name, tensor.shape, tensor.type, place.offset, place.size_bytes)


def kept(tensor: TensorInfo) -> PlannedTensor:
    """A tensor as it is in the source."""
    return PlannedTensor(tensor.name, tensor.shape, tensor.type, (Stretch(tensor.offset, tensor.size_bytes),))


def first_rows(tensor: TensorInfo, count: int) -> PlannedTensor:
    """The first ``count`` of a tensor's outermost entries. Raises ``CannotTranslate`` if there are fewer."""
    rows = tensor.shape[-1] if len(tensor.shape) > 1 else 0
    if not 0 < count <= rows:
        raise CannotTranslate(f'tensor "{tensor.name}" has {rows} rows, {count} are wanted')
    shape = (*tensor.shape[:-1], count)
    elements = tensor.elements // tensor.shape[-1] * count
    return PlannedTensor(
        tensor.name, shape, tensor.type, (Stretch(tensor.offset, packed_bytes(tensor.type, elements)),)
    )


def joined(name: str, parts: Sequence[TensorInfo], shape: tuple[int, ...]) -> PlannedTensor:
    """The data of tensors of one type, one after the other. Raises ``CannotTranslate`` for several types."""
    if len({part.type for part in parts}) != 1:
        raise CannotTranslate(f'the parts of tensor "{name}" have several types')
    return PlannedTensor(name, shape, parts[0].type, _stretches(parts))


def _stretches(parts: Sequence[TensorInfo]) -> Data:
    return tuple(Stretch(part.offset, part.size_bytes) for part in parts)


def _called(tensor: PlannedTensor, name: str) -> PlannedTensor:
    return tensor if tensor.name == name else PlannedTensor(name, tensor.shape, tensor.type, tensor.data)


def _value_span(key: str, span: tuple[int, int]) -> Stretch:
    start = span[0] + 8 + len(key.encode())
    return Stretch(start, span[1] - start)
