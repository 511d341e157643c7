"""Reading GGUF headers, honest and hostile."""

from __future__ import annotations

import struct
import time
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.files.gguf import (
    ArraySummary,
    GgufConfig,
    GgufHeader,
    MalformedGguf,
    TensorInfo,
    read_config,
    read_header,
)
from tests.gguf_builder import Tensor, Typed, build_gguf

NAME = b"\x01" + bytes(7) + b"k"
"""A metadata key as it is stored."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "model.gguf"


def header_of(path: Path, content: bytes, **how: Any) -> GgufHeader:
    path.write_bytes(content)
    return read_header(path, **how)


def raw(keys: int, tensors: int, rest: bytes = b"", version: int = 3) -> bytes:
    """A file with counts that need not be true."""
    return b"GGUF" + struct.pack("<IQQ", version, tensors, keys) + rest


EVERY_TYPE = {
    "general.architecture": "owl",
    "owl.u8": Typed("u8", 200),
    "owl.i8": Typed("i8", -3),
    "owl.u16": Typed("u16", 60_000),
    "owl.i16": Typed("i16", -300),
    "owl.u32": Typed("u32", 4_000_000_000),
    "owl.i32": Typed("i32", -4),
    "owl.f32": Typed("f32", 0.5),
    "owl.bool": True,
    "owl.text": "hööt",
    "owl.u64": Typed("u64", 1 << 63),
    "owl.i64": Typed("i64", -(1 << 62)),
    "owl.f64": Typed("f64", 0.1),
    "owl.list": Typed("arr:i32", [1, -2, 3]),
    "owl.flags": Typed("arr:bool", [True, False]),
    "owl.words": ["a", "", "ccc"],
    "owl.none": [],
}


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("big_endian", [False, True])
def test_values_of_every_type_are_read_in_both_byte_orders(
    path: Path, version: int, big_endian: bool
) -> None:
    header = header_of(path, build_gguf(EVERY_TYPE, (), version, big_endian), keep_arrays=True)
    values = {key: value.value if isinstance(value, Typed) else value for key, value in EVERY_TYPE.items()}
    assert header.metadata == {key: tuple(v) if isinstance(v, list) else v for key, v in values.items()}
    assert list(header.metadata) == list(EVERY_TYPE)
    assert header.types["owl.u64"] == "u64"
    assert header.types["owl.list"] == "arr:i32"
    assert header.types["owl.none"] == "arr:str"
    assert (header.version, header.big_endian) == (version, big_endian)


def test_a_big_endian_file_may_keep_the_magic_as_it_is(path: Path) -> None:
    content = build_gguf(EVERY_TYPE, [Tensor("t", (4,))], big_endian=True)
    header = header_of(path, b"GGUF" + content[4:])
    assert header.big_endian
    assert header.config.uint("u32") == 4_000_000_000


def test_tensors_have_shapes_types_sizes_and_places(path: Path) -> None:
    tensors = [
        Tensor("token_embd.weight", (32, 3), "Q4_0"),
        Tensor("blk.0.attn_q.weight", (256, 2), "Q4_K"),
        Tensor("blk.1.attn_q.weight", (5,), "F32"),
        Tensor("blk.1.scale", (), "F16"),
        Tensor("blk.x.other", (2, 2, 2, 2), "BF16"),
    ]
    content = build_gguf({"general.architecture": "owl"}, tensors)
    header = header_of(path, content)
    start = header.data_offset
    assert start % 32 == 0
    assert header.tensors == (
        TensorInfo("token_embd.weight", (32, 3), "Q4_0", start, 54),
        TensorInfo("blk.0.attn_q.weight", (256, 2), "Q4_K", start + 64, 288),
        TensorInfo("blk.1.attn_q.weight", (5,), "F32", start + 352, 20),
        TensorInfo("blk.1.scale", (), "F16", start + 384, 2),
        TensorInfo("blk.x.other", (2, 2, 2, 2), "BF16", start + 416, 32),
    )
    assert header.size_bytes == len(content) == start + 448
    assert header.parameter_count == 96 + 512 + 5 + 1 + 16
    assert header.parameter_size == "630"
    assert [tensor.block for tensor in header.tensors] == [None, 0, 1, 1, None]
    assert header.bytes_of("blk.1.") == 22
    assert header.bytes_of(("token", "blk.0")) == 342


def test_the_bytes_of_a_key_can_be_found_again(path: Path) -> None:
    content = build_gguf(EVERY_TYPE)
    header = header_of(path, content)
    first, *_, last = (header.spans[key] for key in EVERY_TYPE)
    assert (first[0], last[1]) == (24, len(content))
    start, end = header.spans["owl.text"]
    assert content[start:end] == build_gguf({"owl.text": "hööt"})[24:]


def test_the_alignment_is_the_files_own(path: Path) -> None:
    tensors = [Tensor("a", (1,)), Tensor("b", (1,))]
    header = header_of(path, build_gguf({"general.alignment": 128}, tensors, alignment=128))
    assert header.alignment == 128
    assert header.data_offset % 128 == 0
    assert header.tensors[1].offset == header.data_offset + 128


def test_arrays_are_kept_up_to_the_length_asked_for(path: Path) -> None:
    path.write_bytes(build_gguf({"none": [], "two": [1, 2], "three": ["a", "b", "c"]}))
    assert read_header(path).metadata == {
        "none": (),
        "two": ArraySummary("u32", 2),
        "three": ArraySummary("str", 3),
    }
    assert read_header(path, keep_arrays=2).metadata["two"] == (1, 2)
    assert read_header(path, keep_arrays=2).metadata["three"] == ArraySummary("str", 3)
    assert read_header(path, keep_arrays=True).metadata["three"] == ("a", "b", "c")


def test_long_arrays_are_read_across_the_reading_window(path: Path) -> None:
    words = [f"{number:x}" * (number % 50) for number in range(70_000)]
    numbers = list(range(300_000))
    path.write_bytes(build_gguf({"w": words, "n": numbers, "long": "x" * 3_000_000, "end": 7}))
    kept = read_header(path, keep_arrays=True)
    assert kept.metadata == {"w": tuple(words), "n": tuple(numbers), "long": "x" * 3_000_000, "end": 7}
    assert read_header(path).metadata["end"] == 7


def test_a_large_vocabulary_is_passed_over_quickly_and_not_kept(path: Path) -> None:
    count = 250_000
    path.write_bytes(
        build_gguf(
            {
                "general.architecture": "owl",
                "tokenizer.ggml.tokens": [f"token{number}" for number in range(count)],
                "tokenizer.ggml.scores": Typed("arr:f32", [0.0] * count),
                "tokenizer.ggml.merges": [f"to ken{number}" for number in range(count)],
            }
        )
    )
    took = []
    for _ in range(5):
        start = time.process_time()
        read_header(path)
        took.append(time.process_time() - start)
    assert min(took) < 0.1
    tracemalloc.start()
    header = read_header(path)
    kept_bytes, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert header.metadata["tokenizer.ggml.tokens"] == ArraySummary("str", count)
    assert kept_bytes < 200_000
    assert peak_bytes < 4_000_000


def test_a_listing_stops_at_the_tokenizer(path: Path) -> None:
    content = build_gguf({"owl.block_count": 3, "general.architecture": "owl", "tokenizer.ggml.model": "x"})
    path.write_bytes(content[:-5])  # damaged only behind the point where a listing stops
    config = read_config(path)
    assert (config.architecture, config.uint("block_count")) == ("owl", 3)
    with pytest.raises(MalformedGguf):
        read_header(path)


def test_a_listing_reads_on_until_the_architecture_is_known(path: Path) -> None:
    path.write_bytes(
        build_gguf({"tokenizer.x": ["a"], "general.architecture": "owl", "tokenizer.y": 1, "owl.z": 1})
    )
    config = read_config(path)
    assert config.architecture == "owl"
    assert not config.has("z")


def test_keys_are_looked_up_under_the_architecture() -> None:
    config = GgufConfig(
        {
            "general.architecture": "owl",
            "general.file_type": 15,
            "general.type": "adapter",
            "owl.block_count": 12,
            "owl.rope.freq_base": 0.5,
            "owl.tied": True,
            "owl.heads": (4, 0, 8),
            "owl.negative": -1,
            "owl.mixed": (1, -1),
            "owl.dropped": ArraySummary("u32", 9),
            "tokenizer.ggml.model": "gpt2",
        }
    )
    assert config.uint("block_count") == 12
    assert config.uint("absent", 5) == 5
    assert config.uint("tied", 5) == 5
    assert config.uint("negative", 5) == 5
    assert config.float("rope.freq_base") == 0.5
    assert config.float("block_count", 2.0) == 2.0
    assert config.bool("tied")
    assert not config.bool("block_count")
    assert config.string("tokenizer.ggml.model") == "gpt2"
    assert config.string("block_count", "x") == "x"
    assert config.uints("heads") == (4, 0, 8)
    assert config.uints("block_count") == (12,)
    assert config.uints("mixed") == config.uints("dropped") == config.uints("absent") == ()
    assert config.kind == "adapter"
    assert config.file_type_name == "Q4_K_M"


@pytest.mark.parametrize(
    ("metadata", "name"),
    [({}, "unknown"), ({"general.file_type": 0}, "unknown"), ({"general.file_type": 1}, "F16"),
     ({"general.file_type": 38}, "MXFP4_MOE"), ({"general.file_type": 999}, "unknown")],
)  # fmt: skip
def test_file_types_have_the_names_ollama_gives_them(metadata: dict[str, Any], name: str) -> None:
    config = GgufConfig(metadata)
    assert config.file_type_name == name
    assert config.architecture == config.kind == "unknown"


def test_texts_that_are_no_utf_8_are_replaced_in_values_only(path: Path) -> None:
    header = header_of(path, build_gguf({"word": b"a\xff", "words": [b"\xc3"]}), keep_arrays=True)
    assert header.metadata == {"word": "a\ufffd", "words": ("\ufffd",)}
    good = build_gguf({"word": 1})
    with pytest.raises(MalformedGguf, match="metadata key is not valid UTF-8"):
        header_of(path, good.replace(b"word", b"wor\xff"))


HUGE = 1 << 60

MALFORMED = {
    "empty": (b"", "^invalid file magic$"),
    "short": (b"GG", "^invalid file magic$"),
    "other magic": (b"ggjt" + bytes(40), "^invalid file magic$"),
    "nothing but the magic": (b"GGUF", "unexpected end of file"),
    "version 1": (raw(0, 0, version=1), "version 1 is not supported"),
    "version 0": (raw(0, 0, version=0), "version 0 is not supported"),
    "key count": (raw(HUGE, 0), f"{HUGE} metadata keys do not fit"),
    "random key count": (raw(0x5A17, 0, bytes(200)), "23063 metadata keys do not fit"),
    "tensor count": (raw(0, HUGE), f"{HUGE} tensors do not fit"),
    "key length 2^60": (
        raw(1, 0, struct.pack("<Q", HUGE) + bytes(20)),
        f"GGUF string length {HUGE} exceeds maximum 65535",
    ),
    "empty key": (raw(1, 0, bytes(8) + struct.pack("<IB", 0, 1) + bytes(8)), "empty metadata key"),
    "text length 2^60": (
        raw(1, 0, NAME + struct.pack("<IQ", 8, HUGE)),
        f"GGUF string length {HUGE} exceeds maximum 16777216",
    ),
    "text beyond the file": (raw(1, 0, NAME + struct.pack("<IQ", 8, 100)), "unexpected end of file"),
    "value type": (raw(1, 0, NAME + struct.pack("<I", 13) + bytes(8)), "invalid type: 13"),
    "array type": (raw(1, 0, NAME + struct.pack("<IIQ", 9, 77, 1) + bytes(8)), "invalid array type: 77"),
    "array of arrays": (raw(1, 0, NAME + struct.pack("<IIQ", 9, 9, 1) + bytes(99)), "invalid array type: 9"),
    "array length 2^60": (
        raw(1, 0, NAME + struct.pack("<IIQ", 9, 0, HUGE)),
        f"GGUF array size {HUGE} exceeds maximum 67108864",
    ),
    "array beyond the file": (
        raw(1, 0, NAME + struct.pack("<IIQ", 9, 4, 100) + bytes(99)),
        "unexpected end of file",
    ),
    "array of texts beyond the file": (
        raw(1, 0, NAME + struct.pack("<IIQQ", 9, 8, 2, 9) + bytes(8)),
        "unexpected end of file",
    ),
    "text in an array 2^63": (
        raw(1, 0, NAME + struct.pack("<IIQQ", 9, 8, 2, (1 << 64) - 1) + bytes(20)),
        "unexpected end of file",
    ),
    "duplicate key": (
        raw(2, 0, 2 * (NAME + struct.pack("<IB", 0, 1))),
        'duplicate metadata key "k"',
    ),
    "alignment 0": (build_gguf({"general.alignment": 0}), "invalid GGUF alignment: 0"),
    "tensor without a name": (raw(0, 1, bytes(40)), "empty tensor name"),
    "five dimensions": (
        raw(0, 1, NAME + struct.pack("<I", 5) + bytes(60)),
        'tensor "k" dimensions 5 exceeds maximum 4',
    ),
    "unknown tensor type": (
        raw(0, 1, NAME + struct.pack("<IQIQ", 1, 1, 4, 0)),
        'tensor "k" has unknown type 4',
    ),
    "half a block": (
        raw(0, 1, NAME + struct.pack("<IQIQ", 1, 33, 2, 0)),
        'tensor "k" size overflow: row length 33 is not a multiple of 32',
    ),
    "absurd dimensions": (
        raw(0, 1, NAME + struct.pack("<I4QIQ", 4, *[HUGE] * 4, 0, 0)),
        r'tensor "k" offset\+size \(\d+\) exceeds file size',
    ),
    "offset overflow": (
        raw(0, 1, NAME + struct.pack("<IQIQ", 1, 1, 0, (1 << 64) - 4) + bytes(64)),
        r'tensor "k" offset\+size \(\d+\) exceeds file size',
    ),
    "cut short": (build_gguf({}, [Tensor("t", (64,))])[:-1], r"offset\+size \(\d+\) exceeds file size"),
    "duplicate tensor": (build_gguf({}, [Tensor("t", (1,))] * 2), 'duplicate tensor name "t"'),
}  # fmt: skip


@pytest.mark.parametrize(("content", "message"), MALFORMED.values(), ids=MALFORMED.keys())
def test_a_malformed_file_is_refused_with_the_reason(path: Path, content: bytes, message: str) -> None:
    with pytest.raises(MalformedGguf, match=message):
        header_of(path, content)


@pytest.mark.parametrize("kind", [4, 8])
def test_a_huge_sparse_file_costs_neither_time_nor_memory(path: Path, kind: int) -> None:
    with path.open("wb") as file:
        file.write(raw(1, 0, NAME + struct.pack("<IIQ", 9, kind, 60 << 20)))
        file.truncate(1 << 40)
    tracemalloc.start()
    with pytest.raises(MalformedGguf, match="arrays exceed maximum 8388608 elements"):
        read_header(path, keep_arrays=True)
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak_bytes < 4_000_000


def test_a_header_without_end_is_given_up(path: Path) -> None:
    texts = struct.pack("<IIQ", 9, 8, 2) + struct.pack("<Q", 300 << 20)
    with path.open("wb") as file:
        file.write(raw(1, 0, NAME + texts))
        file.truncate(1 << 40)
    with pytest.raises(MalformedGguf, match="header exceeds maximum 268435456 bytes"):
        read_header(path)


SEED = build_gguf(
    {**EVERY_TYPE, "tokenizer.ggml.tokens": ["a", "b", "c"] * 20},
    [Tensor("blk.0.a", (32, 2), "Q4_0"), Tensor("b", (3, 4, 5), "F16")],
)


def read_or_refuse(path: Path, content: bytes) -> None:
    """Reads a file that may be wrong; any error but ``MalformedGguf`` fails the test, as does memory."""
    path.write_bytes(content)
    for keep_arrays in (False, True):
        try:
            header = read_header(path, keep_arrays=keep_arrays)
        except MalformedGguf:
            continue
        assert all(t.offset + t.size_bytes <= len(content) for t in header.tensors)


def test_a_file_cut_anywhere_is_refused(path: Path) -> None:
    for length in range(len(SEED)):
        with pytest.raises(MalformedGguf):
            header_of(path, SEED[:length])


@settings(max_examples=400, deadline=None)
@given(changes=st.lists(st.tuples(st.integers(0, len(SEED) - 1), st.integers(0, 255)), max_size=6))
def test_changed_bytes_never_do_more_than_make_a_file_malformed(
    tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[int, int]]
) -> None:
    content = bytearray(SEED)
    for place, value in changes:
        content[place] = value
    tracemalloc.start()
    read_or_refuse(tmp_path_factory.getbasetemp() / "changed.gguf", bytes(content))
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak_bytes < 8_000_000


@settings(max_examples=300, deadline=None)
@given(
    place=st.integers(4, len(SEED) - 8),
    value=st.sampled_from([0, 1, 255, 1 << 31, (1 << 32) - 1, 1 << 40, HUGE, (1 << 63) - 1, (1 << 64) - 1]),
    size=st.sampled_from(["<I", "<Q"]),
)
def test_absurd_numbers_never_do_more_than_make_a_file_malformed(
    tmp_path_factory: pytest.TempPathFactory, place: int, value: int, size: str
) -> None:
    content = bytearray(SEED)
    struct.pack_into(size, content, place, value & (0xFFFFFFFF if size == "<I" else (1 << 64) - 1))
    read_or_refuse(tmp_path_factory.getbasetemp() / "absurd.gguf", bytes(content))


@given(content=st.binary(max_size=300))
def test_any_bytes_behind_the_magic_are_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    read_or_refuse(tmp_path_factory.getbasetemp() / "any.gguf", b"GGUF\x03\x00\x00\x00" + content)
