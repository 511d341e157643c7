"""``orch serve``: the daemon in this process."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from orchestrator.config import Config


def serve() -> int:
    """Serve until told to stop; gives the exit status."""
    with _no_authorities():
        from orchestrator.daemon import serve as serve_until_stopped

    return serve_until_stopped(Config.from_environ(os.environ))


@contextmanager
def _no_authorities() -> Iterator[None]:
    """Nobody reads the system's certificate authorities while the block runs.

    aiohttp reads them twice as soon as it is imported. That would be a tenth of each start and 2 MB for good,
    for nothing: what goes out from here (``registry.transport``) reads them itself, when it does.
    """
    places = ("SSL_CERT_FILE", "SSL_CERT_DIR")
    before = {name: os.environ.get(name) for name in places}
    os.environ.update(dict.fromkeys(places, os.devnull))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
