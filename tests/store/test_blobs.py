"""Blobs: written whole or not at all, under their true digest."""

from __future__ import annotations

import asyncio
import errno
import hashlib
import os
import resource
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from orchestrator.domain.digests import Digest
from orchestrator.errors import StoreError
from orchestrator.store.blobs import WRITE_BYTES, BlobStore
from orchestrator.store.errors import DigestMismatch, DiskFull
from orchestrator.store.layout import StoreLayout

CONTENT = b"owl" * 1000
DIGEST = Digest(hashlib.sha256(CONTENT).hexdigest())


@pytest.fixture
def blobs(layout: StoreLayout) -> BlobStore:
    return BlobStore(layout)


def files(layout: StoreLayout) -> set[str]:
    return {path.name for path in layout.blobs.iterdir()}


def test_a_blob_gets_the_name_of_its_content(blobs: BlobStore, layout: StoreLayout) -> None:
    stored = blobs.put(CONTENT)
    assert (stored.digest, stored.size_bytes, stored.created) == (DIGEST, len(CONTENT), True)
    assert blobs.read(DIGEST) == CONTENT
    assert blobs.size(DIGEST) == len(CONTENT)
    assert files(layout) == {DIGEST.file_name}
    assert stat.S_IMODE(blobs.path(DIGEST).stat().st_mode) == 0o644


def test_the_same_content_is_stored_once_and_touched(blobs: BlobStore) -> None:
    blobs.put(CONTENT)
    os.utime(blobs.path(DIGEST), (0, 0))
    inode = blobs.path(DIGEST).stat().st_ino
    assert not blobs.put(CONTENT).created
    found = blobs.path(DIGEST).stat()
    assert found.st_ino == inode
    assert found.st_mtime > 0


def test_a_blob_cut_short_by_a_crash_is_written_anew(blobs: BlobStore) -> None:
    blobs.put(CONTENT)
    blobs.path(DIGEST).write_bytes(CONTENT[:10])
    assert blobs.put(CONTENT).created
    assert blobs.read(DIGEST) == CONTENT


@pytest.mark.parametrize("replaced", [False, True])
def test_what_another_program_has_written_becomes_a_blob(
    blobs: BlobStore, layout: StoreLayout, replaced: bool
) -> None:
    content = bytes(WRITE_BYTES) + b"owl"
    with blobs.file() as file:
        if replaced:
            file.path.unlink()
        file.path.write_bytes(content)
        assert list(file.absorb()) == [WRITE_BYTES, len(content)]
        blob = file.commit()
    assert (blob.digest, blob.size_bytes) == (Digest(hashlib.sha256(content).hexdigest()), len(content))
    assert blobs.read(blob.digest) == content
    assert files(layout) == {blob.digest.file_name}
    assert stat.S_IMODE(blobs.path(blob.digest).stat().st_mode) == 0o644


def test_a_file_that_another_program_removed_is_an_error(blobs: BlobStore, layout: StoreLayout) -> None:
    with blobs.file() as file:
        file.path.unlink()
        with pytest.raises(StoreError, match="no such file or directory"):
            list(file.absorb())
    assert files(layout) == set()


