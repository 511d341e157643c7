"""What is asked before something is removed."""

from __future__ import annotations

import sys

from orchestrator.errors import OrchestratorError


class NobodyToAsk(OrchestratorError):
    """Something has to be confirmed, and nobody sits at a terminal."""

    def __init__(self) -> None:
        super().__init__("nothing was removed: pass --yes to remove without being asked")


def confirmed() -> bool:
    """Ask whether to remove what has just been shown. Raises ``NobodyToAsk``."""
    if not sys.stdin.isatty():
        raise NobodyToAsk
    try:
        return input("Remove? [y/N] ").strip().lower() in ("y", "yes")
    except EOFError:
        return False
