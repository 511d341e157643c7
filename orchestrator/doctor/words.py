"""What an engine's program says of itself, and ends."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping

from orchestrator.runners.engines import EngineInfo

_PATIENCE_S = 30.0


def words_of(engine: EngineInfo, environ: Mapping[str, str], *flags: str) -> str:
    """Its answer to ``flags``, both streams. Raises ``OSError``, ``subprocess.TimeoutExpired``."""
    answer = subprocess.run(
        [*engine.argv_prefix, *flags],
        env=dict(environ),
        cwd=engine.cwd,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=_PATIENCE_S,
        check=False,
    )
    return answer.stderr + answer.stdout
