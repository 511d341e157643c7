"""``orch --version``."""

from __future__ import annotations

from orchestrator import OLLAMA_VERSION
from orchestrator.cli.commands import PROGRAM
from orchestrator.cli.connection import client
from orchestrator.client.errors import ApiError, ServerUnreachable


def show_version() -> None:
    """Print the server's version, and the program's own when it is another.

    Both are versions of the API, which is what a server tells of itself.
    """
    own = OLLAMA_VERSION
    try:
        with client() as native:
            served = native.version()
    except (ServerUnreachable, ApiError):
        print(f"Warning: could not connect to a running {PROGRAM} instance")
        print(f"Warning: client version is {own}")
        return
    print(f"{PROGRAM} version is {served}")
    if served != own:
        print(f"Warning: client version is {own}")
