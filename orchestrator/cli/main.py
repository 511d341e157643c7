"""The entry of ``orch``: an interrupt while Python still reads the program is as quiet as any later one.

Python would print where it was. From the first call to the end Ctrl-C is an exit status and nothing else, and
hardly anything is imported before.
"""

from __future__ import annotations

import os
import signal

TYPE_CHECKING = False  # `typing` itself takes longer to import than the rest
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType

INTERRUPTED = 130
"""What a shell tells of a command that SIGINT has ended."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line; gives the exit status. The process is to end then."""
    signal.signal(signal.SIGINT, _leave)
    from orchestrator.cli.program import main as run

    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        return run(argv)
    except KeyboardInterrupt:
        return INTERRUPTED
    finally:
        signal.signal(signal.SIGINT, _leave)


def _leave(_number: int, _frame: FrameType | None) -> None:
    os._exit(INTERRUPTED)
