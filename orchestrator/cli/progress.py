"""Progress on stderr: spinners and bars, one line each, redrawn in place on a terminal.

Where stderr is not a terminal, a line is written once, when it no longer changes.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from types import TracebackType
from typing import Protocol, Self, TextIO

from orchestrator.cli.cells import cells
from orchestrator.units import format_bytes

_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_TICK_SECONDS = 0.1
_SAMPLES = 10
_SAMPLE_SECONDS = 1.0

_BEGIN, _END = "\x1b[?2026h", "\x1b[?2026l"  # the terminal shows what stands between them at once
_HIDE, _SHOW = "\x1b[?25l", "\x1b[?25h"
_UP, _HOME, _CLEAR_BELOW = "\x1b[A", "\x1b[1G", "\x1b[J"


class Line(Protocol):
    """One line of a display."""

    @property
    def settled(self) -> bool:
        """It will not change any more."""

    def settle(self) -> None:
        """The work behind it has ended."""

    def text(self, width: int, now: float) -> str:
        """How it looks on a terminal of that width."""


class Spinner:
    """A message with a turning mark until it settles."""

    def __init__(self, message: str, now: float) -> None:
        self.message = message
        self._started = now
        self.settled = False

    def settle(self) -> None:
        """Take the mark away."""
        self.settled = True

    def text(self, width: int, now: float) -> str:
        """The message and, while it runs, the mark of the moment."""
        message = f"{self.message} " if self.message else ""
        if self.settled:
            return message
        turn = int((now - self._started) / _TICK_SECONDS)
        return f"{message}{_FRAMES[turn % len(_FRAMES)]} "


class Bar:
    """How much of a known number of bytes is done, how fast it goes and how long it will take."""

    def __init__(self, message: str, maximum: int, done: int, now: float) -> None:
        self._message = message
        self._maximum = maximum
        self._done = done
        self._samples = [(now, done)]

    @property
    def settled(self) -> bool:
        """All is done."""
        return self._done >= self._maximum

    def settle(self) -> None:
        """Nothing to change: a bar that stops short shows how far it got."""

    def fill(self) -> None:
        """All is done, although nobody said so."""
        self._done = self._maximum

    def advance(self, done: int, now: float) -> None:
        """So much is done in total."""
        self._done = min(done, self._maximum)
        if now - self._samples[-1][0] > _SAMPLE_SECONDS:
            self._samples = [*self._samples, (now, self._done)][-_SAMPLES:]

    def text(self, width: int, now: float) -> str:
        """Message, percentage, bar, amounts, rate and remaining time."""
        part = self._done / self._maximum if self._maximum else 1.0
        before = f"{self._message} {part * 100:3.0f}%"
        after = self._amounts()
        space = max(width - cells(before) - len(after) - 5, 0)
        filled = "█" * int(space * part)
        return f"{before} ▕{filled:<{space}}▏ {after}"

    def _amounts(self) -> str:
        maximum = f"{format_bytes(self._maximum):>6}"
        if self.settled:
            return maximum + " " * 25
        amounts = f"{format_bytes(self._done):>6}/{maximum}"
        if not (rate := self._rate()):
            return amounts + " " * 18
        remaining = _remaining(int((self._maximum - self._done) / rate))
        return f"{amounts}  {format_bytes(int(rate)):>6}/s  {remaining:>6}"

    def _rate(self) -> float:
        (start, before), (end, after) = self._samples[0], self._samples[-1]
        return (after - before) / (end - start) if end > start else 0.0


def _remaining(seconds: int) -> str:
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    if hours >= 100:
        return "99h+"
    if hours:
        return f"{hours}h{minutes}m"
    return f"{minutes}m{seconds}s" if minutes else f"{seconds}s"


class Display:
    """The lines of one command, a context manager. ``keep`` says whether they stay when it ends.

    An error that comes before there is a line is set off by an empty one, as Ollama does.
    """

    def __init__(self, *, keep: bool = True, stream: TextIO | None = None) -> None:
        self._keep = keep
        self._stream = stream or sys.stderr
        self._live = self._stream.isatty()
        self._lines: list[Line] = []
        self._rows = 0
        self._written = 0
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._ticker = threading.Thread(target=self._tick, name="progress", daemon=True)

    def __enter__(self) -> Self:
        if self._live:
            self._ticker.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def spinner(self, message: str = "") -> Spinner:
        """Add a spinner; the line before settles."""
        spinner = Spinner(message, time.monotonic())
        self._add(spinner)
        return spinner

    def bar(self, message: str, maximum: int, done: int = 0) -> Bar:
        """Add a bar; a spinner before it settles."""
        bar = Bar(message, maximum, done, time.monotonic())
        self._add(bar)
        return bar

    def close(self) -> None:
        """Draw the last state, or take everything away. May be called twice."""
        if self._ended.is_set():
            return
        self._ended.set()
        for line in self._lines:
            line.settle()
        if self._live:
            self._ticker.join()
            self._draw()
        if self._keep and (self._live or not self._lines):
            self._stream.write("\n")
        self._write_settled(everything=True)

    def _add(self, line: Line) -> None:
        with self._lock:
            if self._lines:
                self._lines[-1].settle()
            self._lines.append(line)
        self._write_settled()

    def _write_settled(self, *, everything: bool = False) -> None:
        """Where nothing can be redrawn: write the lines that come next and will not change."""
        if self._live or not self._keep:
            return
        while self._written < len(self._lines) and (everything or self._lines[self._written].settled):
            text = self._lines[self._written].text(_size(self._stream)[0], time.monotonic())
            self._stream.write(text.rstrip() + "\n")
            self._written += 1
        self._stream.flush()

    def _tick(self) -> None:
        while not self._ended.wait(_TICK_SECONDS):
            self._draw()

    def _draw(self) -> None:
        """Write the newest lines over those written last time."""
        width, height = _size(self._stream)
        now = time.monotonic()
        with self._lock:
            texts = [line.text(width, now) for line in self._lines[-height:]]
        if not self._ended.is_set():
            texts = [text[: width - 1] for text in texts]  # a line that wraps could not be written over
        elif not self._keep:
            texts = []
        back = _UP * max(self._rows - 1, 0) + _HOME + _CLEAR_BELOW
        self._stream.write(_BEGIN + _HIDE + back + "\n".join(texts) + _SHOW + _END)
        self._stream.flush()
        self._rows = len(texts)


def _size(stream: TextIO) -> tuple[int, int]:
    """Columns and rows of the terminal, if it is one."""
    try:
        size = os.get_terminal_size(stream.fileno())
    except OSError:
        return 80, 24
    return size.columns, size.lines
