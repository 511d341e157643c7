"""GGUF files written anew from the pieces of others; only numbers that get another type are decoded.

The normal form is what llama.cpp's ``llama-quantize … COPY`` writes, byte for byte: the keys as they were,
then ``general.quantization_version`` and ``general.file_type``, the tensors by network layer and name. So a
model has the same digest whether Ollama imported it or we did.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path

from orchestrator.create.errors import CreateFailed
from orchestrator.errors import StoreError
from orchestrator.files.ggml import packed_bytes
from orchestrator.files.gguf import GgufHeader, TensorInfo, read_header
from orchestrator.files.gguf_encoding import file_head, index_entry, key_value
from orchestrator.store.errors import disk_error

QUANTIZATION_VERSION = 2
READ_BYTES = 4 << 20
RECODED_ELEMENTS = 1 << 20
"""How many numbers are in memory at once; whole blocks of every type."""

_VERSION_KEY = "general.quantization_version"
_FILE_TYPE_KEY = "general.file_type"


@dataclass(frozen=True, slots=True)
class GgufFile:
    """A GGUF file and its header."""

    path: Path
    header: GgufHeader

    @classmethod
    def read(cls, path: Path) -> GgufFile:
        """The file at ``path``. Raises ``MalformedGguf`` and ``StoreError``."""
        try:
            return cls(path, read_header(path))
        except OSError as error:
            raise disk_error("open", path, error) from error


@dataclass(frozen=True, slots=True)
class FileRange:
    """Bytes of a file."""

    path: Path
    start: int
    size_bytes: int

    def chunks(self, chunk_bytes: int = READ_BYTES) -> Iterator[bytes]:
        """The content, so many bytes at a time. Raises ``StoreError``."""
        try:
            with self.path.open("rb") as file:
                file.seek(self.start)
                left = self.size_bytes
                while left:
                    chunk = file.read(min(left, chunk_bytes))
                    if not chunk:
                        raise StoreError(f"read {self.path}: the file is shorter than it was")
                    left -= len(chunk)
                    yield chunk
        except OSError as error:
            raise disk_error("read", self.path, error) from error


@dataclass(frozen=True, slots=True)
class RecodedTensor:
    """The data of a tensor, its numbers stored in another type."""

    tensor: TensorInfo
    content: FileRange
    type: str

    @property
    def size_bytes(self) -> int:
        return packed_bytes(self.type, self.tensor.elements)

    def chunks(self) -> Iterator[bytes]:
        """The data, a few megabytes at a time. Raises ``StoreError`` and ``CreateFailed``."""
        from orchestrator.create.recoding import CannotRecode, recoded  # takes a while to load

        source = self.tensor.type
        try:
            for chunk in self.content.chunks(packed_bytes(source, RECODED_ELEMENTS)):
                yield recoded(chunk, source, self.type)
        except CannotRecode as error:
            raise CreateFailed(f'tensor "{self.tensor.name}": {error}') from error


Piece = bytes | FileRange | RecodedTensor


@dataclass(frozen=True, slots=True)
class FileImage:
    """A file that could be written: its pieces, in order."""

    pieces: tuple[Piece, ...]

    @property
    def size_bytes(self) -> int:
        return sum(len(piece) if isinstance(piece, bytes) else piece.size_bytes for piece in self.pieces)

    def chunks(self) -> Iterator[bytes]:
        """The content, a few megabytes at a time. Raises ``StoreError`` and ``CreateFailed``."""
        for piece in self.pieces:
            if isinstance(piece, bytes):
                yield piece
            else:
                yield from piece.chunks()


StoredType = Callable[[TensorInfo], str]
"""The type a tensor gets."""

_its_own: StoredType = attrgetter("type")


def can_be_rewritten(header: GgufHeader) -> bool:
    """Whether the pieces of the file may go into another: numbers stand in them in one byte order only."""
    return not header.big_endian and bool(header.tensors)


def normal_form(
    shards: Sequence[GgufFile], *, file_type: int | None = None, stored_type: StoredType = _its_own
) -> FileImage:
    """One file of the tensors of all ``shards`` and the keys of the first, in the order of llama.cpp.

    ``file_type`` is the number of the file's new type, if it gets one, and ``stored_type`` that of a tensor.
    Raises ``CreateFailed`` for a file whose own type is out of range.
    """
    first = shards[0]
    dropped = {_VERSION_KEY, _FILE_TYPE_KEY, *_split_keys(first.header)}
    keys: list[Piece] = [*_keys(first, dropped), key_value(_VERSION_KEY, "u32", QUANTIZATION_VERSION)]
    if file_type is None and _FILE_TYPE_KEY in first.header.metadata:
        file_type = first.header.config.uint(_FILE_TYPE_KEY)
    if file_type is not None:
        try:
            keys.append(key_value(_FILE_TYPE_KEY, "u32", file_type))
        except OverflowError as error:
            raise CreateFailed(f"{_FILE_TYPE_KEY} is out of range: {file_type}") from error
    tensors = [(shard, _squeezed(tensor)) for shard in shards for tensor in shard.header.tensors]
    return _image(first.header.alignment, keys, sorted(tensors, key=_by_layer_and_name), stored_type)


def joined(shards: Sequence[GgufFile]) -> FileImage:
    """The parts of a split file as one, everything in its order; the keys are those of the first part."""
    first = shards[0]
    tensors = [(shard, tensor) for shard in shards for tensor in shard.header.tensors]
    return _image(first.header.alignment, list(_keys(first, set(_split_keys(first.header)))), tensors)


def whole(file: GgufFile) -> FileImage:
    """The file as it is."""
    return FileImage((FileRange(file.path, 0, file.header.size_bytes),))


def with_text(file: GgufFile, key: str, value: str) -> FileImage:
    """The file with one more key."""
    keys: list[Piece] = [*_keys(file, {key}), key_value(key, "str", value)]
    return _image(file.header.alignment, keys, [(file, tensor) for tensor in file.header.tensors])


def with_tensors(file: GgufFile, added: Sequence[tuple[GgufFile, TensorInfo]]) -> FileImage:
    """The file with tensors of others behind its own."""
    own = [(file, tensor) for tensor in file.header.tensors]
    return _image(file.header.alignment, list(_keys(file, set())), [*own, *added])


def _image(
    alignment: int,
    keys: Sequence[Piece],
    tensors: Iterable[tuple[GgufFile, TensorInfo]],
    stored_type: StoredType = _its_own,
) -> FileImage:
    index, data = bytearray(), list[Piece]()
    count = offset = 0
    for file, tensor in tensors:
        kind = stored_type(tensor)
        content = FileRange(file.path, tensor.offset, tensor.size_bytes)
        piece = content if kind == tensor.type else RecodedTensor(tensor, content, kind)
        index += index_entry(tensor.name, tensor.shape, kind, offset)
        padding = -piece.size_bytes % alignment
        data += (piece, bytes(padding))
        count, offset = count + 1, offset + piece.size_bytes + padding
    front = FileImage((file_head(tensors=count, keys=len(keys)), *keys, bytes(index)))
    return FileImage((*front.pieces, bytes(-front.size_bytes % alignment), *data))


def _keys(file: GgufFile, dropped: set[str]) -> Iterator[FileRange]:
    for key, (start, end) in file.header.spans.items():
        if key not in dropped:
            yield FileRange(file.path, start, end - start)


def _split_keys(header: GgufHeader) -> Iterator[str]:
    prefixes = ("split.", f"{header.config.architecture}.split.")
    return (key for key in header.metadata if key.startswith(prefixes))


def _by_layer_and_name(entry: tuple[GgufFile, TensorInfo]) -> tuple[int, bytes]:
    block = entry[1].block
    return (-1 if block is None else block, entry[1].name.encode())


def _squeezed(tensor: TensorInfo) -> TensorInfo:
    """Without the outermost dimensions of 1, which llama.cpp does not count."""
    shape = tensor.shape or (1,)
    while len(shape) > 1 and shape[-1] == 1:
        shape = shape[:-1]
    return tensor._replace(shape=shape)
