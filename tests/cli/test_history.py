"""The lines typed in earlier sessions."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.cli.history import History


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "below" / "history"


def test_the_file_is_made_for_its_owner_alone(path: Path) -> None:
    History(path, saving=True)
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.read_text() == ""


def test_lines_are_kept_in_their_order(path: Path) -> None:
    history = History(path, saving=True)
    history.add("one")
    history.add("two")
    assert path.read_text() == "one\ntwo\n"
    assert History(path, saving=True).lines == ["one", "two"]
    assert path.stat().st_mode & 0o777 == 0o600


def test_blanks_around_old_lines_and_empty_ones_go(path: Path) -> None:
    path.parent.mkdir()
    path.write_text("one\n\n  two  \n")
    assert History(path, saving=True).lines == ["one", "two"]
    assert path.read_text() == "one\ntwo\n"


def test_only_the_last_hundred_are_kept(path: Path) -> None:
    history = History(path, saving=True)
    for number in range(120):
        history.add(str(number))
    assert path.read_text().split() == [str(number) for number in range(20, 120)]


def test_without_saving_the_file_stays_as_it_is(path: Path) -> None:
    history = History(path, saving=False)
    history.add("one")
    assert path.read_text() == ""
    assert history.lines == ["one"]
    history.saving = True
    history.add("two")
    assert path.read_text() == "one\ntwo\n"


def test_blank_input_is_not_remembered(path: Path) -> None:
    history = History(path, saving=True)
    history.add("   ")
    assert history.lines == []
