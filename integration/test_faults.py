"""What goes wrong around a daemon: processes that die, disks that fill up, clients that misbehave.

In every case nothing hangs, nothing is left behind, the error says what happened, and the next request works.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import resource
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from integration.toy import (
    MODEL,
    PATIENCE_S,
    asked,
    assert_serves,
    create,
    generate,
    get,
    loaded,
    opened,
    post,
    request_head,
    send_body,
    toy_weights,
    until,
    waiting,
)
from tests.engine_replay.stand_in import StandIn, stand_in
from tests.http_replay.daemon import Daemon, daemon_process
from tests.http_replay.transport import Server
from tests.sample_models import smollm2

OTHER_MODEL = "other"
THIRD_MODEL = "third"

SHORT = {"num_predict": 3}

FIREHOSE = Path(__file__).parents[1] / "bench" / "firehose.py"
"""An engine that answers at once."""

Start = Callable[..., Daemon]


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[StandIn]:
    """A scripted engine."""
    folder = tmp_path / "engine"
    folder.mkdir()
    with stand_in(folder) as engine:
        yield engine


@pytest.fixture
def start(engine: StandIn, tmp_path: Path) -> Iterator[Start]:
    """Starts daemons over the scripted engine that end with the test."""
    with ExitStack() as stack:

        def start(**environment: str) -> Daemon:
            given = {**engine.environment, **environment}
            daemon = stack.enter_context(daemon_process(tmp_path, given))
            create(daemon.server, MODEL)
            return daemon

        yield start


@pytest.fixture
def server(start: Start) -> Server:
    """A daemon with a model that its engine can load."""
    return start().server


@pytest.fixture
def background() -> Iterator[ThreadPoolExecutor]:
    """Threads for requests that take as long as the test wants."""
    with ThreadPoolExecutor(64) as pool:
        yield pool


@pytest.fixture(scope="module")
def shared_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A daemon for tests that leave it as they find it."""
    folder = tmp_path_factory.mktemp("shared")
    with stand_in(folder) as engine, daemon_process(folder, engine.environment) as daemon:
        create(daemon.server, MODEL)
        yield daemon.server


# ---- processes ----


def test_no_engine_outlives_a_killed_daemon(engine: StandIn, start: Start) -> None:
    daemon = start()
    create(daemon.server, OTHER_MODEL)
    assert_serves(daemon.server)
    assert generate(daemon.server, OTHER_MODEL).status == 200
    children = psutil.Process(daemon.process.pid).children(recursive=True)
    assert len(engine.processes()) == 2
    assert set(engine.processes()) <= {child.pid for child in children}
    daemon.process.kill()
    daemon.process.wait(PATIENCE_S)
    _, alive = psutil.wait_procs(children, timeout=PATIENCE_S)
    assert alive == []


@pytest.mark.slow
def test_no_real_engine_outlives_a_killed_daemon(tmp_path: Path) -> None:
    with daemon_process(tmp_path) as daemon:
        create(daemon.server, MODEL, smollm2().read_bytes())
        assert generate(daemon.server, options={"num_predict": 1}).status == 200
        children = psutil.Process(daemon.process.pid).children(recursive=True)
        assert children
        daemon.process.kill()
        daemon.process.wait(PATIENCE_S)
        _, alive = psutil.wait_procs(children, timeout=PATIENCE_S)
        assert alive == []


