"""What a daemon holds in memory before it is asked for anything."""

from __future__ import annotations

import subprocess
import sys

HEAVY = {
    *(
        "cryptography",
        "gguf",
        "gotpl",
        "httpx",
        "jinja2",
        "numpy",
        "PIL",
        "prompt_toolkit",
        "pydantic",
        "rich",
    ),
    *("orchestrator.create.build", "orchestrator.parsers.registry", "orchestrator.registry.client"),
}
"""Packages that cost time or memory, and modules of ours that stand for many."""


def test_a_daemon_starts_without_what_only_requests_need() -> None:
    program = f"import sys, orchestrator.daemon; print(*sorted({HEAVY!r} & sys.modules.keys()))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.split() == []
