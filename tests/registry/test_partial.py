"""The files of a download: they are Ollama's, and what they say is true."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from orchestrator.domain.digests import Digest
from orchestrator.errors import StoreError
from orchestrator.registry.errors import BlobMismatch
from orchestrator.registry.partial import PartialFile, missing_bytes
from orchestrator.registry.parts import PartSizes
from orchestrator.store.errors import DiskFull
from orchestrator.store.layout import StoreLayout

CONTENT = bytes(range(256)) * 40
SIZES = PartSizes(share=4, least=1000, most=4000)
DIGEST = Digest(hashlib.sha256(CONTENT).hexdigest())


@pytest.fixture
def layout(tmp_path: Path) -> StoreLayout:
    return StoreLayout(tmp_path)


def opened(layout: StoreLayout, total: int = len(CONTENT)) -> PartialFile:
    partial = PartialFile(layout, DIGEST, total, SIZES)
    partial.open()
    return partial


def finish(partial: PartialFile) -> None:
    while not partial.catch_up():
        pass
    partial.commit()


def write(partial: PartialFile, first: int, end: int) -> None:
    partial.write(first, [CONTENT[first : first + 3], CONTENT[first + 3 : end]])


def states(layout: StoreLayout) -> list[dict[str, int]]:
    return [json.loads(path.read_bytes()) for path in sorted(layout.blobs.glob("*-partial-*"))]


def test_a_new_download_has_the_files_of_ollama(layout: StoreLayout) -> None:
    opened(layout).close()
    blob = f"sha256-{DIGEST.hex}"
    names = sorted(path.name for path in layout.blobs.iterdir())
    assert names == [f"{blob}-partial", *(f"{blob}-partial-{number}" for number in range(4))]
    assert (layout.blobs / f"{blob}-partial").stat().st_size == len(CONTENT)
    first = layout.blobs / f"{blob}-partial-0"
    assert first.read_bytes() == b'{"N":0,"Offset":0,"Size":2560,"Completed":0}\n'


def test_what_was_written_is_written_down(layout: StoreLayout) -> None:
    partial = opened(layout)
    write(partial, 2560, 3000)
    write(partial, 0, 100)
    assert [state["Completed"] for state in states(layout)] == [100, 440, 0, 0]
    assert partial.completed_bytes == 540
    assert partial.contiguous_bytes == 100
    partial.close()


def test_the_next_download_goes_on(layout: StoreLayout) -> None:
    partial = opened(layout)
    write(partial, 0, 2560)
    write(partial, 2560, 3000)
    partial.keep()
    partial = opened(layout)
    assert partial.is_resumed
    assert partial.contiguous_bytes == 3000
    assert partial.is_behind
    write(partial, 3000, len(CONTENT))
    assert all(part.is_complete for part in partial.parts)
    finish(partial)
    assert layout.blob(DIGEST).read_bytes() == CONTENT
    assert [path.name for path in layout.blobs.iterdir()] == [DIGEST.file_name]


def test_a_download_of_ollama_is_taken_over(layout: StoreLayout) -> None:
    layout.blobs.mkdir()
    blob = layout.blobs / DIGEST.file_name
    data = bytearray(len(CONTENT))
    data[:700] = CONTENT[:700]
    data[5000:5100] = CONTENT[5000:5100]
    blob.with_name(f"{blob.name}-partial").write_bytes(data)
    for number, (offset, size, completed) in enumerate([(0, 5000, 700), (5000, len(CONTENT) - 5000, 100)]):
        state = {"N": number, "Offset": offset, "Size": size, "Completed": completed}
        blob.with_name(f"{blob.name}-partial-{number}").write_text(json.dumps(state) + "\n")
    partial = opened(layout)
    assert [part.completed for part in partial.parts] == [700, 100]
    write(partial, 700, 5000)
    write(partial, 5100, len(CONTENT))
    finish(partial)
    assert blob.read_bytes() == CONTENT


@pytest.mark.parametrize("damage", ["state", "missing state", "other size", "no data", "two of a number"])
def test_files_that_do_not_fit_are_replaced(layout: StoreLayout, damage: str) -> None:
    partial = opened(layout)
    write(partial, 0, 2000)
    partial.keep()
    data = layout.blobs / f"{DIGEST.file_name}-partial"
    state = data.with_name(f"{data.name}-1")
    match damage:
        case "state":
            state.write_bytes(b"{")
        case "missing state":
            state.unlink()
        case "other size":
            data.write_bytes(b"short")
        case "no data":
            data.unlink()
        case "two of a number":
            state.write_text(state.read_text().replace('"N":1', '"N":0'))
    partial = opened(layout)
    assert not partial.is_resumed
    write(partial, 0, len(CONTENT))
    finish(partial)
    assert [path.name for path in layout.blobs.iterdir()] == [DIGEST.file_name]


def test_states_that_become_shorter_stay_readable(layout: StoreLayout) -> None:
    partial = opened(layout)
    write(partial, 0, 2560)
    partial.close()
    (layout.blobs / f"{DIGEST.file_name}-partial").write_bytes(b"")
    opened(layout).close()
    assert [state["Completed"] for state in states(layout)] == [0, 0, 0, 0]


def test_wrong_content_never_gets_the_name(layout: StoreLayout) -> None:
    partial = opened(layout)
    partial.write(0, [b"\0" * len(CONTENT)])
    with pytest.raises(BlobMismatch, match="file must be downloaded again"):
        finish(partial)
    assert not list(layout.blobs.iterdir())


def test_nothing_fetched_leaves_nothing(layout: StoreLayout) -> None:
    opened(layout).keep()
    assert not list(layout.blobs.iterdir())


def test_an_empty_blob_is_one(tmp_path: Path) -> None:
    layout = StoreLayout(tmp_path)
    partial = PartialFile(layout, Digest(hashlib.sha256(b"").hexdigest()), 0, SIZES)
    partial.open()
    finish(partial)
    assert [path.stat().st_size for path in layout.blobs.iterdir()] == [0]


def test_two_programs_do_not_write_one_file(layout: StoreLayout) -> None:
    partial = opened(layout)
    write(partial, 0, 10)
    other = PartialFile(layout, DIGEST, len(CONTENT), SIZES)
    with pytest.raises(StoreError, match="another program is fetching this file"):
        other.open()
    other.keep()
    assert states(layout)[0]["Completed"] == 10
    partial.close()


def test_room_is_looked_for_before_anything_is_written(layout: StoreLayout) -> None:
    partial = PartialFile(layout, DIGEST, 1 << 60, SIZES)
    with pytest.raises(DiskFull, match=str(1 << 60)):
        partial.open()
    partial.keep()
    assert not list(layout.blobs.iterdir())


def test_what_is_there_needs_no_room(layout: StoreLayout) -> None:
    assert missing_bytes(layout, DIGEST, 1 << 20) == 1 << 20
    partial = PartialFile(layout, DIGEST, 1 << 20, PartSizes())
    partial.open()
    partial.write(0, [b"x" * (1 << 19)])
    partial.close()
    assert missing_bytes(layout, DIGEST, 1 << 20) <= 1 << 20
