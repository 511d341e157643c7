"""Reading safetensors files, honest and hostile."""

from __future__ import annotations

import json
import struct
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.files.errors import MalformedSafetensors
from orchestrator.files.safetensors import SafetensorsTensor, read_safetensors


def safetensors(header: Any, data: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def entry(dtype: str, shape: list[Any], begin: Any, end: Any) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "model.safetensors"


def read(path: Path, content: bytes) -> dict[str, SafetensorsTensor]:
    path.write_bytes(content)
    return read_safetensors(path)


def test_tensors_are_listed_by_name_with_their_places(path: Path) -> None:
    header = {
        "__metadata__": {"format": "pt"},
        "b": entry("F32", [2, 3], 0, 24),
        "a": entry("F16", [], 24, 26),
        "odd": {"shape": [1]},
    }
    tensors = read(path, safetensors(header, bytes(26)))
    start = path.stat().st_size - 26
    assert tensors == {
        "a": SafetensorsTensor(path, "a", "F16", (), start + 24, 2),
        "b": SafetensorsTensor(path, "b", "F32", (2, 3), start, 24),
    }
    assert list(tensors) == ["a", "b"]


@pytest.mark.parametrize(
    ("dtype", "raw"),
    [
        ("F64", np.array([1.5, -2.0], "<f8").tobytes()),
        ("F32", np.array([1.5, -2.0], "<f4").tobytes()),
        ("F16", np.array([1.5, -2.0], "<f2").tobytes()),
        ("BF16", bytes.fromhex("c03f00c0")),
    ],
)
def test_floats_of_every_type_become_single_precision(path: Path, dtype: str, raw: bytes) -> None:
    tensor = read(path, safetensors({"t": entry(dtype, [2], 0, len(raw))}, raw))["t"]
    assert tensor.stored().tobytes() == raw
    assert tensor.float32().dtype == np.float32
    assert tensor.float32().tolist() == [1.5, -2.0]


def test_other_types_are_read_as_they_are(path: Path) -> None:
    header = {
        "i": entry("I64", [1], 0, 8),
        "e": entry("F8_E4M3", [3], 8, 11),
        "none": entry("F32", [0, 5], 11, 11),
    }
    tensors = read(path, safetensors(header, struct.pack("<q3B", -7, 1, 2, 3)))
    assert tensors["i"].stored().tolist() == [-7]
    assert tensors["e"].stored().tolist() == [1, 2, 3]
    assert tensors["none"].stored().shape == (0, 5)
    with pytest.raises(MalformedSafetensors, match='tensor "i" is of type I64, not a float'):
        tensors["i"].float32()


F32 = entry("F32", [2], 0, 8)

MALFORMED = {
    "empty": (b"", "header length 0 exceeds file size 0"),
    "length only in part": (b"\x01\x00", "exceeds file size 2"),
    "length beyond the file": (struct.pack("<Q", 9) + b"{}", "header length 9 exceeds file size 10"),
    "negative length": (struct.pack("<q", -1) + b"{}", "header length 18446744073709551615 exceeds"),
    "no JSON": (safetensors(b"not json"), "header is not JSON"),
    "too deep": (safetensors(b"[" * 100_000), "header is not JSON"),
    "no UTF-8": (safetensors(b'{"\xff": 1}'), "header is not JSON"),
    "a list": (safetensors([]), "header is not an object"),
    "a name twice": (safetensors(b'{"a": {}, "a": {}}'), "a name appears twice"),
    "unknown type": (safetensors({"t": F32 | {"dtype": "F12"}}, bytes(8)), '"t": unknown data type: F12'),
    "type is a number": (safetensors({"t": F32 | {"dtype": 5}}, bytes(8)), "unknown data type: 5"),
    "no shape": (safetensors({"t": {"dtype": "F32", "data_offsets": [0, 4]}}, bytes(8)), "bad shape None"),
    "negative shape": (safetensors({"t": F32 | {"shape": [-2]}}, bytes(8)), r"bad shape \[-2\]"),
    "shape is true": (safetensors({"t": F32 | {"shape": [True, 2]}}, bytes(8)), "bad shape"),
    "nine dimensions": (safetensors({"t": F32 | {"shape": [1] * 8 + [2]}}, bytes(8)), "bad shape"),
    "no offsets": (safetensors({"t": {"dtype": "F32", "shape": [2]}}, bytes(8)), "bad data offsets None"),
    "one offset": (safetensors({"t": F32 | {"data_offsets": [0]}}, bytes(8)), "bad data offsets"),
    "negative offset": (safetensors({"t": F32 | {"data_offsets": [-8, 0]}}, bytes(8)), "bad data offsets"),
    "reversed": (safetensors({"t": F32 | {"data_offsets": [8, 0]}}, bytes(8)), "are outside of the 8 bytes"),
    "beyond the file": (safetensors({"t": F32}, bytes(7)), "are outside of the 7 bytes of data"),
    "shape smaller": (safetensors({"t": F32 | {"shape": [1]}}, bytes(8)), "of F32 takes 4 bytes, not 8"),
    "shape overflow": (safetensors({"t": F32 | {"shape": [1 << 40] * 2}}, bytes(8)), f"takes {1 << 82}"),
    "overlap": (
        safetensors({"t": F32, "u": entry("F32", [1], 4, 8)}, bytes(8)),
        '"u": data overlaps that of another tensor',
    ),
}  # fmt: skip


@pytest.mark.parametrize(("content", "message"), MALFORMED.values(), ids=MALFORMED.keys())
def test_a_malformed_file_is_refused_with_the_reason(path: Path, content: bytes, message: str) -> None:
    with pytest.raises(MalformedSafetensors, match=message) as caught:
        read(path, content)
    assert str(caught.value).startswith("model.safetensors: ")


def test_a_giant_header_is_not_read(path: Path) -> None:
    with path.open("wb") as file:
        file.write(struct.pack("<Q", 1 << 39))
        file.truncate(1 << 40)
    with pytest.raises(MalformedSafetensors, match="header length 549755813888 exceeds maximum"):
        read_safetensors(path)


SEED = safetensors({"a": entry("F32", [2, 2], 0, 16), "b": entry("BF16", [4], 16, 24)}, bytes(24))


@given(changes=st.lists(st.tuples(st.integers(0, len(SEED) - 1), st.integers(0, 255)), max_size=5))
def test_changed_bytes_never_do_more_than_make_a_file_malformed(
    tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[int, int]]
) -> None:
    content = bytearray(SEED)
    for place, value in changes:
        content[place] = value
    with suppress(MalformedSafetensors):
        for tensor in read(tmp_path_factory.getbasetemp() / "changed", bytes(content)).values():
            assert tensor.offset + tensor.size_bytes <= len(content)
            assert tensor.stored().nbytes == tensor.size_bytes
