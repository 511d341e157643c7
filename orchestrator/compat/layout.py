"""Where everything of a planned file will stand: as a file of its own, or over the source.

A file of its own holds all data. One over the source, an *overlay*, holds its header and the data that had to
be made; for all other tensors it tells where they stand in the source. Only our build of the engine reads it,
and only when told where the sources are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from orchestrator.compat.errors import CannotTranslate
from orchestrator.compat.plan import FilePlan, Given, Kept, PlannedTensor, Stretch, Value
from orchestrator.files import gguf_encoding

CLONED_BYTES = 4096
"""File systems share pieces of this size between files, at places that are multiples of it."""

ReadStretch = Callable[[Stretch], bytes]

_FILLER = "orch.view.filler"
_OVERLAY = "orch.overlay."
_OWN, _SOURCE = 0, 1


@dataclass(frozen=True, slots=True)
class Placed:
    """A tensor, and where its data goes in the file to be written."""

    tensor: PlannedTensor
    offset: int


@dataclass(frozen=True, slots=True)
class FileLayout:
    """A file that can be written: its beginning, and the data that follows."""

    head: bytes
    data: tuple[Placed, ...]

    @property
    def size_bytes(self) -> int:
        last = self.data[-1:]
        return last[0].offset + last[0].tensor.size_bytes if last else len(self.head)


def own_layout(plan: FilePlan, read: ReadStretch) -> FileLayout:
    """The plan as a file that any engine reads. ``read`` gives bytes of the source.

    The header is as long as it takes for most of the data to lie as it does in the source, modulo the size of
    the pieces that file systems share.
    """
    offsets = _index_offsets(plan)
    metadata = _encoded(plan.metadata, read)
    index = _index(plan, offsets)
    head = _head(metadata, index, plan.alignment)
    filler = _filler(len(head), _favourite_distance(plan.tensors, offsets), plan.alignment)
    if filler is not None:
        head = _head([*metadata, filler], index, plan.alignment)
    data = tuple(
        Placed(tensor, len(head) + offset) for tensor, offset in zip(plan.tensors, offsets, strict=True)
    )
    return FileLayout(head, data)


def overlay_layout(plan: FilePlan, read: ReadStretch, *, source_name: str, source_bytes: int) -> FileLayout:
    """The plan as an overlay of the source, a file called ``source_name`` of so many bytes."""
    metadata = _encoded(plan.metadata, read)
    index = _index(plan, _index_offsets(plan))
    metadata.append(gguf_encoding.key_value(f"{_OVERLAY}source", "str", source_name))
    metadata.append(gguf_encoding.key_value(f"{_OVERLAY}source_bytes", "u64", source_bytes))
    places = [_SOURCE if tensor.stretch else _OWN for tensor in plan.tensors]
    metadata.append(gguf_encoding.key_value(f"{_OVERLAY}files", "arr:u8", places))

    def with_offsets(offsets: Sequence[int]) -> bytes:
        """The head; its length is the same for any offsets."""
        key = gguf_encoding.key_value(f"{_OVERLAY}offsets", "arr:u64", offsets)
        return _head([*metadata, key], index, plan.alignment)

    data: list[Placed] = []
    offsets: list[int] = []
    end = len(with_offsets([0] * len(plan.tensors)))
    for tensor in plan.tensors:
        if place := tensor.stretch:
            offsets.append(place.offset)
        else:
            data.append(Placed(tensor, end))
            offsets.append(end)
            end += tensor.size_bytes + -tensor.size_bytes % plan.alignment
    return FileLayout(with_offsets(offsets), tuple(data))


def _head(metadata: Sequence[bytes], index: Sequence[bytes], alignment: int) -> bytes:
    head = b"".join((gguf_encoding.file_head(tensors=len(index), keys=len(metadata)), *metadata, *index))
    return head + bytes(-len(head) % alignment)


def _encoded(metadata: Mapping[str, Value], read: ReadStretch) -> list[bytes]:
    return [_key_value(key, value, read) for key, value in metadata.items()]


def _key_value(key: str, value: Value, read: ReadStretch) -> bytes:
    match value:
        case Kept(span):
            return gguf_encoding.text(key) + read(span)
        case Given(kind, content):
            try:
                return gguf_encoding.key_value(key, kind, content)
            except OverflowError as error:
                raise CannotTranslate(str(error)) from error


def _index_offsets(plan: FilePlan) -> list[int]:
    """Offsets of the tensors from the start of the data, without gaps but for alignment."""
    offsets, end = [], 0
    for tensor in plan.tensors:
        offsets.append(end)
        end += tensor.size_bytes + -tensor.size_bytes % plan.alignment
    return offsets


def _index(plan: FilePlan, offsets: Sequence[int]) -> list[bytes]:
    return [
        gguf_encoding.index_entry(tensor.name, tensor.shape, tensor.type, offset)
        for tensor, offset in zip(plan.tensors, offsets, strict=True)
    ]


def _favourite_distance(tensors: Sequence[PlannedTensor], offsets: Sequence[int]) -> int:
    """How far, modulo the size of shared pieces, most of the data is from where it stands in the source."""
    weights: Counter[int] = Counter()
    for tensor, offset in zip(tensors, offsets, strict=True):
        if place := tensor.stretch:
            weights[(place.offset - offset) % CLONED_BYTES] += place.size_bytes
    return max(weights, key=weights.__getitem__, default=0)


def _filler(head_bytes: int, distance: int, alignment: int) -> bytes | None:
    """A key that makes a head end at ``distance``, modulo the size of shared pieces, if it does not yet."""
    if head_bytes % CLONED_BYTES == distance or distance % alignment:
        return None
    empty = gguf_encoding.key_value(_FILLER, "str", "")
    wanted = (distance - head_bytes - len(empty)) % CLONED_BYTES
    # the head is padded to the alignment already, so that a filler of such a length keeps it so
    return gguf_encoding.key_value(_FILLER, "str", " " * wanted)


def runs(data: Sequence[Placed], alignment: int) -> Iterator[tuple[Stretch, int] | Placed]:
    """What is to be written, in order: stretches of the source with their places, as long as can be, and
    tensors that have to be made."""
    open_run: tuple[Stretch, int] | None = None
    for placed in data:
        place = placed.tensor.stretch
        if open_run is not None:
            run, offset = open_run
            gap = placed.offset - offset - run.size_bytes
            if (
                place is not None
                and 0 <= gap < alignment
                and place.offset == run.offset + run.size_bytes + gap
            ):
                open_run = Stretch(run.offset, run.size_bytes + gap + place.size_bytes), offset
                continue
            yield open_run
            open_run = None
        if place is not None:
            open_run = place, placed.offset
        else:
            yield placed
    if open_run is not None:
        yield open_run
