"""Where a program that is started finds its shared libraries."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping

VARIABLE = {"darwin": "DYLD_LIBRARY_PATH", "win32": "PATH"}.get(sys.platform, "LD_LIBRARY_PATH")
"""The variable that lists the folders to look in."""


def library_path(folders: Iterable[str], environ: Mapping[str, str]) -> dict[str, str]:
    """The variable with ``folders`` before those that it has in ``environ``, each once."""
    there = environ.get(VARIABLE, "").split(os.pathsep)
    return {VARIABLE: os.pathsep.join(dict.fromkeys(filter(None, (*folders, *there))))}
