"""Measures what the daemon adds to its engine: ratios within one run, printed as a table.

    .venv/bin/python -m bench.run [name …]

Names: startup, version, relay, completions, messages, chats, latency, streams, together, cold.
Without names, all.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from bench.daemons import MODEL, ROOT, Address, Daemon, bare_engine, create, daemon, free_port, smollm2
from tests.sample_models import gemma3

Row = tuple[str, str, str]

CHATML = (
    "{{- range .Messages }}<|im_start|>{{ .Role }}\n{{ .Content }}<|im_end|>\n{{ end }}"
    "<|im_start|>assistant\n"
)
_QUESTION = [{"role": "user", "content": "What is the capital of France?"}]
_STORY = "Tell me a very long story about a dog, a cat and a mouse who live in an old house by the sea."
_SHORT_CHATS: dict[str, dict[str, object]] = {
    "/api/chat": {"options": {"num_predict": 10}, "stream": False},
    "/v1/chat/completions": {"max_tokens": 10},
    "/v1/messages": {"max_tokens": 10},
}
_PAIRS = 5
_REST_S = 0.05
"""After it the threads of an engine that has just answered spin no more, and take no core from the next."""
ENGINE_OPTIONS = ("-c", "16384", "-np", "4", "--no-webui", "--offline", "-t", "2")


@contextmanager
def firehose() -> Iterator[str]:
    """An executable engine that answers at once."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "llama-server"
        script.write_text(f'#!/bin/sh\nexec {sys.executable} {ROOT / "bench" / "firehose.py"} "$@"\n')
        script.chmod(0o755)
        yield str(script)


def startup() -> Iterator[Row]:
    times, memories = [], []
    for _ in range(5):
        with daemon() as served:
            times.append(served.started_s)
            memories.append(served.memory_bytes())
    yield "start to first answer", f"{statistics.median(times):.2f} s", "≤ 0.6 s"
    yield "memory when idle", f"{statistics.median(memories) / 1e6:.0f} MB", "≤ 60 MB"


def version() -> Iterator[Row]:
    with daemon() as served:
        requests, connection = 20_000, served.address.connect()
        before = served.cpu_s()
        for _ in range(requests):
            connection.request("GET", "/api/version")
            connection.getresponse().read()
        yield "GET /api/version per CPU-second", f"{requests / (served.cpu_s() - before):,.0f}", "≥ 5,000"


def relay() -> Iterator[Row]:
    for served, kind in _both_paths():
        chat = {
            "model": MODEL,
            "messages": [{"role": "user", "content": "x"}],
            "options": {"num_predict": 40_000},
        }
        served.address.post("/api/chat", chat)
        before, lines = served.cpu_s(), 0
        for _ in range(10):
            lines += served.address.post("/api/chat", chat).count(b"\n")
        rate = lines / (served.cpu_s() - before)
        yield f"relayed tokens per CPU-second, {kind} chat", f"{rate:,.0f}", "≥ 150,000"


def completions() -> Iterator[Row]:
    yield from _dialect("/v1/chat/completions", b'"content"', "OpenAI chat", "≥ 100,000")


def messages() -> Iterator[Row]:
    yield from _dialect("/v1/messages", b'"text_delta"', "message", "≥ 80,000")


def _dialect(path: str, token: bytes, what: str, goal: str) -> Iterator[Row]:
    """The relay of a dialect that is not the native one, and its short chats; ``token`` is in each event."""
    for served, kind in _both_paths():
        body = {
            "model": MODEL,
            "messages": [{"role": "user", "content": "x"}],
            "max_tokens": 40_000,
            "stream": True,
        }
        served.address.post(path, body)
        before, tokens = served.cpu_s(), 0
        for _ in range(10):
            tokens += served.address.post(path, body).count(token)
        rate = tokens / (served.cpu_s() - before)
        yield f"tokens per CPU-second, {kind} {what}", f"{rate:,.0f}", goal
        ratio = _share_of_native(served, path)
        yield f"CPU per plain {kind} {what} ÷ native", f"{ratio:.2f}", "≤ 1.3"