async def test_a_stream_becomes_a_blob(blobs: BlobStore, layout: StoreLayout) -> None:
    piece = bytes(WRITE_BYTES // 3)
    async with blobs.writer(size_bytes=10 * len(piece)) as writer:
        for _ in range(10):
            await writer.write(piece)
        stored = await writer.commit()
    assert stored.digest.hex == hashlib.sha256(piece * 10).hexdigest()
    assert files(layout) == {stored.digest.file_name}


async def test_an_abandoned_stream_leaves_nothing(blobs: BlobStore, layout: StoreLayout) -> None:
    async with blobs.writer() as writer:
        await writer.write(CONTENT)
        assert len(files(layout)) == 1
    assert files(layout) == set()


async def test_a_canceled_stream_leaves_nothing(blobs: BlobStore, layout: StoreLayout) -> None:
    started = asyncio.Event()

    async def upload() -> None:
        async with blobs.writer() as writer:
            await writer.write(CONTENT)
            started.set()
            await asyncio.Event().wait()

    task = asyncio.ensure_future(upload())
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert files(layout) == set()


async def test_two_writers_of_one_blob_do_no_harm(blobs: BlobStore, layout: StoreLayout) -> None:
    async with blobs.writer() as one, blobs.writer() as other:
        await one.write(CONTENT)
        await other.write(CONTENT)
        assert len(files(layout)) == 2
        first, second = await asyncio.gather(one.commit(), other.commit())
    assert first.digest == second.digest == DIGEST
    assert files(layout) == {DIGEST.file_name}
    assert blobs.path(DIGEST).read_bytes() == CONTENT


async def test_content_that_is_not_what_was_promised_is_refused_but_kept(
    blobs: BlobStore, layout: StoreLayout
) -> None:
    wrong = f"sha256:{'0' * 64}"
    async with blobs.writer() as writer:
        await writer.write(CONTENT)
        with pytest.raises(DigestMismatch) as refused:
            await writer.commit(wrong)
    assert str(refused.value) == f'digest mismatch, expected "{wrong}", got "{DIGEST}"'
    assert files(layout) == {DIGEST.file_name}


@pytest.mark.parametrize("text", [DIGEST.file_name, str(DIGEST).upper().replace("SHA", "sha")])
async def test_a_promise_is_compared_literally(blobs: BlobStore, text: str) -> None:
    async with blobs.writer() as writer:
        await writer.write(CONTENT)
        with pytest.raises(DigestMismatch):
            await writer.commit(text)


def test_what_is_not_there_says_where_it_was_looked_for(blobs: BlobStore) -> None:
    assert not blobs.exists(DIGEST)
    for look in (blobs.size, blobs.read, blobs.touch):
        with pytest.raises(StoreError, match=f"^open {blobs.path(DIGEST)}: no such file or directory$"):
            look(DIGEST)


def test_blobs_of_old_stores_are_renamed(blobs: BlobStore, layout: StoreLayout) -> None:
    blobs.rename_legacy()  # there is no directory yet
    layout.blobs.mkdir(parents=True)
    (layout.blobs / str(DIGEST)).write_bytes(CONTENT)
    blobs.rename_legacy()
    assert blobs.read(DIGEST) == CONTENT


def test_a_linked_directory_is_followed(blobs: BlobStore, layout: StoreLayout, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    layout.root.mkdir()
    layout.blobs.symlink_to(tmp_path / "elsewhere")
    blobs.put(CONTENT)
    assert (tmp_path / "elsewhere" / DIGEST.file_name).read_bytes() == CONTENT


def test_a_store_that_cannot_be_made_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"not a directory: ensure path elements are traversable$"):
        BlobStore(StoreLayout(tmp_path / "file" / "models")).put(CONTENT)


def test_a_read_only_store_says_so(read_only_disk: Path) -> None:
    with pytest.raises(StoreError, match=r"(read-only file system|permission denied): ensure path elements"):
        BlobStore(StoreLayout(read_only_disk / "models")).put(CONTENT)


def test_a_full_disk_leaves_nothing_half_written(small_disk: Path) -> None:
    layout = StoreLayout(small_disk)
    with BlobStore(layout).file() as file, pytest.raises(DiskFull) as full:
        file.write(bytes(1 << 20))
    assert "no space left on device" in str(full.value)
    assert files(layout) == set()


def test_what_cannot_fit_is_refused_before_it_is_sent(small_disk: Path) -> None:
    layout = StoreLayout(small_disk)
    with pytest.raises(DiskFull) as full, BlobStore(layout).file(size_bytes=1 << 30):
        pass
    assert full.value.needed_bytes == 1 << 30
    assert 0 < full.value.free_bytes <= 256 << 10
    assert f"{1 << 30} bytes needed, {full.value.free_bytes} free" in str(full.value)
    assert files(layout) == set()


def test_a_file_too_large_for_its_owner_leaves_nothing(blobs: BlobStore, layout: StoreLayout) -> None:
    with _largest_file(1 << 20), pytest.raises(StoreError, match=os.strerror(errno.EFBIG).lower()):
        blobs.put(bytes(2 << 20))
    assert files(layout) == set()


@contextmanager
def _largest_file(size: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_text_that_is_none_is_not_read_into_memory(layout: StoreLayout) -> None:
    path = layout.blob(Digest("a" * 64))
    path.parent.mkdir(parents=True)
    with path.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(StoreError, match="which no text is"):
        BlobStore(layout).read(Digest("a" * 64))
