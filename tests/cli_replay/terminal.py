"""A program in a terminal of its own: keys go in, the screen is looked at."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyte

COLUMNS, ROWS = 100, 30

_KEYS = {
    "Enter": "\r",
    "Tab": "\t",
    "Up": "\x1b[A",
    "Down": "\x1b[B",
    "Right": "\x1b[C",
    "Left": "\x1b[D",
    "Delete": "\x1b[3~",
    "BSpace": "\x7f",
    "M-BSpace": "\x1b\x7f",
}
_PASTE = 2004 << 5
"""The mode in which a program wants to be told where pasted text begins and ends."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One character of the screen and how it is drawn."""

    text: str
    color: str
    bold: bool


class Terminal:
    """A screen in memory, with a program that thinks it is real."""

    def __init__(self, process: subprocess.Popen[bytes], descriptor: int) -> None:
        self.process = process
        self._descriptor = descriptor
        self._screen = pyte.Screen(COLUMNS, ROWS)
        self._stream = pyte.ByteStream(self._screen)
        self._is_open = True

    def press(self, key: Mapping[str, str]) -> None:
        """Type or paste what a recorded key stands for."""
        match key:
            case {"text": text}:
                self._write(text)
            case {"hex": digits}:
                self._write(bytes.fromhex(digits).decode())
            case {"paste": text}:
                text = text.replace("\n", "\r")
                self._write(f"\x1b[200~{text}\x1b[201~" if _PASTE in self._screen.mode else text)
            case {"key": name}:
                self._write(_bytes_of(name))

    def wait_until(self, is_right: Callable[[], bool], seconds: float) -> bool:
        """Watch the screen until it is right; False when that takes too long or the program is gone."""
        deadline = time.monotonic() + seconds
        while not is_right():
            if not self._read(deadline - time.monotonic()):
                return is_right()
        return True

    @property
    def text(self) -> str:
        """The rows without blanks and empty rows at the end; the exit status when all is over."""
        rows = [row.rstrip() for row in self._screen.display]
        if not self._is_open:
            return "\n".join([*rows[: self._screen.cursor.y], f"<EXIT {self.process.wait()}>"])
        return "\n".join(rows).rstrip("\n")

    @property
    def cursor(self) -> list[int]:
        """Column, and row counted from the last one of ``text``."""
        if not self._is_open:
            return [0, 1]
        return [self._screen.cursor.x, self._screen.cursor.y - self.text.count("\n")]

    def cells(self) -> Iterator[Cell]:
        """Every character that is not blank."""
        return _cells(self._screen)

    def _write(self, text: str) -> None:
        os.write(self._descriptor, text.encode())

    def _read(self, seconds: float) -> bool:
        """Show what the program writes within so many seconds; False when it writes nothing."""
        if not self._is_open or not select.select([self._descriptor], [], [], max(seconds, 0))[0]:
            return False
        try:
            written = os.read(self._descriptor, 1 << 16)
        except OSError:  # how Linux says that the other side is closed
            written = b""
        self._is_open = bool(written)
        self._stream.feed(written)
        return self._is_open


@contextmanager
def terminal(command: Sequence[str], *, environment: Mapping[str, str], folder: Path) -> Iterator[Terminal]:
    """Run a command in a new terminal. On leaving, it has ended."""
    ours, theirs = pty.openpty()
    try:
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        process = subprocess.Popen(
            command,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=folder,
            env=dict(environment),
            start_new_session=True,
            preexec_fn=_take_terminal,
        )
        os.close(theirs)
        try:
            yield Terminal(process, ours)
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait()
    finally:
        os.close(ours)


def colored_cells(text: str) -> list[Cell]:
    """The characters of a text with colour escapes."""
    screen = pyte.Screen(COLUMNS, ROWS)
    pyte.Stream(screen).feed(text.replace("\n", "\r\n"))
    return list(_cells(screen))


def _take_terminal() -> None:
    """Make standard input the terminal that keys and signals come from."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def _cells(screen: Any) -> Iterator[Cell]:
    for row in range(ROWS):
        for column in range(COLUMNS):
            cell = screen.buffer[row][column]
            if cell.data.strip():
                yield Cell(cell.data, cell.fg, cell.bold)


def _bytes_of(name: str) -> str:
    if name in _KEYS:
        return _KEYS[name]
    modifier, _, letter = name.partition("-")
    return chr(ord(letter.upper()) - ord("@")) if modifier == "C" else f"\x1b{letter}"
