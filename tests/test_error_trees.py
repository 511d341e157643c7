"""The trees of errors that docstrings of ``errors.py`` draw: nothing is missing or hangs elsewhere."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import orchestrator

ROOT = Path(orchestrator.__file__).parent
_DRAWN = re.compile(r"^ {4}(?P<branch>[│├└─ ]*)(?P<name>[A-Z]\w+)\b")


def docstring(file: Path) -> str:
    return ast.get_docstring(ast.parse(file.read_text())) or ""


TREES = [file for file in sorted(ROOT.rglob("errors.py")) if "\n::\n" in docstring(file)]


def drawn(text: str) -> dict[str, str]:
    """Name → parent of every error in a tree; the parent of a root is empty."""
    parents: dict[str, str] = {}
    open_branches: list[tuple[int, str]] = [(-1, "")]
    for line in text.partition("\n::\n")[2].splitlines():
        if (found := _DRAWN.match(line)) is None:
            continue
        while open_branches[-1][0] >= len(found["branch"]):
            open_branches.pop()
        parents[found["name"]] = open_branches[-1][1]
        open_branches.append((len(found["branch"]), found["name"]))
    return parents


def classes(file: Path) -> Iterator[tuple[str, list[str]]]:
    """The public classes of a module with the names of their bases."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield node.name, [base.id for base in node.bases if isinstance(base, ast.Name)]


def errors_of(file: Path) -> dict[str, list[str]]:
    """The errors of a module, and those of its package that are kinds of them, with their bases."""
    found = dict(classes(file))
    if file.parent != ROOT:
        elsewhere = [each for other in file.parent.rglob("*.py") if other != file for each in classes(other)]
        for _ in elsewhere:
            found |= {name: bases for name, bases in elsewhere if found.keys() & set(bases)}
    return found


@pytest.mark.parametrize("file", TREES, ids=lambda file: file.parent.name)
def test_a_tree_draws_every_error_below_its_base(file: Path) -> None:
    parents, errors = drawn(docstring(file)), errors_of(file)
    assert errors.keys() - parents.keys() == set()
    assert {name for name, parent in parents.items() if parent} - errors.keys() == set()
    assert {
        name: parents[name] for name in errors if parents[name] and parents[name] not in errors[name]
    } == {}


def test_there_are_trees() -> None:
    assert len(TREES) > 5
    text = "Some.\n\n::\n\n    Root    of all\n    ├── One\n    │   └── Two  a leaf\n    └── Three\n"
    assert drawn(text) == {"Root": "", "One": "Root", "Two": "One", "Three": "Root"}
