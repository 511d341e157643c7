"""Measures the embedded engine against the native one: ratios within one run, printed as a table.

    .venv/bin/python -m bench.engines [rounds] [threads]

Needs a native engine (`orch engine build`). Both get the same model and as many threads, two unless told
otherwise, in turns, so that what else the machine does falls on both. On a busy machine one thread tells
more: threads that wait for each other make the least disturbance a large one.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Sequence

from bench.daemons import smollm2
from orchestrator.doctor.bare import Arguments, BareEngine, bare_engine
from orchestrator.process.address import Address, UnixAddress
from orchestrator.runners.engines import EngineInfo, EngineKind, find_engine

PROMPT = "Once upon a time there was a king who had three daughters. " * 20
TOKENS = 64

MEASURES = {
    "start until ready, s": "{:.2f}",
    "start until the first token, s": "{:.2f}",
    "prompt, tokens/s": "{:.0f}",
    "generation, tokens/s": "{:.1f}",
}


def main(rounds: int, threads: int) -> None:
    """Measure and print."""
    engines = {kind: find_engine(os.environ, only=kind) for kind in EngineKind}
    found: dict[tuple[EngineKind, str], list[float]] = defaultdict(list)
    for _ in range(rounds):
        for kind, engine in engines.items():
            for measure, value in zip(MEASURES, measured(engine, threads), strict=True):
                found[kind, measure].append(value)
    print(f"{'median of ' + str(rounds):<34} {'embedded':>10} {'native':>10} {'embedded ÷ native':>18}")
    for measure, form in MEASURES.items():
        embedded, native = (
            statistics.median(found[kind, measure]) for kind in (EngineKind.EMBEDDED, EngineKind.NATIVE)
        )
        print(
            f"{measure:<34} {form.format(embedded):>10} {form.format(native):>10} {embedded / native:>18.2f}"
        )


def measured(engine: EngineInfo, threads: int) -> tuple[float, ...]:
    """One value for each of the measures."""
    began = time.perf_counter()
    with bare_engine(engine, _arguments(threads), os.environ) as running:
        running.wait_until_ready()
        ready = time.perf_counter() - began
        _complete(running, "Hello", 1)
        first = time.perf_counter() - began
        timings = _complete(running, PROMPT, TOKENS)
    return ready, first, timings["prompt_per_second"], timings["predicted_per_second"]


def _arguments(threads: int) -> Arguments:
    def arguments(address: Address, _marker: str) -> Sequence[str]:
        assert isinstance(address, UnixAddress)
        usual = ("--offline", "--no-webui", "--no-warmup", "--fit", "off", "-c", "2048", "-np", "1")
        return ("--model", str(smollm2()), "--host", str(address.path), *usual, "-t", str(threads))

    return arguments


def _complete(running: BareEngine, prompt: str, tokens: int) -> dict[str, float]:
    body = {
        "prompt": prompt,
        "n_predict": tokens,
        "temperature": 0,
        "ignore_eos": True,
        "cache_prompt": False,
    }
    timings: dict[str, float] = running.http.post("/completion", json=body).json()["timings"]
    return timings


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:]]
    main(*given, *(5, 2)[len(given) :])
