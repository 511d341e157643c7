"""The direction of imports: packages and modules import from lower levels only."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import orchestrator

ROOT = Path(orchestrator.__file__).parent

LEVELS = (
    "errors units",
    "domain",
    "config config_page contradictions environment logs metrics wire files modelfile templates renderers "
    "parsers grammars media process llama_cpp",
    "store discovery runners",
    "registry create compat scheduler doctor",
    "inference",
    "api client",
    "daemon",
    "cli",
)

LEVEL = {unit: level for level, units in enumerate(LEVELS) for unit in units.split()}
"""Level of each package, and of each module that stands beside the packages."""

CONFIG_READERS = {"config", "config_page", "contradictions", "daemon", "cli"}

FILES = sorted(set(ROOT.rglob("*.py")) - {ROOT / "__init__.py", ROOT / "__main__.py"})


@cache
def imports(file: Path) -> tuple[str, ...]:
    """Dotted names that a module imports, wherever in it."""
    return tuple(name for node in ast.walk(ast.parse(file.read_text())) for name in imported(node))


def imported(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        origin = "." * node.level + (node.module or "")
        yield from (f"{origin}.{alias.name}" for alias in node.names)


def place_of(file: Path) -> str:
    """The package or module that a file is part of."""
    return file.relative_to(ROOT).with_suffix("").parts[0]


def unit_of(dotted: str) -> str | None:
    """The package, or the module beside the packages, that a name of ours lies in."""
    parts = dotted.split(".")
    return parts[1] if parts[0] == "orchestrator" and len(parts) > 1 and parts[1] in LEVEL else None


def is_module_beside(unit: str) -> bool:
    return (ROOT / f"{unit}.py").exists()


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_imports_go_downwards(file: Path) -> None:
    place = place_of(file)
    assert not [name for name in imports(file) if name.startswith(".")], "imports are absolute"
    for unit in filter(None, map(unit_of, imports(file))):
        beside = LEVEL[unit] == LEVEL[place] and is_module_beside(unit) and is_module_beside(place)
        assert unit == place or beside or LEVEL[unit] < LEVEL[place], f"{place} imports {unit}"


@pytest.mark.parametrize("file", sorted((ROOT / "domain").rglob("*.py")), ids=lambda file: file.name)
def test_the_domain_needs_the_standard_library_alone(file: Path) -> None:
    allowed = sys.stdlib_module_names | {"orchestrator"}
    roots = {name.partition(".")[0] for name in imports(file)}
    assert roots <= allowed


def test_every_package_and_module_has_its_level() -> None:
    units = {
        entry.stem for entry in ROOT.iterdir() if entry.suffix == ".py" or (entry / "__init__.py").exists()
    }
    assert units - {"__init__", "__main__"} <= LEVEL.keys()


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_only_the_daemon_and_the_command_line_know_the_configuration(file: Path) -> None:
    assert "config" not in set(map(unit_of, imports(file))) or place_of(file) in CONFIG_READERS
