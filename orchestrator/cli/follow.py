"""Showing the statuses a server sends while it makes or moves a model."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from orchestrator.cli.progress import Bar, Display
from orchestrator.client.wire import Progress


def follow(
    display: Display, events: Iterable[Progress], label: Callable[[Progress], str] | None = None
) -> None:
    """Show events until the last: a spinner for each new status, a bar for each digest.

    ``label`` gives the text before a bar; without it that is the status. The server may leave out a blob's
    last event, so bars are filled when all went well.
    """
    status: str | None = None
    bars: dict[str, Bar] = {}
    for event in events:
        if digest := event.get("digest"):
            done = event.get("completed", 0)
            if digest not in bars:
                text = label(event) if label else event.get("status", "")
                bars[digest] = display.bar(text, event.get("total", 0), done)
            bars[digest].advance(done, time.monotonic())
        elif event.get("status") != status:
            status = event.get("status", "")
            display.spinner(status)
    for bar in bars.values():
        bar.fill()
