"""GGUF files written anew from the pieces of others, without decoding what is in them.

The normal form is what llama.cpp's ``llama-quantize … COPY`` writes, byte for byte: the keys as they were,
then ``general.quantization_version`` and ``general.file_type``, the tensors by network layer and name. So a
model has the same digest whether Ollama imported it or we did.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from orchestrator.errors import StoreError
from orchestrator.files.ggml import TENSOR_TYPES
from orchestrator.files.gguf import GgufHeader, TensorInfo
from orchestrator.store.errors import disk_error

QUANTIZATION_VERSION = 2
READ_BYTES = 4 << 20

_TYPE_CODES = {stored.name: code for code, stored in TENSOR_TYPES.items()}
_U32, _TEXT = 4, 8
_VERSION_KEY = "general.quantization_version"
_FILE_TYPE_KEY = "general.file_type"


@dataclass(frozen=True, slots=True)
class GgufFile:
    """A GGUF file and its header."""

    path: Path
    header: GgufHeader


@dataclass(frozen=True, slots=True)
class FileRange:
    """Bytes of a file."""

    path: Path
    start: int
    size_bytes: int


Piece = bytes | FileRange


@dataclass(frozen=True, slots=True)
class FileImage:
    """A file that could be written: its pieces, in order."""

    pieces: tuple[Piece, ...]

    @property
    def size_bytes(self) -> int:
        return sum(len(piece) if isinstance(piece, bytes) else piece.size_bytes for piece in self.pieces)

    def chunks(self) -> Iterator[bytes]:
        """The content, a few megabytes at a time. Raises ``StoreError``."""
        for piece in self.pieces:
            if isinstance(piece, bytes):
                yield piece
            else:
                yield from _content(piece)


def can_be_rewritten(header: GgufHeader) -> bool:
    """Whether the pieces of the file may go into another: numbers stand in them in one byte order only."""
    return not header.big_endian and bool(header.tensors)


def normal_form(shards: Sequence[GgufFile]) -> FileImage:
    """One file of the tensors of all ``shards`` and the keys of the first, in the order of llama.cpp."""
    first = shards[0]
    dropped = {_VERSION_KEY, _FILE_TYPE_KEY, *_split_keys(first.header)}
    keys: list[Piece] = [*_keys(first, dropped), _u32_key(_VERSION_KEY, QUANTIZATION_VERSION)]
    if _FILE_TYPE_KEY in first.header.metadata:
        keys.append(_u32_key(_FILE_TYPE_KEY, first.header.config.uint(_FILE_TYPE_KEY)))
    tensors = [(shard, tensor) for shard in shards for tensor in shard.header.tensors]
    return _image(first.header.alignment, keys, sorted(tensors, key=_by_layer_and_name))


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
    keys: list[Piece] = [*_keys(file, {key}), _key(key, _TEXT, _text(value))]
    return _image(file.header.alignment, keys, [(file, tensor) for tensor in file.header.tensors])


def _image(
    alignment: int, keys: Sequence[Piece], tensors: Iterable[tuple[GgufFile, TensorInfo]]
) -> FileImage:
    index, data = bytearray(), list[Piece]()
    count = offset = 0
    for file, tensor in tensors:
        index += _index_entry(tensor, offset)
        padding = -tensor.size_bytes % alignment
        data += (FileRange(file.path, tensor.offset, tensor.size_bytes), bytes(padding))
        count, offset = count + 1, offset + tensor.size_bytes + padding
    head = b"GGUF" + struct.pack("<IQQ", 3, count, len(keys))
    front = FileImage((head, *keys, bytes(index)))
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


def _index_entry(tensor: TensorInfo, offset: int) -> bytes:
    shape = struct.pack(f"<I{len(tensor.shape)}Q", len(tensor.shape), *tensor.shape)
    return _text(tensor.name) + shape + struct.pack("<IQ", _TYPE_CODES[tensor.type], offset)


def _u32_key(key: str, value: int) -> bytes:
    return _key(key, _U32, struct.pack("<I", value))


def _key(key: str, code: int, value: bytes) -> bytes:
    return _text(key) + struct.pack("<I", code) + value


def _text(text: str) -> bytes:
    encoded = text.encode()
    return struct.pack("<Q", len(encoded)) + encoded


def _content(piece: FileRange) -> Iterator[bytes]:
    try:
        with piece.path.open("rb") as file:
            file.seek(piece.start)
            left = piece.size_bytes
            while left:
                chunk = file.read(min(left, READ_BYTES))
                if not chunk:
                    raise StoreError(f"read {piece.path}: the file is shorter than it was")
                left -= len(chunk)
                yield chunk
    except OSError as error:
        raise disk_error("read", piece.path, error) from error
