"""``orch serve``: the daemon in this process."""

from __future__ import annotations

import os

from orchestrator import daemon
from orchestrator.config import Config


def serve() -> int:
    """Serve until told to stop; gives the exit status."""
    return daemon.serve(Config.from_environ(os.environ))