def test_a_new_daemon_follows_a_killed_one_and_clears_up_after_it(
    engine: StandIn, start: Start, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    run = tmp_path_factory.mktemp("r")
    killed = start(ORCH_RUN_DIR=str(run))
    assert_serves(killed.server)
    (left,) = run.glob("orch-*")
    killed.process.kill()
    killed.process.wait(PATIENCE_S)
    (left / "9.sock").touch()  # as of an engine that the kernel killed with it
    environment = {**engine.environment, "ORCH_RUN_DIR": str(run)}
    with daemon_process(tmp_path, environment, port=killed.server.port) as daemon:
        assert_serves(daemon.server)
        (own,) = run.glob("orch-*")
        assert own != left
    assert [file.name for file in run.iterdir()] == ["lock"]


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_a_daemon_told_to_stop_takes_its_engines_along(
    engine: StandIn, start: Start, background: ThreadPoolExecutor, stop: signal.Signals
) -> None:
    daemon = start()
    engine.script({"answers": {"/completion": [{"prefill": 60}]}})
    reply = background.submit(generate, daemon.server)
    engine.heard("request", path="/completion")
    daemon.process.send_signal(stop)
    assert daemon.process.wait(PATIENCE_S) == 0
    assert engine.processes() == []
    answer = reply.result(PATIENCE_S)
    assert (answer.status, answer.body["error"]) == (503, "the server is shutting down")


def test_a_runner_killed_while_loading_is_an_error_at_once(
    engine: StandIn, server: Server, background: ThreadPoolExecutor
) -> None:
    engine.script({"loads": [{"loading_s": 60}]})
    replies = [background.submit(generate, server) for _ in range(3)]
    starting = engine.heard("launch")["pid"]
    engine.script({})
    os.kill(starting, signal.SIGKILL)
    failed = [reply.result(PATIENCE_S) for reply in replies]
    assert any(answer.status == 500 and "terminated" in answer.body["error"] for answer in failed), failed
    assert_serves(server)


def test_a_runner_killed_while_it_reads_the_prompt_is_an_error(
    engine: StandIn, server: Server, background: ThreadPoolExecutor
) -> None:
    engine.script({"answers": {"/completion": [{"prefill": 60}]}})
    reply = background.submit(generate, server, stream=True)
    reading = engine.heard("request", path="/completion")["pid"]
    engine.script({})
    os.kill(reading, signal.SIGKILL)
    answer = reply.result(PATIENCE_S)
    assert answer.status == 500
    assert "error" in answer.body
    assert_serves(server)


def test_a_runner_killed_while_it_streams_ends_the_stream_with_an_error(
    engine: StandIn, server: Server
) -> None:
    engine.script(
        {"answers": {"/completion": [{"sse": [{"content": "One", "stop": False}, {"$sleep": 60}]}]}}
    )
    with opened(server, "/api/generate", {"model": MODEL, "prompt": "x"}) as response:
        assert json.loads(response.readline())["response"] == "One"
        engine.kill()
        (last,) = response.read().splitlines()
    assert json.loads(last) == {
        "error": "an error was encountered while running the model: "
        "llama-server process has terminated: signal: killed"
    }
    assert_serves(server)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/api/generate", {"prompt": "x"}),
        ("/api/chat", {"messages": [{"role": "user", "content": "x"}]}),
        ("/v1/completions", {"prompt": "x"}),
        ("/v1/chat/completions", {"messages": [{"role": "user", "content": "x"}]}),
        ("/v1/responses", {"input": "x"}),
        ("/v1/messages", {"messages": [{"role": "user", "content": "x"}], "max_tokens": 9}),
    ],
)
def test_a_stream_ends_with_the_news_that_the_server_stops(
    engine: StandIn, start: Start, path: str, body: dict[str, Any]
) -> None:
    daemon = start()
    engine.script(
        {"answers": {"/completion": [{"sse": [{"content": "One", "stop": False}, {"$sleep": 60}]}]}}
    )
    with opened(daemon.server, path, {"model": MODEL, "stream": True, **body}) as response:
        begun = b""
        while b"One" not in begun:
            begun += response.readline()
        daemon.process.terminate()
        rest = response.read()
    *_, last = [line for line in rest.splitlines() if line]
    error = json.loads(last.removeprefix(b"data: "))
    assert "the server is shutting down" in json.dumps(error.get("response", error)["error"])
    assert daemon.process.wait(PATIENCE_S) == 0


@pytest.mark.parametrize("options", [{"main_gpu": 2**40}, {"main_gpu": -(2**40)}])
def test_what_no_engine_takes_is_refused_and_nobody_leaves_for_it(
    engine: StandIn, server: Server, options: dict[str, int]
) -> None:
    assert_serves(server)
    before = engine.processes()
    answer = generate(server, options=options)
    assert answer.status == 400
    assert "there is no such GPU" in answer.body["error"]
    assert engine.processes() == before


def test_a_window_that_memory_can_never_hold_is_refused_and_nobody_leaves_for_it(
    engine: StandIn, server: Server
) -> None:
    wide = {"llama.context_length": 2**30, "llama.embedding_length": 8192, "llama.attention.head_count": 1}
    create(server, "wide", toy_weights("wide", wide))
    assert generate(server, "wide", options={"num_ctx": 4096}).status == 200
    before = engine.processes()
    answer = generate(server, "wide", options={"num_ctx": 2**30})
    assert answer.status == 500
    assert answer.body["error"].startswith("model requires more system memory (")
    assert engine.processes() == before


def test_threads_that_no_engine_takes_are_told_and_not_tried(engine: StandIn, server: Server) -> None:
    assert_serves(server)
    before = engine.processes()
    answer = generate(server, options={"num_thread": 100_000})
    assert answer.status == 200
    assert [text for text in answer.body["warnings"] if "num_thread" in text]
    assert engine.processes() == before


