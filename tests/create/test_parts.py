"""What uploaded GGUF files are, and how the shards of split ones are put together."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.create.errors import CreateFailed, CreateRefused
from orchestrator.create.parts import Upload, is_safetensors, kind_of, parts_of, read_upload, rewriting_of
from orchestrator.domain.digests import InvalidDigest
from orchestrator.errors import StoreError
from orchestrator.files.gguf import MalformedGguf
from orchestrator.store.blobs import BlobStore
from orchestrator.store.layout import StoreLayout
from orchestrator.store.wire import MediaType
from tests.gguf_builder import Tensor, build_gguf

CLIP = {"general.architecture": "clip"}
LLAMA = {"general.architecture": "llama", "llama.block_count": 1}


@pytest.fixture
def blobs(tmp_path: Any) -> BlobStore:
    return BlobStore(StoreLayout(tmp_path))


def uploaded(blobs: BlobStore, name: str, keys: dict[str, Any], *tensors: str) -> Upload:
    content = build_gguf(keys, [Tensor(tensor, (4,)) for tensor in tensors or ("a.weight",)])
    return read_upload(blobs, name, str(blobs.put(content).digest))


@pytest.mark.parametrize(
    ("keys", "kind"),
    [
        (LLAMA, MediaType.MODEL),
        (LLAMA | {"general.type": "adapter"}, MediaType.ADAPTER),
        (LLAMA | {"general.type": "mmproj"}, MediaType.PROJECTOR),
        (LLAMA | {"general.type": "projector"}, MediaType.PROJECTOR),
        (LLAMA | {"llama.vision.block_count": 1}, MediaType.MODEL),
        ({"general.architecture": "x", "x.vision.block_count": 1}, MediaType.PROJECTOR),
        (CLIP | {"clip.has_vision_encoder": True}, MediaType.PROJECTOR),
        (CLIP | {"clip.has_audio_encoder": True}, MediaType.PROJECTOR),
        (CLIP | {"clip.has_vision_encoder": True, "clip.block_count": 1}, MediaType.MODEL),
        (CLIP, MediaType.MODEL),
    ],
)
def test_the_header_tells_the_kind(blobs: BlobStore, keys: dict[str, Any], kind: MediaType) -> None:
    upload = uploaded(blobs, "a.gguf", keys)
    assert upload.media_type is kind
    assert kind_of(upload.file.header) is kind


def test_what_cannot_be_read_is_refused(blobs: BlobStore) -> None:
    with pytest.raises(InvalidDigest):
        read_upload(blobs, "a.gguf", "sha256:zz")
    with pytest.raises(StoreError, match="no such file or directory"):
        read_upload(blobs, "a.gguf", f"sha256:{'0' * 64}")
    with pytest.raises(CreateRefused, match="^supplied file was not in GGUF format$"):
        read_upload(blobs, "a.gguf", str(blobs.put(b"hello").digest))
    with pytest.raises(MalformedGguf):
        read_upload(blobs, "a.gguf", str(blobs.put(b"GGUF\x03\x00").digest))


def test_names_and_content_tell_the_type(blobs: BlobStore) -> None:
    weights = str(blobs.put(build_gguf(LLAMA, [Tensor("a", (4,))])).digest)
    other = str(blobs.put(b"hello").digest)
    assert is_safetensors(blobs, {"config.json": other, "model.safetensors": other})
    assert not is_safetensors(blobs, {"m.gguf": other})
    assert not is_safetensors(blobs, {"weights": weights})
    for files in ({}, {"a.txt": other}, {"a.txt": "sha256:zz"}, {"a.txt": f"sha256:{'0' * 64}"}):
        with pytest.raises(CreateRefused, match="^unknown type$"):
            is_safetensors(blobs, files)


def shard(blobs: BlobStore, name: str, number: int | None, count: int, kind: str = "model") -> Upload:
    keys = (
        LLAMA
        | {"general.type": kind, "split.count": count}
        | ({} if number is None else {"split.no": number})
    )
    return uploaded(blobs, name, keys, f"blk.{number}.x")


def test_shards_are_joined_in_order_and_kinds_kept_apart(blobs: BlobStore) -> None:
    names = ["m-00001-of-00002.gguf", "m-00002-of-00002.gguf"]
    uploads = [
        shard(blobs, names[1], 1, 2),
        shard(blobs, names[0], 0, 2),
        shard(blobs, names[0], 0, 2, "adapter"),
        shard(blobs, names[1], 1, 2, "adapter"),
        uploaded(blobs, "other.gguf", LLAMA),
    ]
    parts = parts_of(uploads)
    assert [(part.media_type, part.layer.from_, len(part.files)) for part in parts] == [
        (MediaType.MODEL, names[0], 2), (MediaType.ADAPTER, names[0], 2), (MediaType.MODEL, "other.gguf", 1),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("shards", "text"),
    [
        ([("m.gguf", 0, 2)], 'split GGUF "m.gguf" must use llama.cpp split filename pattern'),
        (
            [("m-00001-of-00003.gguf", 0, 2)],
            'split GGUF "m-00001-of-00003.gguf" filename count 3 does not match metadata count 2',
        ),
        (
            [("m-00001-of-00002.gguf", None, 2)],
            'split GGUF "m-00001-of-00002.gguf" is missing split.no metadata',
        ),
        (
            [("m-00001-of-00002.gguf", 1, 2)],
            'split GGUF "m-00001-of-00002.gguf" filename index 0 does not match metadata index 1',
        ),
        ([("m-00001-of-00002.gguf", 0, 2)], 'split GGUF "m-00001-of-00002.gguf" has 1 shards, expected 2'),
        ([("m-00003-of-00002.gguf", 2, 2)], 'split GGUF "m-00003-of-00002.gguf" has invalid shard index 2'),
        ([("m-00001-of-00002.gguf", 0, 2)] * 2, "split GGUF has duplicate shard index 0"),
        ([("m-00002-of-00002.gguf", 1, 2)], "split GGUF is missing first shard"),
    ],
)  # fmt: skip
def test_shards_that_do_not_fit_together_are_refused(
    blobs: BlobStore, shards: list[tuple[str, int | None, int]], text: str
) -> None:
    with pytest.raises(CreateFailed) as refused:
        parts_of([shard(blobs, *arguments) for arguments in shards])
    assert str(refused.value) == text


@pytest.mark.parametrize(
    ("keys", "tensor", "rewritten"),
    [
        (LLAMA, "blk.0.x", True),
        (LLAMA, "v.x", False),
        (LLAMA, "mm.x", False),
        (LLAMA, "mtp.x", False),
        (LLAMA | {"general.type": "adapter"}, "blk.0.x", False),
        (CLIP | {"clip.has_vision_encoder": True}, "v.x", True),
        (CLIP | {"clip.has_vision_encoder": True, "clip.projector_type": "mlp"}, "v.x", False),
        (CLIP | {"clip.has_vision_encoder": True, "clip.vision.projector_type": "mlp"}, "v.x", False),
        (CLIP | {"clip.has_audio_encoder": True}, "a.x", False),
    ],
)
def test_only_what_needs_it_is_written_anew(
    blobs: BlobStore, keys: dict[str, Any], tensor: str, rewritten: bool
) -> None:
    (part,) = parts_of([uploaded(blobs, "a.gguf", keys, tensor)])
    assert (rewriting_of(part) is not None) is rewritten
