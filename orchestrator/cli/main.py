"""The program ``orch``: finds the command, runs it, turns errors into one line and an exit status."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import orchestrator
from orchestrator.errors import OrchestratorError


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line; gives the exit status."""
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        match words:
            case ["serve" | "start"]:
                return serve()
            case ["--version" | "-v"]:
                sys.stdout.write(f"ollama version is {orchestrator.__version__}\n")
                return 0
            case _:
                raise OrchestratorError(f'unknown command "{words[0] if words else ""}" for "orch"')
    except OrchestratorError as error:
        sys.stderr.write(f"Error: {error}\n")
        return 1


def serve() -> int:
    """Run the daemon in this process until it is told to stop."""
    from orchestrator import daemon
    from orchestrator.config import Config

    return daemon.serve(Config.from_environ(os.environ))
