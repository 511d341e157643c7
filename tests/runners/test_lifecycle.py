from __future__ import annotations

import pytest

from orchestrator.runners.lifecycle import (
    Event,
    Exited,
    Healthy,
    Ready,
    Starting,
    State,
    StopAsked,
    Stopped,
    Stopping,
    step,
)

EXITED = Exited(1, "error: x")


@pytest.mark.parametrize(
    ("state", "event", "after"),
    [
        (Starting(7), Healthy(), Ready(7)),
        (Starting(7), StopAsked(), Stopping(7)),
        (Starting(7), EXITED, Stopped(1, "error: x")),
        (Ready(7), Healthy(), Ready(7)),
        (Ready(7), StopAsked(), Stopping(7)),
        (Ready(7), EXITED, Stopped(1, "error: x")),
        (Stopping(7), Healthy(), Stopping(7)),
        (Stopping(7), StopAsked(), Stopping(7)),
        (Stopping(7), EXITED, Stopped(1, "error: x", asked=True)),
        (Stopped(0), Healthy(), Stopped(0)),
        (Stopped(0), StopAsked(), Stopped(0)),
        (Stopped(0), EXITED, Stopped(0)),
    ],
)
def test_every_event_is_answered_in_every_state(state: State, event: Event, after: State) -> None:
    assert step(state, event) == after


@pytest.mark.parametrize(
    ("stopped", "cause"),
    [
        (Stopped(1), "exit status 1"),
        (Stopped(1, "error: x"), "exit status 1: error: x"),
        (Stopped(0), "OK"),
        (Stopped(0, "error: x"), "error: x"),
        (Stopped(-9), "signal: killed"),
        (Stopped(-11, "error: x"), "signal: segmentation fault: error: x"),
    ],
)
def test_the_cause_of_an_end_is_told_as_ollama_does(stopped: Stopped, cause: str) -> None:
    assert stopped.cause == cause
