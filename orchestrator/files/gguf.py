"""Reading the header of a GGUF file: its metadata and the index of its tensors.

The file is not trusted: a header that lies gives ``MalformedGguf`` in bounded time and memory, and nothing
else. Token lists are passed over unless asked for. Source: ``gguf-convert`` §1.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, Any, NamedTuple

from orchestrator.files.cursor import Cursor
from orchestrator.files.errors import MalformedGguf
from orchestrator.files.ggml import FILE_TYPE_NAMES, TENSOR_TYPES, UNKNOWN_FILE_TYPE
from orchestrator.units import format_count

__all__ = [
    "MAGICS",
    "ArraySummary",
    "GgufConfig",
    "GgufHeader",
    "MalformedGguf",
    "TensorInfo",
    "read_config",
    "read_header",
]

MAGICS: Mapping[bytes, str] = {b"GGUF": "<", b"FUGG": ">"}

MAX_HEADER_BYTES = 256 << 20
"""A vocabulary of a million tokens, with merges, takes 50 MB."""
MAX_KEYS = 1 << 16
MAX_TENSORS = 1 << 18
MAX_KEY_BYTES = (1 << 16) - 1
MAX_TEXT_BYTES = 16 << 20
MAX_ARRAY_LENGTH = 64 << 20
MAX_KEPT_ELEMENTS = 8 << 20
"""Elements of arrays that are kept, over the whole file."""
MAX_DIMENSIONS = 4
DEFAULT_ALIGNMENT = 32

_NUMBER_CODES: Mapping[int, tuple[str, str, int]] = {
    0: ("u8", "B", 1), 1: ("i8", "b", 1), 2: ("u16", "H", 2), 3: ("i16", "h", 2), 4: ("u32", "I", 4),
    5: ("i32", "i", 4), 6: ("f32", "f", 4), 7: ("bool", "?", 1), 10: ("u64", "Q", 8), 11: ("i64", "q", 8),
    12: ("f64", "d", 8),
}  # fmt: skip
_TEXT, _ARRAY = 8, 9


@dataclass(frozen=True, slots=True)
class ArraySummary:
    """What is kept of an array that was passed over."""

    kind: str
    """Type of the elements: ``str``, ``i32`` …"""
    length: int


class TensorInfo(NamedTuple):
    """One entry of the tensor index."""

    name: str
    shape: tuple[int, ...]
    """Innermost dimension first."""
    type: str
    """``F16``, ``Q4_K`` …"""
    offset: int
    """From the start of the file."""
    size_bytes: int

    @property
    def elements(self) -> int:
        return math.prod(self.shape)

    @property
    def block(self) -> int | None:
        """Number of the network layer the tensor belongs to (``blk.N.…``), if it does."""
        parts = self.name.split(".", 2)
        if len(parts) == 3 and parts[0] == "blk" and parts[1].isascii() and parts[1].isdigit():
            return int(parts[1])
        return None


@dataclass(frozen=True)
class GgufConfig:
    """Typed access to metadata. A value of another type than asked for counts as absent.

    Keys that do not start with ``general.`` or ``tokenizer.`` are looked up under the architecture.
    """

    metadata: Mapping[str, Any]

    @property
    def architecture(self) -> str:
        value = self.metadata.get("general.architecture")
        return value if isinstance(value, str) and value else "unknown"

    @property
    def kind(self) -> str:
        """``model``, ``adapter``, ``projector``, ``mmproj`` or ``unknown``."""
        return self.string("general.type", default="unknown")

    @property
    def file_type_name(self) -> str:
        """Quantization of the file as Ollama names it; ``unknown`` also for F32."""
        return FILE_TYPE_NAMES.get(self.uint("general.file_type"), UNKNOWN_FILE_TYPE)

    def get(self, key: str) -> Any:
        """The raw value, or ``None``."""
        if not key.startswith(("general.", "tokenizer.")):
            key = f"{self.architecture}.{key}"
        return self.metadata.get(key)

    def has(self, key: str) -> bool:
        return self.get(key) is not None

    def uint(self, key: str, default: int = 0) -> int:
        value = self.get(key)
        return value if _is_uint(value) else default

    def float(self, key: str, default: float = 0.0) -> float:
        value = self.get(key)
        return value if isinstance(value, float) else default

    def bool(self, key: str, default: bool = False) -> bool:
        value = self.get(key)
        return value if isinstance(value, bool) else default

    def string(self, key: str, default: str = "") -> str:
        value = self.get(key)
        return value if isinstance(value, str) else default

    def uints(self, key: str) -> tuple[int, ...]:
        """An array of integers, or a single one as an array; absent, passed over or negative is empty."""
        value = self.get(key)
        if _is_uint(value):
            return (value,)
        if isinstance(value, tuple) and all(map(_is_uint, value)):
            return value
        return ()


@dataclass(frozen=True)
class GgufHeader:
    """Everything in front of the tensor data."""

    version: int
    big_endian: bool
    metadata: Mapping[str, Any]
    """Key → ``int``, ``float``, ``bool``, ``str``, a tuple of these, or ``ArraySummary``; in file order."""
    types: Mapping[str, str]
    """Key → type as stored: ``u32``, ``str``, ``arr:f32`` …"""
    spans: Mapping[str, tuple[int, int]]
    """Key → offsets in the file between which key, type and value stand, for copying them as they are."""
    tensors: tuple[TensorInfo, ...]
    """In file order."""
    alignment: int
    data_offset: int
    size_bytes: int
    """Size of the whole file."""

    @cached_property
    def config(self) -> GgufConfig:
        return GgufConfig(self.metadata)

    @property
    def file_type_name(self) -> str:
        return self.config.file_type_name

    @cached_property
    def parameter_count(self) -> int:
        """Number of elements of all tensors, whatever the metadata claims."""
        return sum(tensor.elements for tensor in self.tensors)

    @property
    def parameter_size(self) -> str:
        """The number of parameters in short, as Ollama shows it: ``8.0B``, ``268.10M``."""
        return format_count(self.parameter_count)

    def bytes_of(self, prefixes: str | tuple[str, ...]) -> int:
        """Size of the tensors whose names start with one of ``prefixes``."""
        return sum(tensor.size_bytes for tensor in self.tensors if tensor.name.startswith(prefixes))


def read_header(path: Path, *, keep_arrays: bool | int = False) -> GgufHeader:
    """The header of a GGUF file. Raises ``MalformedGguf``, and ``OSError`` if the file cannot be read.

    ``keep_arrays`` is the length up to which arrays are kept; false keeps only empty ones, true all.
    """
    with path.open("rb") as file:
        return _HeaderReader(file, keep_arrays).header()


def read_config(path: Path) -> GgufConfig:
    """Metadata in front of the tokenizer's: enough for a listing, and quick whatever the vocabulary.

    Reads on to the end if the architecture has not been named by then.
    """
    with path.open("rb") as file:
        return _HeaderReader(file, False).config()


class _HeaderReader:
    """Reads one header from its start."""

    def __init__(self, file: IO[bytes], keep_arrays: bool | int) -> None:
        self._size = file.seek(0, 2)
        self._cursor = Cursor(file, self._size, limit=MAX_HEADER_BYTES)
        if keep_arrays is True or keep_arrays < 0:
            self._keep_length = MAX_ARRAY_LENGTH
        else:
            self._keep_length = int(keep_arrays)
        self._kept_elements = 0
        self._types: dict[str, str] = {}
        self._spans: dict[str, tuple[int, int]] = {}
        self._metadata: dict[str, Any] = {}
        self._version = self._read_version()
        self._tensor_count, self._key_count = self._read_counts()

    def config(self) -> GgufConfig:
        for key in self._keys():
            if key.startswith("tokenizer.") and "general.architecture" in self._metadata:
                break
            self._read_value(key)
        return GgufConfig(self._metadata)

    def header(self) -> GgufHeader:
        for key in self._keys():
            self._read_value(key)
        index = [self._read_index_entry() for _ in range(self._tensor_count)]
        alignment = self._alignment()
        data_offset = self._cursor.position + -self._cursor.position % alignment
        return GgufHeader(
            version=self._version,
            big_endian=self._cursor.order == ">",
            metadata=self._metadata,
            types=self._types,
            spans=self._spans,
            tensors=self._placed(index, data_offset),
            alignment=alignment,
            data_offset=data_offset,
            size_bytes=self._size,
        )

    def _read_version(self) -> int:
        if self._size < 4:
            raise MalformedGguf("invalid file magic")
        magic = self._cursor.take(4)
        if magic not in MAGICS:
            raise MalformedGguf("invalid file magic")
        self._cursor.order = ">" if MAGICS[magic] == ">" else "<"
        version: int = self._cursor.number("I")
        if version & 0xFFFF == 0 and self._cursor.order == "<":
            # files for big-endian machines as llama.cpp writes them: the magic is not turned round
            self._cursor.order = ">"
            version = int.from_bytes(version.to_bytes(4, "little"), "big")
        if version < 2:
            raise MalformedGguf(f"malformed GGUF: version {version} is not supported, convert the file again")
        return version

    def _read_counts(self) -> tuple[int, int]:
        tensors, keys = self._cursor.numbers("Q", 2)
        for count, least_bytes, most, what in (
            (keys, 13, MAX_KEYS, "metadata keys"),
            (tensors, 24, MAX_TENSORS, "tensors"),
        ):
            if count > most or count * least_bytes > self._cursor.remaining:
                raise MalformedGguf(f"malformed GGUF: {count} {what} do not fit")
        return tensors, keys

    def _keys(self) -> Iterable[str]:
        for _ in range(self._key_count):
            start = self._cursor.position
            key = _name(self._cursor.text_bytes(MAX_KEY_BYTES), "metadata key")
            if key in self._types:
                raise MalformedGguf(f'malformed GGUF: duplicate metadata key "{key}"')
            yield key
            self._spans[key] = (start, self._cursor.position)

    def _read_value(self, key: str) -> None:
        code = self._cursor.number("I")
        if code == _ARRAY:
            self._types[key], self._metadata[key] = self._array()
        elif code == _TEXT:
            self._types[key], self._metadata[key] = "str", _decoded(self._cursor.text_bytes(MAX_TEXT_BYTES))
        elif code in _NUMBER_CODES:
            name, letter, _ = _NUMBER_CODES[code]
            self._types[key], self._metadata[key] = name, self._cursor.number(letter)
        else:
            raise MalformedGguf(f"malformed GGUF: invalid type: {code}")

    def _array(self) -> tuple[str, tuple[Any, ...] | ArraySummary]:
        code = self._cursor.number("I")
        length = self._cursor.number("Q")
        if length > MAX_ARRAY_LENGTH:
            raise MalformedGguf(
                f"malformed GGUF: GGUF array size {length} exceeds maximum {MAX_ARRAY_LENGTH}"
            )
        if code == _TEXT:
            kind, least_bytes = "str", 8
        elif code in _NUMBER_CODES:
            kind, _, least_bytes = _NUMBER_CODES[code]
        else:  # arrays of arrays among them: neither Ollama nor llama.cpp reads those
            raise MalformedGguf(f"malformed GGUF: invalid array type: {code}")
        if length * least_bytes > self._cursor.remaining:
            raise MalformedGguf("malformed GGUF: unexpected end of file")
        is_kept = length <= self._keep_length
        return f"arr:{kind}", self._kept(code, length) if is_kept else self._passed(code, length)

    def _kept(self, code: int, length: int) -> tuple[Any, ...]:
        self._kept_elements += length
        if self._kept_elements > MAX_KEPT_ELEMENTS:
            raise MalformedGguf(f"malformed GGUF: arrays exceed maximum {MAX_KEPT_ELEMENTS} elements")
        if code == _TEXT:
            return tuple(map(_decoded, self._cursor.texts(length, MAX_TEXT_BYTES)))
        return self._cursor.numbers(_NUMBER_CODES[code][1], length)

    def _passed(self, code: int, length: int) -> ArraySummary:
        if code == _TEXT:
            self._cursor.skip_texts(length)
            return ArraySummary("str", length)
        kind, _, size = _NUMBER_CODES[code]
        self._cursor.skip(length * size)
        return ArraySummary(kind, length)

    def _read_index_entry(self) -> TensorInfo:
        """An entry whose offset still counts from the data section."""
        cursor = self._cursor
        name = _name(cursor.text_bytes(MAX_KEY_BYTES), "tensor name")
        dimensions = cursor.number("I")
        if dimensions > MAX_DIMENSIONS:
            raise MalformedGguf(
                f'malformed GGUF: tensor "{name}" dimensions {dimensions} exceeds maximum {MAX_DIMENSIONS}'
            )
        shape = cursor.numbers("Q", dimensions)
        code = cursor.number("I")
        offset = cursor.number("Q")
        stored = TENSOR_TYPES.get(code)
        if stored is None:
            raise MalformedGguf(f'malformed GGUF: tensor "{name}" has unknown type {code}')
        row = shape[0] if shape else 1
        if row % stored.block_size:
            raise MalformedGguf(
                f'malformed GGUF: tensor "{name}" size overflow: row length {row} is not a multiple of '
                f"{stored.block_size} ({stored.name})"
            )
        size = math.prod(shape) // stored.block_size * stored.block_bytes
        return TensorInfo(name, shape, stored.name, offset, size)

    def _placed(self, index: list[TensorInfo], data_offset: int) -> tuple[TensorInfo, ...]:
        """The entries with offsets from the start of the file, each checked to lie inside it."""
        tensors: dict[str, TensorInfo] = {}
        for entry in index:
            offset = data_offset + entry.offset
            if offset + entry.size_bytes > self._size:
                raise MalformedGguf(
                    f'malformed GGUF: tensor "{entry.name}" offset+size ({offset + entry.size_bytes}) '
                    f"exceeds file size ({self._size})"
                )
            if entry.name in tensors:
                raise MalformedGguf(f'malformed GGUF: duplicate tensor name "{entry.name}"')
            tensors[entry.name] = entry._replace(offset=offset)
        return tuple(tensors.values())

    def _alignment(self) -> int:
        alignment = GgufConfig(self._metadata).uint("general.alignment", DEFAULT_ALIGNMENT)
        if alignment == 0 or alignment > 1 << 32:
            raise MalformedGguf(f"malformed GGUF: invalid GGUF alignment: {alignment}")
        return alignment


def _name(raw: bytes, what: str) -> str:
    """A name that will be shown and looked up, so it must be there and be text."""
    try:
        name = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise MalformedGguf(f"malformed GGUF: {what} is not valid UTF-8") from error
    if not name:
        raise MalformedGguf(f"malformed GGUF: empty {what}")
    return name


def _decoded(raw: bytes) -> str:
    """A string value; bytes that are no UTF-8 are replaced, as the token lists of old files have some."""
    return raw.decode("utf-8", "replace")


def _is_uint(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
