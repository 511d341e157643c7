"""The folders in which a program looks for its libraries."""

from __future__ import annotations

import os
from collections.abc import Sequence

import pytest

from orchestrator.process.libraries import VARIABLE, library_path


@pytest.mark.parametrize(
    ("folders", "there", "found"),
    [
        (["/a"], None, ["/a"]),
        (["/a", "/b"], ["/c"], ["/a", "/b", "/c"]),
        (["/a", "/b", "/a"], ["/c", "/b"], ["/a", "/b", "/c"]),
        (["/a"], ["", "/c", ""], ["/a", "/c"]),
    ],
)
def test_the_programs_own_folders_come_first(
    folders: Sequence[str], there: Sequence[str] | None, found: Sequence[str]
) -> None:
    environ = {"HOME": "/h"} if there is None else {VARIABLE: os.pathsep.join(there)}
    assert library_path(folders, environ) == {VARIABLE: os.pathsep.join(found)}