def chats() -> Iterator[Row]:
    for served, kind in _both_paths():
        body = json.dumps(
            {
                "model": MODEL,
                "messages": [{"role": "user", "content": "What is the capital of France?"}],
                "options": {"num_predict": 10},
            }
        )
        connection, requests = served.address.connect(), 1000
        _ask(connection, body, 50)
        before = served.cpu_s()
        _ask(connection, body, requests)
        per_chat = (served.cpu_s() - before) / requests
        yield f"CPU per short {kind} chat", f"{per_chat * 1e3:.2f} ms", "≤ 1.2 ms"


def latency() -> Iterator[Row]:
    """The median of several pairs of an engine and a daemon, for no two engines take equally long."""
    added = [_added_s() for _ in range(_PAIRS)]
    yield "time added to a one-token request", f"{statistics.median(added) * 1e3:.2f} ms", "≤ 1.0 ms"


def _added_s() -> float:
    """Both are asked over TCP, each time by a connection of its own, in turns."""
    weights = smollm2()
    with bare_engine(weights, *ENGINE_OPTIONS, port=free_port()) as (engine, _), daemon() as served:
        create(served.address, weights, template=CHATML)
        prompt = "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n"
        bare = {"prompt": prompt, "n_predict": 1, "stream": True, "cache_prompt": True}
        ours = {
            "model": MODEL,
            "messages": [{"role": "user", "content": "hi"}],
            "options": {"num_predict": 1, "num_thread": 2},
        }
        direct: list[float] = []
        through: list[float] = []
        for _ in range(120):
            for times, action in (
                (direct, lambda: engine.post("/completion", bare)),
                (through, lambda: served.address.post("/api/chat", ours)),
            ):
                time.sleep(_REST_S)
                times.append(_timed(action))
        return statistics.median(through[20:]) - statistics.median(direct[20:])


def streams() -> Iterator[Row]:
    weights = smollm2()
    with (
        bare_engine(weights, *ENGINE_OPTIONS) as (engine, _),
        daemon(env={"OLLAMA_NUM_PARALLEL": "4"}) as served,
    ):
        create(served.address, weights, template=CHATML)
        prompt = "<|im_start|>user\nCount to one thousand.<|im_end|>\n<|im_start|>assistant\n"
        bare = {
            "prompt": prompt,
            "n_predict": 256,
            "ignore_eos": True,
            "stream": True,
            "temperature": 0,
            "seed": 1,
        }
        ours = {
            "model": MODEL,
            "messages": [{"role": "user", "content": "Count to one thousand."}],
            "options": {"num_predict": 256, "temperature": 0, "seed": 1, "num_ctx": 4096, "num_thread": 2},
        }
        for count, goal in ((1, "≥ 0.99"), (4, "≥ 0.98")):
            ratios = []
            for _ in range(5):
                straight = _rate(lambda: _tokens_direct(engine, bare), count)
                relayed = _rate(lambda: _tokens_ours(served.address, ours), count)
                ratios.append(relayed / straight)
            yield f"tokens/s of {count} stream(s) ÷ direct", f"{statistics.median(ratios):.3f}", goal


def together() -> Iterator[Row]:
    """Two models that work at once on the same cores, against one after the other."""
    with daemon() as served:
        ours, other = MODEL, "other"
        create(served.address, smollm2(), ours, template=CHATML)
        create(served.address, gemma3(), other, template=CHATML)

        def work(model: str) -> None:
            options = {"num_predict": 96, "temperature": 0, "seed": 1, "num_ctx": 2048}
            asked = {"model": model, "messages": [{"role": "user", "content": _STORY}], "options": options}
            tokens = _tokens_ours(served.address, asked)
            assert tokens == 96, f"{model} ended after {tokens} tokens"

        def both() -> None:
            with ThreadPoolExecutor() as threads:
                list(threads.map(work, (ours, other)))

        for model in (ours, other):  # each is loaded while the other rests, so both have all cores
            work(model)
        ratios = [(_timed(lambda: work(ours)) + _timed(lambda: work(other))) / _timed(both) for _ in range(5)]
        yield "two models one by one ÷ at once", f"{statistics.median(ratios):.2f}", "≥ 0.9"


