"""Writing files of views."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.compat.errors import CannotTranslate
from orchestrator.compat.layout import FileLayout, Placed
from orchestrator.compat.plan import Computed, Operation, PlannedTensor, Stretch
from orchestrator.compat.writer import Stopped, opened, write_file

SOURCE = bytes(range(256)) * 100


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("source") / "blob"
    path.write_bytes(SOURCE)
    return path


def write(source: Path, target: Path, layout: FileLayout, stop: threading.Event | None = None) -> bytes:
    with opened(source) as file:
        write_file(target, layout, file, alignment=32, stop=stop or threading.Event())
    return target.read_bytes()


def of(*stretches: Stretch) -> PlannedTensor:
    return PlannedTensor("t", (sum(stretch.size_bytes for stretch in stretches),), "I8", stretches)


@given(start=st.integers(0, 9000), size=st.integers(1, 16000), head=st.integers(0, 9000))
@settings(deadline=None)
def test_stretches_arrive_as_they_are(
    start: int, size: int, head: int, source: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    layout = FileLayout(b"h" * head, (Placed(of(Stretch(start, size)), head),))
    target = tmp_path_factory.mktemp("target") / "view"
    assert write(source, target, layout) == b"h" * head + SOURCE[start : start + size]


def test_parts_of_a_tensor_follow_one_another(source: Path, tmp_path: Path) -> None:
    tensor = of(Stretch(100, 10), Stretch(5, 3), Stretch(100, 10))
    content = write(source, tmp_path / "view", FileLayout(b"", (Placed(tensor, 0),)))
    assert content == SOURCE[100:110] + SOURCE[5:8] + SOURCE[100:110]


def test_gaps_are_zeros(source: Path, tmp_path: Path) -> None:
    layout = FileLayout(b"h", (Placed(of(Stretch(1, 2)), 8), Placed(of(Stretch(7, 2)), 64)))
    content = write(source, tmp_path / "view", layout)
    assert content == b"h" + bytes(7) + SOURCE[1:3] + bytes(54) + SOURCE[7:9]


def test_a_source_that_was_cut_short_is_an_error(source: Path, tmp_path: Path) -> None:
    layout = FileLayout(b"", (Placed(of(Stretch(len(SOURCE) - 5, 10)), 0),))
    with pytest.raises(CannotTranslate, match="shorter than its header says"):
        write(source, tmp_path / "view", layout)


def test_work_of_the_wrong_size_is_an_error(source: Path, tmp_path: Path) -> None:
    tensor = PlannedTensor("t", (8,), "F32", Computed(Operation.ZEROS, arguments={"count": 7}))
    with pytest.raises(CannotTranslate, match="size it should have"):
        write(source, tmp_path / "view", FileLayout(b"", (Placed(tensor, 0),)))


def test_work_that_nobody_waits_for_ends(source: Path, tmp_path: Path) -> None:
    stop = threading.Event()
    stop.set()
    with pytest.raises(Stopped):
        write(source, tmp_path / "view", FileLayout(b"", (Placed(of(Stretch(0, 10)), 0),)), stop)


def test_nothing_is_written_over(source: Path, tmp_path: Path) -> None:
    (tmp_path / "view").write_bytes(b"mine")
    with pytest.raises(FileExistsError):
        write(source, tmp_path / "view", FileLayout(b"", ()))
