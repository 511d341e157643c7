"""GGUF files written anew: the bytes llama.cpp's tool writes, nothing lost."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orchestrator.create.errors import CreateFailed
from orchestrator.create.quantization import Quantization
from orchestrator.create.rewrite import (
    RECODED_ELEMENTS,
    FileImage,
    GgufFile,
    can_be_rewritten,
    joined,
    normal_form,
    with_tensors,
    with_text,
)
from orchestrator.errors import StoreError
from orchestrator.files.gguf import read_header
from tests.gguf_builder import Tensor, Typed, build_gguf
from tests.golden_records import FOLDER
from tests.sample_models import PackageMissing, smollm2

KEYS = {"general.architecture": "llama", "general.file_type": 1, "llama.block_count": 1}


def gguf_file(
    directory: Path, name: str, keys: dict[str, Any], tensors: list[Tensor], **how: Any
) -> GgufFile:
    path = directory / name
    path.write_bytes(build_gguf(keys, tensors, **how))
    return GgufFile(path, read_header(path))


def written(image: FileImage, path: Path) -> GgufFile:
    path.write_bytes(b"".join(image.chunks()))
    assert path.stat().st_size == image.size_bytes
    return GgufFile(path, read_header(path))


def data_of(file: GgufFile) -> dict[str, bytes]:
    content = file.path.read_bytes()
    return {
        tensor.name: content[tensor.offset : tensor.offset + tensor.size_bytes]
        for tensor in file.header.tensors
    }


def digest_of(image: FileImage) -> str:
    digest = hashlib.sha256()
    for chunk in image.chunks():
        digest.update(chunk)
    return digest.hexdigest()


def recorded_file(name: str) -> bytes:
    """A small model of the recorded HTTP cases."""
    path = FOLDER / "http" / "world.json"
    if not path.exists():
        pytest.skip("these records are not there")
    return gzip.decompress(base64.b64decode(json.loads(path.read_bytes())["blobs"][name]["gzip_base64"]))


# The digests are those of what llama.cpp's ``llama-quantize --allow-requantize IN OUT COPY`` wrote.


@pytest.mark.parametrize(
    ("name", "digest"),
    [
        ("tiny.gguf", "0d89d917de74f59867d1628fd0f92e4355ae03df8bb6ec74e49192cbf5090a6a"),
    ],
)
def test_the_normal_form_is_that_of_llama_cpp(tmp_path: Path, name: str, digest: str) -> None:
    path = tmp_path / name
    path.write_bytes(recorded_file(name))
    assert digest_of(normal_form([GgufFile(path, read_header(path))])) == digest


def test_the_normal_form_of_a_real_model_is_that_of_llama_cpp() -> None:
    try:
        path = smollm2()
    except PackageMissing as missing:
        pytest.skip(str(missing))
    digest = digest_of(normal_form([GgufFile(path, read_header(path))]))
    assert digest == "941f309b54caaad6747569ba43712bcde44a2be3bae16c3282ff499c37c54af5"


def test_the_quantized_form_is_that_of_llama_cpp(tmp_path: Path) -> None:
    path = tmp_path / "tiny.gguf"
    path.write_bytes(recorded_file("tiny.gguf"))
    image = normal_form(
        [GgufFile.read(path)], file_type=7, stored_type=Quantization("F16", "Q8_0").stored_type
    )
    assert digest_of(image) == "7eddc99d3fc280dbf6f86bf44df927821f9db55e6bb8e4c252f558c0bdc73cd1"


def test_a_file_type_out_of_range_is_told(tmp_path: Path) -> None:
    file = gguf_file(
        tmp_path, "in", KEYS | {"general.file_type": Typed("u64", 1 << 32)}, [Tensor("a", (32,))]
    )
    with pytest.raises(CreateFailed, match="general.file_type is out of range: 4294967296"):
        normal_form([file])


def test_numbers_get_the_type_that_is_asked_for(tmp_path: Path) -> None:
    numbers = struct.pack("<64f", *range(64))
    file = gguf_file(tmp_path, "in", KEYS, [Tensor("a", (32, 2), "F32", numbers), Tensor("b", (3,), "I8")])
    image = normal_form([file], file_type=32, stored_type=lambda t: "BF16" if t.name == "a" else t.type)
    out = written(image, tmp_path / "out")
    assert [tensor.type for tensor in out.header.tensors] == ["BF16", "I8"]
    assert out.header.config.file_type_name == "BF16"
    assert data_of(out)["a"] == b"".join(numbers[start + 2 : start + 4] for start in range(0, 256, 4))


def test_numbers_are_decoded_a_few_at_a_time(tmp_path: Path) -> None:
    elements = 2 * RECODED_ELEMENTS + 64
    file = gguf_file(tmp_path, "in", KEYS, [Tensor("a", (64, elements // 64), "F16")])
    image = normal_form([file], file_type=7, stored_type=lambda _: "Q8_0")
    sizes = [len(chunk) for chunk in image.chunks()]
    assert max(sizes) == RECODED_ELEMENTS // 32 * 34
    assert sum(sizes) == image.size_bytes


def test_outer_dimensions_of_one_do_not_count(tmp_path: Path) -> None:
    shapes = {"a": (4, 1), "b": (1, 1, 1), "c": (4, 1, 2), "d": ()}
    tensors = [Tensor(name, shape) for name, shape in shapes.items()]
    out = written(normal_form([gguf_file(tmp_path, "in", KEYS, tensors)]), tmp_path / "out")
    assert [tensor.shape for tensor in out.header.tensors] == [(4,), (1,), (4, 1, 2), (1,)]


def test_tensors_of_another_file_go_behind_its_own(tmp_path: Path) -> None:
    file = gguf_file(tmp_path, "in", KEYS, [Tensor("b", (4,), "F32", bytes(range(16)))])
    other = gguf_file(tmp_path, "other", {}, [Tensor("a", (2,), "F16", b"abcd"), Tensor("c", (4,))])
    out = written(with_tensors(file, [(other, other.header.tensors[0])]), tmp_path / "out")
    assert data_of(out) == {"b": bytes(range(16)), "a": b"abcd"}
    assert out.header.metadata == file.header.metadata


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no such file or directory"):
        GgufFile.read(tmp_path / "missing")


def test_tensors_are_ordered_by_layer_and_name(tmp_path: Path) -> None:
    names = ["token_embd.weight", "blk.10.b", "output.weight", "blk.2.b", "blk.2.a", "a.x"]
    tensors = [Tensor(name, (32,), "F16", bytes([number]) * 64) for number, name in enumerate(names)]
    file = gguf_file(tmp_path, "in", KEYS, tensors)
    out = written(normal_form([file]), tmp_path / "out")
    assert [tensor.name for tensor in out.header.tensors] == [
        "a.x", "output.weight", "token_embd.weight", "blk.2.a", "blk.2.b", "blk.10.b",
    ]  # fmt: skip
    assert data_of(out) == data_of(file)


def test_version_and_type_come_last_whatever_was_there(tmp_path: Path) -> None:
    keys = {"general.quantization_version": 1, "general.file_type": 7, **KEYS, "general.file_type": 7}  # noqa: F601
    file = gguf_file(tmp_path, "in", keys, [Tensor("a", (4,))])
    out = written(normal_form([file]), tmp_path / "out")
    assert list(out.header.metadata.items())[-2:] == [
        ("general.quantization_version", 2),
        ("general.file_type", 7),
    ]


def test_a_type_that_is_not_stated_is_not_made_up(tmp_path: Path) -> None:
    file = gguf_file(tmp_path, "in", {"general.architecture": "llama"}, [Tensor("a", (4,))])
    out = written(normal_form([file]), tmp_path / "out")
    assert "general.file_type" not in out.header.metadata


def test_the_normal_form_does_not_change_again(tmp_path: Path) -> None:
    file = gguf_file(tmp_path, "in", KEYS, [Tensor("b", (5,)), Tensor("a", (3,), "F16")])
    once = written(normal_form([file]), tmp_path / "once")
    twice = written(normal_form([once]), tmp_path / "twice")
    assert once.path.read_bytes() == twice.path.read_bytes()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    extra=st.dictionaries(
        st.from_regex(r"x\.[a-z]{1,8}", fullmatch=True),
        st.integers(0, 2**32 - 1)
        | st.booleans()
        | st.text(max_size=20)
        | st.lists(st.integers(0, 9), min_size=1),
        max_size=5,
    ),
    sizes=st.lists(st.integers(1, 70), min_size=1, max_size=6),
    alignment=st.sampled_from([8, 32, 64]),
)  # fmt: skip
def test_keys_and_tensors_survive(
    tmp_path: Path, extra: dict[str, Any], sizes: list[int], alignment: int
) -> None:
    keys = {**KEYS, "general.alignment": alignment, **extra}
    tensors = [Tensor(f"t{n}", (size,), "I8", bytes([n]) * size) for n, size in enumerate(sizes)]
    file = gguf_file(tmp_path, "in", keys, tensors, alignment=alignment)
    out = written(normal_form([file]), tmp_path / "out")
    added = {"general.quantization_version": 2}
    in_keys = read_header(file.path, keep_arrays=True).metadata
    assert read_header(out.path, keep_arrays=True).metadata == {**in_keys, **added}
    assert data_of(out) == data_of(file)
    assert out.header.alignment == alignment


def test_shards_become_one_file_without_a_word_of_the_split(tmp_path: Path) -> None:
    shards = [
        gguf_file(
            tmp_path,
            f"{number}",
            {**KEYS, "split.no": Typed("u16", number), "split.count": Typed("u16", 2), "llama.split.x": 1},
            [Tensor(f"blk.{1 - number}.a", (4,), "F32", bytes([number]) * 16)],
        )
        for number in (0, 1)
    ]
    for image, names in (
        (normal_form(shards), ["blk.0.a", "blk.1.a"]),
        (joined(shards), ["blk.1.a", "blk.0.a"]),
    ):
        out = written(image, tmp_path / "out")
        assert [tensor.name for tensor in out.header.tensors] == names
        assert data_of(out) == data_of(shards[0]) | data_of(shards[1])
        assert not [key for key in out.header.metadata if "split" in key]


def test_one_more_key_leaves_the_rest(tmp_path: Path) -> None:
    file = gguf_file(tmp_path, "in", KEYS, [Tensor("b", (4,)), Tensor("a", (4,))])
    out = written(with_text(file, "clip.projector_type", "mlp"), tmp_path / "out")
    assert out.header.metadata == {**file.header.metadata, "clip.projector_type": "mlp"}
    assert [tensor.name for tensor in out.header.tensors] == ["b", "a"]


def test_other_byte_orders_and_empty_files_stay_as_they_are(tmp_path: Path) -> None:
    assert not can_be_rewritten(gguf_file(tmp_path, "big", KEYS, [Tensor("a", (4,))], big_endian=True).header)
    assert not can_be_rewritten(gguf_file(tmp_path, "empty", KEYS, []).header)


def test_a_file_that_shrank_meanwhile_is_an_error(tmp_path: Path) -> None:
    file = gguf_file(tmp_path, "in", KEYS, [Tensor("a", (400,))])
    file.path.write_bytes(file.path.read_bytes()[:-10])
    with pytest.raises(StoreError, match="shorter than it was"):
        list(normal_form([file]).chunks())
    file.path.unlink()
    with pytest.raises(StoreError, match="no such file or directory"):
        list(normal_form([file]).chunks())
