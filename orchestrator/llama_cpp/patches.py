"""Our changes to llama.cpp: unified diffs, applied exactly or not at all.

No program is needed for it, and a patch that does not fit is told by file and hunk. A hunk may have moved
within its file; its lines must be there as they are. What is applied already is left alone, so that applying
again does no harm.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from orchestrator.llama_cpp.errors import BrokenPatch

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_NOWHERE = "/dev/null"

Lines = tuple[str, ...]
"""Lines of a file without their ends. A last element that is empty is the newline at the end of the file."""


@dataclass(frozen=True, slots=True)
class Hunk:
    """One place that changes."""

    header: str
    line: int
    """Where it was, from 0."""
    old: Lines
    new: Lines
    at_start: bool = False
    """Nothing unchanged stands before it, so it is at the start of the file."""
    at_end: bool = False

    @property
    def reversed(self) -> Hunk:
        """What takes the change back."""
        return replace(self, old=self.new, new=self.old)

    def place(self, lines: Sequence[str], *, expected: int, first: int) -> int | None:
        """Where it fits into ``lines``, not before ``first``, nearest to ``expected``."""
        last = len(lines) - len(self.old)
        end = last - 1 if lines and not lines[-1] else last  # before the mark of a newline at the end
        places = range(first, last + 1)
        if self.at_start:
            places = range(first, min(last, 0) + 1)
        if self.at_end:
            places = range(max(end, places.start), min(end + 1, places.stop))
        near = sorted(places, key=lambda place: abs(place - expected))
        return next((p for p in near if tuple(lines[p : p + len(self.old)]) == self.old), None)


@dataclass(frozen=True, slots=True)
class FilePatch:
    """The changes of one file."""

    path: PurePosixPath
    creates: bool
    hunks: tuple[Hunk, ...]


@dataclass(slots=True)
class _Reading:
    """What has been read of a hunk."""

    header: str
    line: int
    old_left: int
    new_left: int
    old: list[str] = field(default_factory=list)
    new: list[str] = field(default_factory=list)
    signs: list[str] = field(default_factory=list)

    def feed(self, line: str) -> None:
        sign, text = line[:1], line[1:]
        self.signs.append(sign.strip())
        if sign in ("", " ", "-"):
            self.old.append(text)
            self.old_left -= 1
        if sign in ("", " ", "+"):
            self.new.append(text)
            self.new_left -= 1

    def hunk(self) -> Hunk:
        return Hunk(
            self.header,
            max(self.line - 1, 0),
            tuple(self.old),
            tuple(self.new),
            at_start=bool(self.signs[0]),
            at_end=bool(self.signs[-1]),
        )


def parse(text: str, name: str) -> tuple[FilePatch, ...]:
    """The changes in a diff; ``name`` is for complaints. Raises ``BrokenPatch``."""
    files: list[FilePatch] = []
    old = new = ""
    reading: _Reading | None = None
    hunks: list[Hunk] = []
    for line in text.split("\n"):
        if reading is not None:
            if not line.startswith("\\"):  # "\ No newline at end of file"
                reading.feed(line)
            if not (reading.old_left > 0 or reading.new_left > 0):
                hunks.append(reading.hunk())
                files[-1] = FilePatch(files[-1].path, files[-1].creates, tuple(hunks))
                reading = None
        elif line.startswith("--- "):
            old = _path(line)
        elif line.startswith("+++ "):
            new = _path(line)
            if new == _NOWHERE or ".." in PurePosixPath(new).parts:
                raise BrokenPatch(f"{name}: {new or old}: files are changed and made, not removed")
            hunks = []
            files.append(FilePatch(PurePosixPath(new), old == _NOWHERE, ()))
        elif match := _HUNK.match(line):
            if not files:
                raise BrokenPatch(f"{name}: a hunk stands before the name of its file: {line}")
            start, old_count, _, new_count = match.groups()
            reading = _Reading(line, int(start), int(old_count or 1), int(new_count or 1))
    if reading is not None or not files:
        raise BrokenPatch(f"{name}: not a whole unified diff")
    return tuple(files)


def apply_all(root: Path, patches: Iterable[Path]) -> tuple[str, ...]:
    """Apply patch files to the tree at ``root``; names of those that were not applied already.

    A patch is written only when the whole of it fits. Raises ``BrokenPatch``.
    """
    return tuple(path.name for path in patches if _apply(root, path.read_text(encoding="utf-8"), path.name))


def _apply(root: Path, text: str, name: str) -> bool:
    files = parse(text, name)
    if all(_is_applied(root, file) for file in files):
        return False
    changed = {root / file.path: _changed(root, file, name) for file in files}
    for path, content in changed.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8", newline="\n")
    return True


def _is_applied(root: Path, file: FilePatch) -> bool:
    path = root / file.path
    if not path.is_file():
        return False
    lines = _lines(path)
    if file.creates:
        return lines[:-1] == file.hunks[0].new if file.hunks else True
    return _patched(lines, [hunk.reversed for hunk in file.hunks]) is not None


def _changed(root: Path, file: FilePatch, name: str) -> str:
    """The new content of a file."""
    path = root / file.path
    if file.creates:
        if path.exists():
            raise BrokenPatch(f"{name} does not apply: {file.path} is to be made, and there is one already")
        return "".join(f"{line}\n" for hunk in file.hunks for line in hunk.new)
    if not path.is_file():
        raise BrokenPatch(f"{name} does not apply: there is no {file.path}")
    lines: Sequence[str] = _lines(path)
    done = _patched(lines, file.hunks)
    if done is None:
        number, hunk = _first_misfit(lines, file.hunks)
        of = f"hunk {number} of {len(file.hunks)}"
        raise BrokenPatch(
            f"{name} does not apply: {file.path}, {of} ({hunk.header}): its lines are not there"
        )
    return "\n".join(done)


def _lines(path: Path) -> Lines:
    return tuple(path.read_text(encoding="utf-8").split("\n"))


def _patched(lines: Sequence[str], hunks: Sequence[Hunk]) -> list[str] | None:
    """``lines`` with all hunks applied; ``None`` if one does not fit."""
    result, shift, done = list(lines), 0, 0
    for hunk in hunks:
        place = hunk.place(result, expected=hunk.line + shift, first=done)
        if place is None:
            return None
        result[place : place + len(hunk.old)] = hunk.new
        done = place + len(hunk.new)
        shift = done - hunk.line - len(hunk.old)
    return result


def _first_misfit(lines: Sequence[str], hunks: Sequence[Hunk]) -> tuple[int, Hunk]:
    """Number, from 1, of the first hunk that does not fit."""
    count = next(n for n in range(1, len(hunks) + 1) if _patched(lines, hunks[:n]) is None)
    return count, hunks[count - 1]


def _path(line: str) -> str:
    """The path in a ``---`` or ``+++`` line, without ``a/`` or ``b/``."""
    path = line[4:].split("\t")[0].strip()
    return path if path == _NOWHERE else path.partition("/")[2]