def test_an_engine_that_dies_at_its_start_is_told_with_its_last_words(
    engine: StandIn, server: Server
) -> None:
    words = "libgomp: Thread creation failed: Resource temporarily unavailable"
    engine.script({"loads": [{"exit": 1, "stderr": [words]}]})
    answer = generate(server)
    assert answer.status == 500
    assert answer.body["error"] == f"llama-server process has terminated: exit status 1: {words}"


def test_an_idle_runner_that_is_killed_is_replaced(engine: StandIn, server: Server) -> None:
    assert_serves(server)
    (before,) = engine.processes()
    engine.kill()
    assert_serves(server)
    (after,) = engine.processes()
    assert before != after


def test_a_runner_whose_guard_is_killed_is_replaced(engine: StandIn, server: Server) -> None:
    """Without a guard it would outlive a daemon that is killed."""
    assert_serves(server)
    (before,) = engine.processes()
    os.kill(os.getpgid(before), signal.SIGKILL)
    until(lambda: before not in engine.processes())
    assert_serves(server)


def test_an_idle_runner_that_is_killed_is_no_longer_told_of(engine: StandIn, server: Server) -> None:
    assert_serves(server)
    engine.kill()
    until(lambda: get(server, "/api/ps").body["models"] == [])


def test_a_runner_deaf_to_sigterm_goes_all_the_same(engine: StandIn, start: Start) -> None:
    daemon = start()
    engine.script({"loads": [{"ignore_sigterm": True}], "loads_repeat": True})
    assert_serves(daemon.server)
    assert generate(daemon.server, prompt="", keep_alive=0).body["done_reason"] == "unload"
    until(lambda: engine.processes() == [])
    assert_serves(daemon.server)
    daemon.process.terminate()
    assert daemon.process.wait(PATIENCE_S) == 0
    assert engine.processes() == []


def test_a_start_that_shows_no_progress_is_given_up(engine: StandIn, start: Start) -> None:
    server = start(OLLAMA_LOAD_TIMEOUT="300ms").server
    engine.script({"loads": [{"loading_s": 60}]})
    answer = generate(server)
    assert answer.status == 500
    assert "timed out waiting for llama-server to start" in answer.body["error"]
    assert_serves(server)


