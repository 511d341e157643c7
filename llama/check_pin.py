"""Check a llama-server against what orch relies on: flags, log lines, members of answers.

    .venv/bin/python llama/check_pin.py [path/to/llama-server]

Without a path, the engine a daemon would run is checked. The exit status is 1 when anything does not hold.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from orchestrator.config import Config
from orchestrator.doctor.contract import check
from orchestrator.doctor.examination import version_of
from orchestrator.errors import OrchestratorError
from orchestrator.runners.engines import EngineKind, find_engine


def main(paths: list[str]) -> int:
    """Print every finding; the exit status."""
    environ = dict(os.environ)
    try:
        config = Config.from_environ(environ)
        named = Path(paths[0]) if paths else config.llama_server
        only = None if config.engine == "auto" else EngineKind(config.engine)
        engine = find_engine(environ, named=named, only=only)
    except OrchestratorError as error:
        print(f"Error: {error} ({error.hint})", file=sys.stderr)
        return 1
    print(f"{' '.join(engine.argv_prefix)}: {version_of(engine, environ)}")
    broken = 0
    for finding in check(engine, environ):
        print(f"{'ok ' if finding.holds else 'NO '} {finding.subject} {finding.problem}".rstrip())
        broken += not finding.holds
    print(f"{broken} broken" if broken else "all of it holds")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
