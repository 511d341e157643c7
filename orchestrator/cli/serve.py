"""``orch serve``: the daemon in this process."""

from __future__ import annotations

import os

from orchestrator.config import Config
from orchestrator.daemon import serve as serve_until_stopped


def serve() -> int:
    """Serve until told to stop; gives the exit status."""
    return serve_until_stopped(Config.from_environ(os.environ))