def failed_start(home: Path, **env: str) -> str:
    """What a daemon says that ends at once, with status 1."""
    ended = subprocess.run(
        [sys.executable, "-m", "orchestrator.cli", "serve"],
        env={**os.environ, "HOME": str(home), "OLLAMA_MODELS": str(home / "m"), **env},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert ended.returncode == 1
    return ended.stderr


def test_a_port_in_use_is_told_with_what_to_do(start: Start, tmp_path: Path) -> None:
    taken = start().server
    told = failed_start(tmp_path, OLLAMA_HOST=taken.address)
    assert f"Error: listen tcp {taken.address}: bind: address already in use" in told
    assert "OLLAMA_HOST" in told
    assert_serves(taken)


@pytest.mark.parametrize(
    ("env", "message", "advice"),
    [
        ({"OLLAMA_ORIGINS": "http://*.*"}, "Error: OLLAMA_ORIGINS: ", "https://example.com"),
        ({"OLLAMA_ORIGINS": "example.com"}, "Error: OLLAMA_ORIGINS: ", "https://example.com"),
        ({"OLLAMA_HOST": "256.1.1.1:7"}, "Error: listen tcp 256.1.1.1:7: ", "OLLAMA_HOST"),
    ],
)
def test_a_setting_with_which_nothing_can_start_is_one_line(
    tmp_path: Path, env: dict[str, str], message: str, advice: str
) -> None:
    told = failed_start(tmp_path, **{"OLLAMA_HOST": "127.0.0.1:0"} | env)
    [line] = [line for line in told.splitlines() if not line.startswith("time=")]
    assert line.startswith(message)
    assert advice in line


# ---- disks ----


@contextmanager
def small_disk(folder: Path, size_bytes: int) -> Iterator[Path]:
    """A file system with room for so much. Skips the test where none can be made."""
    folder.mkdir(exist_ok=True)
    options = f"size={size_bytes}"
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip(f"no file system of a given size can be made here: {mounted.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def stored_files(store: Path) -> set[str]:
    return {str(path.relative_to(store)) for path in store.rglob("*") if path.is_file()}


def test_a_full_disk_is_an_error_that_leaves_nothing_behind(
    engine: StandIn, start: Start, tmp_path: Path
) -> None:
    with small_disk(tmp_path / "small", 4 << 20) as store:
        server = start(OLLAMA_MODELS=str(store)).server
        before = stored_files(store)
        digest = "sha256:" + "0" * 64
        answer = send_body(server, f"/api/blobs/{digest}", bytes(6 << 20))
        assert answer.status == 500
        assert "no space left on device" in answer.body["error"].lower()
        assert stored_files(store) == before
        assert_serves(server)
        create(server, OTHER_MODEL)


def test_a_store_that_cannot_be_written_serves_its_models(
    engine: StandIn, start: Start, tmp_path: Path
) -> None:
    with small_disk(tmp_path / "store", 4 << 20) as store:
        first = start(OLLAMA_MODELS=str(store))
        first.process.terminate()
        first.process.wait(PATIENCE_S)
        subprocess.run(["mount", "-o", "remount,ro", str(store)], check=True)
        given = {**engine.environment, "OLLAMA_MODELS": str(store)}
        with daemon_process(tmp_path, given) as daemon:
            server = daemon.server
            assert [model["name"] for model in get(server, "/api/tags").body["models"]] == [f"{MODEL}:latest"]
            assert_serves(server)
            refusals = [
                post(server, "/api/copy", {"source": MODEL, "destination": "copied"}),
                post(server, "/api/create", {"model": "made", "from": MODEL, "system": "s", "stream": False}),
                server.send({"method": "DELETE", "path": "/api/delete", "json": {"model": MODEL}}),
                send_body(server, "/api/blobs/sha256:" + "0" * 64, b"content"),
            ]
            for answer in refusals:
                assert answer.status == 500, answer
                assert "read-only file system" in answer.body["error"].lower()
            assert_serves(server)


# ---- many requests ----


def test_a_queue_cut_off_leaves_no_trace(engine: StandIn, start: Start) -> None:
    raise_descriptor_limit()
    daemon = start(OLLAMA_MAX_QUEUE="512", OLLAMA_MAX_LOADED_MODELS="1")
    server = daemon.server
    create(server, OTHER_MODEL)
    create(server, THIRD_MODEL)
    process = psutil.Process(daemon.process.pid)
    assert_serves(server)
    descriptors = process.num_fds()
    engine.script({"answers": {"/completion": [{"prefill": 600}]}, "answers_repeat": True})
    moment = engine.now()
    with ExitStack() as clients:
        clients.enter_context(asked(server, MODEL))
        engine.heard("request", after=moment, path="/completion")
        clients.enter_context(asked(server, OTHER_MODEL))
        until(lambda: waiting(server) == 1)  # it is the next to be loaded, so those behind it count
        for _ in range(512):
            clients.enter_context(asked(server, THIRD_MODEL))
        until(lambda: waiting(server) == 513)
        refused = generate(server, THIRD_MODEL)
        assert refused.status == 503
        assert "maximum pending requests exceeded" in refused.body["error"]
    until(lambda: waiting(server) == 0)
    engine.script({})
    assert_serves(server)
    until(lambda: process.num_fds() <= descriptors)


@pytest.mark.timeout(180)
def test_many_requests_leave_neither_descriptors_nor_memory_behind(tmp_path: Path) -> None:
    raise_descriptor_limit()
    environment = {
        "ORCH_LLAMA_SERVER": str(firehose(tmp_path / "llama-server")),
        "OLLAMA_NUM_PARALLEL": "4",
    }
    with daemon_process(tmp_path, environment) as daemon:
        server = daemon.server
        create(server, MODEL)
        process = psutil.Process(daemon.process.pid)

        def sequential(count: int) -> None:
            with closing(
                http.client.HTTPConnection(server.host, server.port, timeout=PATIENCE_S)
            ) as connection:
                request = {"model": MODEL, "prompt": "x", "stream": False, "options": SHORT}
                body = json.dumps(request)
                for _ in range(count):
                    connection.request("POST", "/api/generate", body, {"Content-Type": "application/json"})
                    response = connection.getresponse()
                    response.read()
                    assert response.status == 200

        def at_once(count: int) -> None:
            with ThreadPoolExecutor(count) as pool:
                assert {
                    answer.status
                    for answer in pool.map(lambda _: generate(server, options=SHORT), range(count))
                } == {200}

        sequential(500)
        at_once(200)
        descriptors, memory = process.num_fds(), process.memory_info().rss
        sequential(2000)
        at_once(200)
        until(lambda: process.num_fds() <= descriptors)
        assert process.memory_info().rss - memory < 4 << 20


# ---- clients ----


@pytest.mark.parametrize("path", ["/api/generate", "/api/chat", "/api/embed", "/api/create", "/api/show"])
@pytest.mark.parametrize(
    "body",
    [
        "",
        "{",
        '{"model": "toy",}',
        '{"model": 7}',
        "[]",
        "\0\1\2",
        '"\\ud800"',
    ],
)
def test_a_bad_body_is_refused(shared_server: Server, path: str, body: str) -> None:
    answer = shared_server.send({"method": "POST", "path": path, "body": body})
    assert answer.status in (400, 404), answer
    assert answer.body["error"]


@pytest.mark.parametrize(
    "members",
    [
        {"options": 7},
        {"options": {"num_ctx": "many"}},
        {"options": {"stop": 7}},
        {"keep_alive": "soon"},
        {"keep_alive": {}},
        {"images": "x"},
        {"images": ["*"]},
        {"context": "x"},
        {"prompt": ["x"]},
        {"format": "xml"},
        {"think": 7},
    ],
)
def test_values_of_a_wrong_type_are_refused(shared_server: Server, members: dict[str, Any]) -> None:
    answer = generate(shared_server, **members)
    assert answer.status in (400, 500), answer
    assert answer.body["error"]


def test_deep_nesting_is_refused(shared_server: Server) -> None:
    body = '{"model": "toy", "options": ' + "[" * 100_000 + "]" * 100_000 + "}"
    answer = shared_server.send({"method": "POST", "path": "/api/generate", "body": body})
    assert answer.status == 400


def test_a_huge_body_is_refused(start: Start) -> None:
    server = start(ORCH_MAX_BODY="1MiB").server
    answer = generate(server, prompt="x" * (2 << 20))
    assert answer.status == 413
    assert "ORCH_MAX_BODY" in answer.body["error"] or "too large" in answer.body["error"]
    with socket.create_connection((server.host, server.port), timeout=PATIENCE_S) as client:
        client.sendall(request_head(server, "/api/generate", 1 << 40) + b"{")
        assert re.match(rb"HTTP/1.1 413", client.recv(64))
    assert_serves(server)


def test_a_client_that_sends_slowly_holds_up_nobody(shared_server: Server) -> None:
    body = json.dumps({"model": MODEL, "prompt": "x", "stream": False}).encode()
    with socket.create_connection((shared_server.host, shared_server.port), timeout=PATIENCE_S) as slow:
        slow.sendall(request_head(shared_server, "/api/generate", len(body)) + body[:10])
        assert_serves(shared_server)
        slow.sendall(body[10:])
        assert slow.recv(64).startswith(b"HTTP/1.1 200")


def test_a_client_that_reads_nothing_neither_fills_memory_nor_holds_up_others(tmp_path: Path) -> None:
    environment = {
        "ORCH_LLAMA_SERVER": str(firehose(tmp_path / "llama-server")),
        "OLLAMA_NUM_PARALLEL": "2",
    }
    with daemon_process(tmp_path, environment) as daemon:
        server = daemon.server
        create(server, MODEL)
        assert generate(server, options=SHORT).status == 200
        process = psutil.Process(daemon.process.pid)
        memory = process.memory_info().rss
        endless = {"model": MODEL, "prompt": "x", "options": {"num_predict": 2_000_000}}
        with opened(server, "/api/generate", endless) as response:
            response.readline()
            until(lambda: is_at_rest(process))
            assert process.memory_info().rss - memory < 32 << 20
            assert generate(server, options=SHORT).status == 200
        until(lambda: loaded(server)[0].get("active_requests") == 0)


def test_a_client_that_leaves_frees_its_place(
    engine: StandIn, server: Server, background: ThreadPoolExecutor
) -> None:
    engine.script({"answers": {"/completion": [{"prefill": 600}]}})
    with asked(server, MODEL):
        engine.heard("request", path="/completion")
    engine.heard("client-gone", path="/completion")
    assert_serves(server)


# ---- means ----


def raise_descriptor_limit() -> None:
    """As many connections as a test needs, here and in the daemons it starts."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def firehose(path: Path) -> Path:
    """The engine that answers at once, as a program that a daemon can start."""
    path.write_text(f"#!{sys.executable}\n{FIREHOSE.read_text()}")
    path.chmod(0o755)
    return path


def is_at_rest(process: psutil.Process) -> bool:
    """Whether it has nothing to do any more."""
    return bool(process.cpu_percent(interval=0.3) < 2)
