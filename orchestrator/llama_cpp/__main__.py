"""``python -m orchestrator.llama_cpp --project DIR --into DIR``: the source to build, for CMake."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from pathlib import Path

from orchestrator.errors import OrchestratorError
from orchestrator.llama_cpp.cache import BuildCache
from orchestrator.llama_cpp.project import Project
from orchestrator.llama_cpp.sources import prepare
from orchestrator.llama_cpp.toolkits import check_toolkit
from orchestrator.llama_cpp.tools import search_path


def main() -> int:
    """Prepare the source, unless there is no toolkit for what CMake is to build of it; the exit status."""
    parser = argparse.ArgumentParser(prog="orchestrator.llama_cpp")
    parser.add_argument("--project", type=Path, required=True)
    parser.add_argument("--into", type=Path, required=True)
    given = parser.parse_args()
    environ = dict(os.environ)
    downloads = BuildCache.of(environ).downloads
    project = Project(given.project)
    preset = given.into.parent.name  # the folder of a build is named after its preset, see CMakePresets.json
    try:
        if cmake := shutil.which("cmake", path=search_path(environ)):
            check_toolkit(project, preset, [cmake], {**environ, "PATH": search_path(environ, preset)})
        prepare(project, given.into, downloads=downloads, environ=environ, say=print)
    except OrchestratorError as error:
        sys.stderr.write(f"Error: {error}\n{error.hint or ''}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
