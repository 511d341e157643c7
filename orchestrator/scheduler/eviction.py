"""Who leaves when room is needed. Source: ``scheduler`` §8, and the least recently used one among equals."""

from __future__ import annotations

from collections.abc import Iterable

from orchestrator.scheduler.world import Ready


def next_victim(runners: Iterable[Ready]) -> Ready | None:
    """The runner to go: an idle one if there is one, else one already waited for, else the first in order.

    The order is the shortest keep-alive first, as in Ollama, so that a pinned model stays longest; among
    equal ones the least recently used goes first.
    """
    ordered = sorted(runners, key=lambda runner: (runner.keep_alive_ns, runner.last_used, runner.key))
    return min(ordered, key=lambda runner: (not runner.is_idle, runner.rival is None), default=None)
