"""The lines typed in earlier sessions, kept in a file: one a line, the last hundred."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

_MOST = 100


class History:
    """Lines typed; ``saving`` is switched by ``/set history``. Only the owner may read the file."""

    def __init__(self, path: Path, *, saving: bool) -> None:
        self._path = path
        self.saving = saving
        path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        path.touch(mode=0o600)
        text = path.read_text(encoding="utf-8", errors="replace")
        self._lines = [line.strip() for line in text.splitlines() if line.strip()][-_MOST:]
        self._save()

    @property
    def lines(self) -> Sequence[str]:
        """The lines, oldest first."""
        return self._lines

    def add(self, text: str) -> None:
        """Remember what was typed; blank input is not worth it."""
        if text.strip():
            self._lines = [*self._lines, text][-_MOST:]
            self._save()

    def _save(self) -> None:
        if not self.saving:
            return
        temporary = self._path.with_name(f"{self._path.name}.tmp")
        temporary.touch(mode=0o600)
        temporary.write_text("".join(f"{line}\n" for line in self._lines), encoding="utf-8")
        temporary.replace(self._path)