def cold() -> Iterator[Row]:
    weights = smollm2()
    bare, ours = [], []
    prompt = "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n"
    chat = {
        "model": MODEL,
        "messages": [{"role": "user", "content": "hi"}],
        "options": {"num_predict": 1},
        "keep_alive": 0,
    }

    def bare_start() -> None:
        with bare_engine(weights, "-c", "4096", "-np", "1", "--no-webui", "--offline") as (engine, _):
            engine.post("/completion", {"prompt": prompt, "n_predict": 1})
            bare.append(time.perf_counter() - began)

    with daemon() as served:
        create(served.address, weights, template=CHATML)
        for _ in range(5):
            began = time.perf_counter()
            bare_start()
            ours.append(_timed(lambda: served.address.post("/api/chat", chat)))
            _until_unloaded(served.address)
    ratio = statistics.median(ours) / statistics.median(bare)
    yield "cold start to first token ÷ bare engine", f"{ratio:.2f} ({statistics.median(ours):.2f} s)", "≤ 1.0"


BENCHES: dict[str, Callable[[], Iterator[Row]]] = {
    bench.__name__: bench
    for bench in (startup, version, relay, completions, messages, chats, latency, streams, together, cold)
}


def main(names: list[str]) -> None:
    """Run the benches named, or all, and print a row as soon as it is known."""
    print(f"{'what':<46} {'measured':>16} {'goal':>12}")
    for name in names or BENCHES:
        for what, measured, goal in BENCHES[name]():
            print(f"{what:<46} {measured:>16} {goal:>12}", flush=True)


def _both_paths() -> Iterator[tuple[Daemon, str]]:
    """A daemon over an engine that answers at once, for each way of making prompts."""
    for kind, setting in (("rendered", "1"), ("native", "0")):
        with firehose() as engine, daemon(engine=engine, env={"OLLAMA_GO_TEMPLATE": setting}) as served:
            create(served.address, smollm2(), template=CHATML)
            yield served, kind


def _share_of_native(served: Daemon, path: str) -> float:
    """What a short chat of another dialect costs, over what a native one costs."""
    ours, native = (_cpu_per_chat(served, each, _SHORT_CHATS[each]) for each in (path, "/api/chat"))
    return ours / native


def _cpu_per_chat(served: Daemon, path: str, form: dict[str, object]) -> float:
    body = json.dumps({"model": MODEL, "messages": _QUESTION, **form})
    connection, requests = served.address.connect(), 1000
    _ask(connection, body, 50, path)
    before = served.cpu_s()
    _ask(connection, body, requests, path)
    return (served.cpu_s() - before) / requests


def _ask(connection: object, body: str, times: int, path: str = "/api/chat") -> None:
    import http.client

    assert isinstance(connection, http.client.HTTPConnection)
    for _ in range(times):
        connection.request("POST", path, body, {"Content-Type": "application/json"})
        connection.getresponse().read()


def _timed(action: Callable[[], object]) -> float:
    began = time.perf_counter()
    action()
    return time.perf_counter() - began


def _rate(run: Callable[[], int], count: int) -> float:
    """Tokens per second of ``count`` runs at once."""
    totals: list[int] = []
    threads = [threading.Thread(target=lambda: totals.append(run())) for _ in range(count)]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(totals) / (time.perf_counter() - began)


def _tokens_direct(engine: Address, body: Mapping[str, object]) -> int:
    last = engine.post("/completion", body).strip().rsplit(b"data: ", 1)[1]
    return int(json.loads(last)["timings"]["predicted_n"])


def _tokens_ours(address: Address, body: Mapping[str, object]) -> int:
    last = address.post("/api/chat", body).strip().rsplit(b"\n", 1)[-1]
    return int(json.loads(last)["eval_count"])


def _until_unloaded(address: Address) -> None:
    while json.loads(address.get("/api/ps")[1])["models"]:
        time.sleep(0.01)


if __name__ == "__main__":
    main(sys.argv[1:])
