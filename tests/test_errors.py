"""What errors advise."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import orchestrator
from orchestrator.errors import RunnerFailed


def test_only_a_want_of_memory_is_answered_with_advice_on_memory() -> None:
    assert RunnerFailed("cudaMalloc failed", out_of_memory=True).hint
    assert RunnerFailed("broke off").hint is None
    assert RunnerFailed("broke off", hint="try this").hint == "try this"


def _spoken(handler: ast.ExceptHandler) -> Iterator[int]:
    """Lines in which the error of a handler is turned into text as Python would."""
    for node in ast.walk(handler):
        match node:
            case ast.FormattedValue(value=ast.Name(id=name)) if name == handler.name:
                yield node.lineno
            case ast.Call(func=ast.Name(id="str" | "repr"), args=[ast.Name(id=name)]) if name == handler.name:
                yield node.lineno


def _catches_system_errors(handler: ast.ExceptHandler) -> bool:
    return handler.type is not None and any(
        isinstance(node, ast.Name) and node.id in ("OSError", "PermissionError", "FileNotFoundError")
        for node in ast.walk(handler.type)
    )


FILES = sorted(Path(orchestrator.__file__).parent.rglob("*.py"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: "/".join(file.parts[-2:]))
def test_errors_of_the_system_are_told_without_their_numbers(file: Path) -> None:
    """``reason_of`` and ``words_of`` say what Python would say as ``[Errno 2] No such file …``."""
    handlers = (node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.ExceptHandler))
    assert [line for each in handlers if _catches_system_errors(each) for line in _spoken(each)] == []
