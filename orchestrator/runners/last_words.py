"""What an engine wrote last, where no line of its log is an error by Ollama's signs.

A library that ends the process (OpenMP, the C++ runtime, the dynamic linker) has words of its own, and so has
a command line that cannot be read. A debugger that the engine calls at its end buries them under a backtrace.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from orchestrator.runners.llama.log_reader import without_prefix
from orchestrator.runners.out_of_memory import is_quoted, says_out_of_memory

_LINES_SEARCHED = 12
_LINES_QUOTED = 3
_TROUBLE = re.compile(
    r"error|fail|abort|assert|terminate called|what\(\):|exception|invalid|insufficient|denied|refused"
    r"|cannot|can't|could not|couldn't|unable|not found|no such|libgomp:",
    re.IGNORECASE,
)
_BACKTRACE = re.compile(
    r"\[New LWP |\[Thread debugging |\[Inferior |Using host libthread_db |#\d+ |\d+\t|0x[0-9a-f]+ in "
)
_HARMLESS = "warning:"


@dataclass(slots=True)
class LastLines:
    """The latest lines of an engine's output, those of a debugger left out."""

    _lines: deque[str] = field(default_factory=lambda: deque(maxlen=_LINES_SEARCHED))

    def feed(self, line: str) -> None:
        """Keep ``line`` in place of the oldest."""
        if line and not _BACKTRACE.match(line):
            self._lines.append(line)

    @property
    def words(self) -> str:
        """The lines that tell of trouble, if any do, else the very last ones."""
        lines = _told(self._lines)
        return "\n".join((_troubled(lines) or lines)[-_LINES_QUOTED:])

    @property
    def complaint(self) -> str:
        """The same of an engine that was at work, whose other lines are about its requests."""
        return "\n".join(_troubled(_told(self._lines)[-_LINES_QUOTED:]))


def _told(lines: Iterable[str]) -> list[str]:
    """The lines that clients may be shown."""
    texts = (without_prefix(line).strip() for line in lines)
    return [text for text in texts if text and not text.startswith(_HARMLESS) and not _is_ours_alone(text)]


def _troubled(lines: Iterable[str]) -> list[str]:
    return [line for line in lines if _TROUBLE.search(line)]


def _is_ours_alone(line: str) -> bool:
    """Vulkan's own spelling of exhausted memory, which Ollama does not show."""
    return says_out_of_memory(line) and not is_quoted(line)
