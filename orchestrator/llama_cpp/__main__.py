"""``python -m orchestrator.llama_cpp --project DIR --into DIR``: the source to build, for CMake."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from orchestrator.errors import OrchestratorError
from orchestrator.llama_cpp.cache import BuildCache
from orchestrator.llama_cpp.project import Project
from orchestrator.llama_cpp.sources import prepare


def main() -> int:
    """Prepare the source; the exit status."""
    parser = argparse.ArgumentParser(prog="orchestrator.llama_cpp")
    parser.add_argument("--project", type=Path, required=True)
    parser.add_argument("--into", type=Path, required=True)
    given = parser.parse_args()
    environ = dict(os.environ)
    downloads = BuildCache.of(environ).downloads
    try:
        prepare(Project(given.project), given.into, downloads=downloads, environ=environ, say=print)
    except OrchestratorError as error:
        sys.stderr.write(f"Error: {error}\n{error.hint or ''}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
