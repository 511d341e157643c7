"""Spinners, bars and where they are shown."""

from __future__ import annotations

import io

import pytest

from orchestrator.cli.follow import follow
from orchestrator.cli.progress import Bar, Display, Spinner
from orchestrator.client.wire import Progress
from tests.cli_replay.screen import visible


class FakeTerminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_spinner_turns_until_it_settles() -> None:
    spinner = Spinner("pulling manifest", now=5.0)
    assert [spinner.text(80, 5.0 + tenths / 10) for tenths in (0, 1.05, 10.05)] == [
        "pulling manifest ⠋ ",
        "pulling manifest ⠙ ",
        "pulling manifest ⠋ ",
    ]
    spinner.settle()
    assert spinner.text(80, 9.0) == "pulling manifest "


def test_a_spinner_without_a_message_is_its_mark() -> None:
    assert Spinner("", now=0.0).text(80, 0.0) == "⠋ "


def test_a_bar_shows_amounts_rate_and_remaining_time() -> None:
    bar = Bar("pulling 6a0746a1ec1a:", 4_700_000_000, 0, now=0.0)
    bar.advance(2_065_000_000, now=59.0)
    text = bar.text(100, 59.0)
    assert text.startswith("pulling 6a0746a1ec1a:  44% ▕██████████")
    assert text.endswith("▏ 2.1 GB/4.7 GB   35 MB/s   1m15s")
    assert len(text) == 99


def test_a_bar_without_a_rate_leaves_its_place_blank() -> None:
    text = Bar("pulling 6a0746a1ec1a:", 1_000, 10, now=0.0).text(80, 0.0)
    assert text.endswith("▏   10 B/  1 KB" + " " * 18)
    assert len(text) == 79


def test_a_complete_bar_shows_the_size_alone() -> None:
    bar = Bar("pulling 6a0746a1ec1a:", 98_000_000, 0, now=0.0)
    bar.fill()
    assert bar.text(80, 3.0) == f"pulling 6a0746a1ec1a: 100% ▕{'█' * 18}▏  98 MB{' ' * 25}"


def test_a_bar_cannot_pass_its_end() -> None:
    bar = Bar("x", 10, 0, now=0.0)
    bar.advance(12, now=1.0)
    assert bar.settled
    assert "100%" in bar.text(80, 1.0)


@pytest.mark.parametrize(
    ("left", "shown"), [(45, "45s"), (150, "2m30s"), (3900, "1h5m"), (359_999, "99h59m"), (360_000, "99h+")]
)
def test_remaining_time_is_told_in_two_units(left: int, shown: str) -> None:
    bar = Bar("x", 2 + left, 0, now=0.0)
    bar.advance(2, now=2.0)
    assert bar.text(120, 2.0).endswith(f"  {shown:>6}")


def test_what_stays_on_a_terminal_are_the_last_states() -> None:
    stream = FakeTerminal()
    with Display(stream=stream) as display:
        display.spinner("one")
        display.spinner("two").message = "three"
    assert visible(stream.getvalue()) == "one\nthree\n"


def test_a_display_that_is_not_kept_leaves_nothing() -> None:
    stream = FakeTerminal()
    with Display(keep=False, stream=stream) as display:
        display.spinner("one")
    assert visible(stream.getvalue()) == ""


@pytest.mark.parametrize("stream", [FakeTerminal(), io.StringIO()])
def test_an_error_before_the_first_line_is_set_off(stream: io.StringIO) -> None:
    with pytest.raises(ValueError, match="wrong"), Display(stream=stream):
        raise ValueError("wrong")
    assert visible(stream.getvalue()) == "\n"


def test_where_nothing_can_be_redrawn_lines_are_written_as_they_settle() -> None:
    stream = io.StringIO()
    with Display(stream=stream) as display:
        display.spinner("one")
        assert stream.getvalue() == ""
        display.spinner("two")
        assert stream.getvalue() == "one\n"
        bar = display.bar("three", 10, 1)
        display.spinner("four")
        assert stream.getvalue() == "one\ntwo\n"
        bar.fill()
    assert [line.split()[0] for line in stream.getvalue().splitlines()] == ["one", "two", "three", "four"]
    assert "\x1b" not in stream.getvalue()


def test_only_new_statuses_get_a_line_and_bars_are_filled_at_the_end() -> None:
    events: list[Progress] = [
        {"status": "pulling manifest"},
        {"status": "pulling manifest"},
        {"status": "pulling ab", "digest": "sha256:ab", "total": 100, "completed": 40},
        {"status": "pulling ab", "digest": "sha256:ab", "total": 100, "completed": 60},
        {"status": "success"},
    ]
    stream = io.StringIO()
    with Display(stream=stream) as display:
        follow(display, events)
    lines = stream.getvalue().splitlines()
    assert [line.split(" ▕")[0] for line in lines] == ["pulling manifest", "pulling ab 100%", "success"]


def test_a_bar_stays_short_when_the_work_fails() -> None:
    def events() -> list[Progress]:
        raise ValueError("cut off")

    def work(display: Display) -> None:
        display.bar("pulling ab:", 100, 40)
        follow(display, events())

    stream = io.StringIO()
    with pytest.raises(ValueError, match="cut off"), Display(stream=stream) as display:
        work(display)
    assert stream.getvalue().startswith("pulling ab:  40% ▕")
