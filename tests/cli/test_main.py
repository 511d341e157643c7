"""Interrupts at moments when Python would show where it is."""

from __future__ import annotations

import subprocess
import sys

import pytest

INTERRUPTED_BY_IMPORT = """
import os, signal, sys
from importlib.abc import MetaPathFinder

class Finder(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == sys.argv[1]:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Finder())
from orchestrator.cli.main import main
sys.exit(main(sys.argv[2:]))
"""

INTERRUPTED_AT_EXIT = """
import atexit, os, signal, sys
from orchestrator.cli.main import main

atexit.register(lambda: os.kill(os.getpid(), signal.SIGINT))
sys.exit(main(sys.argv[1:]))
"""


def ended(program: str, *arguments: str) -> tuple[int, str]:
    """Status and stderr of a Python program."""
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=False, timeout=60
    )
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    ("module", "command"),
    [
        ("orchestrator.cli.program", "--help"),
        ("orchestrator.cli.commands", "--help"),
        ("orchestrator.cli.grammar", "list"),
        ("orchestrator.errors", "list"),
        ("orchestrator.cli.help", "--help"),
        ("orchestrator.cli.listing", "list"),
        ("orchestrator.client.native", "list"),
        ("orchestrator.cli.serve", "serve"),
        ("orchestrator.daemon", "serve"),
        ("orchestrator.scheduler.loop", "serve"),
    ],
)
def test_an_interrupt_while_the_program_is_read_is_quiet(module: str, command: str) -> None:
    assert ended(INTERRUPTED_BY_IMPORT, module, command) == (130, "")


def test_an_interrupt_when_all_is_done_is_quiet() -> None:
    assert ended(INTERRUPTED_AT_EXIT, "--help") == (130, "")
