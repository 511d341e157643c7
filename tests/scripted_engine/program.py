#!/usr/bin/env -S python3 -SE
"""A llama-server that does as it is told: takes its arguments, speaks its HTTP, fails on demand.

The folder ``$SCRIPTED_ENGINE_DIR`` connects it with whoever tests::

    script.json    what to do, see below; read anew for each request
    counts.json    how often what was done, reset together with the script
    devices.json   GPUs to pretend
    log.jsonl      what happened: probes, launches, requests, their ends, clients that left
    events.sock    a datagram socket, if there is one, gets the same lines as they happen

``script.json`` has ``loads``, one entry per start (``stderr``, ``sleep``, ``kill``, ``exit``, ``loading_s``,
``stderr_after``, ``ignore_sigterm``), and ``answers``, per path a list with one entry per call (``sleep``,
``prefill``, ``stderr``, ``exit``, ``drop``, ``status`` with ``json`` or ``body``, ``sse``). With
``loads_repeat`` and ``answers_repeat`` the last entry stands for all further ones; else they are ordinary.
``health`` lets ``answers`` decide the health check too. Items of ``sse`` are events, bare text, or orders
that begin with ``$``.
"""

from __future__ import annotations

import base64
import fcntl
import json
import math
import os
import re
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

FOLDER = Path(os.environ["SCRIPTED_ENGINE_DIR"])
ARGUMENTS = sys.argv[1:]
RECORDED_VARIABLES = re.compile(r"(LLAMA|GGML|CUDA|ROCR|HIP|HSA|GPU_|VK_|OMP)|^(LD_LIBRARY_PATH|PATH)$")
WORDS = ("One", " two", " three.")
TIMINGS = {
    "cache_n": 3,
    "prompt_n": 11,
    "prompt_ms": 12.5,
    "prompt_per_token_ms": 1.136,
    "prompt_per_second": 880.0,
    "predicted_n": 4,
    "predicted_ms": 40.25,
    "predicted_per_token_ms": 10.06,
    "predicted_per_second": 99.4,
}

Json = Any


def argument(name: str, default: str = "") -> str:
    return ARGUMENTS[ARGUMENTS.index(name) + 1] if name in ARGUMENTS else default


# ---- the folder ----

_log_lock = threading.Lock()


def log(event: str, **members: Json) -> None:
    """Tell what happened, in the file and to whoever listens."""
    line = {"ev": event, **members, "t": time.time(), "pid": os.getpid()}
    with _log_lock:
        with (FOLDER / "log.jsonl").open("a") as file:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
        line.pop("body", None)  # may be too long for a datagram
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender, suppress(OSError):
            sender.setblocking(False)  # an error is that nobody listens
            sender.sendto(json.dumps(line).encode(), str(FOLDER / "events.sock"))


def script() -> Json:
    try:
        return json.loads((FOLDER / "script.json").read_text())
    except (OSError, ValueError):
        return {}


def next_number(kind: str) -> int:
    """How often this was called for ``kind`` before, by any process, since the script was set."""
    with (FOLDER / "counts.json").open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        text = file.read()
        counts = json.loads(text) if text else {}
        number: int = counts.get(kind, 0)
        counts[kind] = number + 1
        file.seek(0)
        file.truncate()
        file.write(json.dumps(counts))
    return number


def entry(entries: list[Json] | None, number: int, *, repeat: bool) -> Json:
    if not entries:
        return None
    if number < len(entries):
        return entries[number]
    return entries[-1] if repeat else None


def environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if RECORDED_VARIABLES.match(name)}


def say(*lines: str) -> None:
    sys.stderr.write("".join(line if line.endswith("\n") else line + "\n" for line in lines))
    sys.stderr.flush()


def settle() -> None:
    """Give whoever reads our output time to do so before what comes next; he tells nobody when he has."""
    time.sleep(0.1)


# ---- devices ----


def devices() -> list[Json]:
    """The pretended GPUs whose variant is on the search path and which are visible."""
    file = FOLDER / "devices.json"
    if not file.exists():
        return []
    folders = os.environ.get("LD_LIBRARY_PATH", "").split(":")
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    return [
        device
        for device in json.loads(file.read_text())
        if any(device["variant"] in folder.split("/") for folder in folders)
        and (visible is None or str(device["index"]) in visible.split(","))
    ]


def say_devices(found: list[Json]) -> None:
    if found:
        total = sum(device["total"] for device in found)
        say(f"ggml_cuda_init: found {len(found)} CUDA devices (Total VRAM: {total} MiB):")
    for index, device in enumerate(found):
        say(
            f"  Device {index}: {device['desc']}, compute capability {device['cc']}, VMM: yes, "
            f"VRAM: {device['total']} MiB"
        )


def list_devices() -> None:
    """As the real one does it: when the flag is read, and those behind it never are."""
    log("probe", argv=ARGUMENTS, env=environment())
    found = devices()
    later = next_number("probe")
    if "--verbose" in ARGUMENTS[: ARGUMENTS.index("--list-devices")]:
        say_devices(found)
    lines = [
        f"  {device['name']}{index}: {device['desc']} "
        f"({device['total']} MiB, {device['free'] + later} MiB free)"
        for index, device in enumerate(found)
    ]
    sys.stdout.write("\n".join(["Available devices:", *(lines or ["  (none)"])]) + "\n")


def run_without_model() -> None:
    log("probe", argv=ARGUMENTS, env=environment())
    say_devices(devices())
    say(
        "system_info: n_threads = 2 (n_threads_batch = 2) / 2 | CPU : SSE3 = 1 | "
        "CUDA : ARCHS = 750,800,860,890,900,1200 | REPACK = 1 |"
    )
    signal.pause()


# ---- ordinary answers ----


def tokens_of(text: str, *, special: bool) -> list[int]:
    """One token per two bytes; a first one for ``special``."""
    raw = text.encode()
    pairs = [1000 + int.from_bytes(raw[at : at + 2], "little") for at in range(0, len(raw), 2)]
    return [1, *pairs] if special else pairs


def text_of(tokens: list[int]) -> str:
    pairs = [token - 1000 for token in tokens if token >= 1000]
    return b"".join(pair.to_bytes(2, "little").rstrip(b"\0") or b"\0" for pair in pairs).decode(
        errors="replace"
    )


def probability(word: str, logprob: float, count: int) -> Json:
    def one(token: str, value: float) -> Json:
        return {"id": 1, "token": token, "bytes": list(token.encode()), "logprob": value}

    others = [one(word + "'" * place, round(logprob - place, 4)) for place in range(1, count)]
    return {**one(word, logprob), "top_logprobs": [one(word, logprob), *others]}


def completion_frames(request: Json) -> Iterator[Json]:
    count = request.get("n_probs", 0)
    for index, word in enumerate(WORDS):
        frame = {
            "index": 0,
            "content": word,
            "tokens": [index],
            "stop": False,
            "id_slot": 0,
            "tokens_predicted": index + 1,
            "tokens_evaluated": 14,
        }
        if count:
            frame["completion_probabilities"] = [probability(word, -0.25 * (index + 1), count)]
        yield frame
    yield {
        "index": 0,
        "content": "",
        "tokens": [],
        "id_slot": 0,
        "stop": True,
        "model": "m",
        "tokens_predicted": 4,
        "tokens_evaluated": 14,
        "has_new_line": False,
        "truncated": False,
        "stop_type": "eos",
        "stopping_word": "",
        "tokens_cached": 17,
        "timings": TIMINGS,
    }


def chat_frame(delta: Json, *, finish: str | None = None, logprobs: Json = None, **members: Json) -> Json:
    choice = {"finish_reason": finish, "index": 0, "delta": delta}
    if logprobs:
        choice["logprobs"] = {"content": logprobs}
    return {
        "choices": [choice],
        "created": 1,
        "id": "chatcmpl-x",
        "model": "m",
        "system_fingerprint": "b11434",
        "object": "chat.completion.chunk",
        **members,
    }


def chat_frames(request: Json) -> Iterator[Json]:
    yield chat_frame({"role": "assistant", "content": None})
    count = request.get("top_logprobs", 0) if request.get("logprobs") else 0
    for index, word in enumerate(WORDS):
        logprobs = [probability(word, -0.25 * (index + 1), count)] if count else None
        yield chat_frame({"content": word}, logprobs=logprobs)
    yield chat_frame({}, finish="stop", timings=TIMINGS)
    yield "data: [DONE]\n\n"


def rendered(request: Json) -> str:
    """A prompt as a template would make it; media leave the marker."""
    marker = os.environ.get("LLAMA_MEDIA_MARKER", "<__media__>")
    prompt = ""
    for message in request.get("messages", []):
        content = message.get("content")
        if isinstance(content, list):
            content = "".join(part["text"] if part.get("type") == "text" else marker for part in content)
        prompt += f"<{message.get('role')}>{content or ''}\n"
    return prompt + "<assistant>"


def embeddings(request: Json) -> Json:
    texts = request.get("input", "")
    texts = texts if isinstance(texts, list) else [texts]
    count = sum(len(tokens_of(text, special=True)) for text in texts)
    return {
        "object": "list",
        "model": "m",
        "data": [
            {"object": "embedding", "index": index, "embedding": [3.0, 0.0, 4.0, float(len(text))]}
            for index, text in enumerate(texts)
        ],
        "usage": {"prompt_tokens": count, "total_tokens": count},
    }


def ranking(request: Json) -> Json:
    """A document that has more words of the query is better."""
    query, documents = request.get("query", ""), request.get("documents", [])
    scores = [float(len(set(query.split()) & set(document.split()))) for document in documents]
    count = sum(len(tokens_of(query + document, special=True)) for document in documents)
    order = sorted(range(len(documents)), key=lambda index: -scores[index])
    return {
        "object": "list",
        "model": "m",
        "results": [{"index": index, "relevance_score": scores[index]} for index in order],
        "usage": {"prompt_tokens": count, "total_tokens": count},
    }


def properties() -> Json:
    return {
        "default_generation_settings": {"n_ctx": context_per_slot(), "params": {}},
        "total_slots": int(argument("-np", "1")),
        "model_path": argument("--model"),
        "modalities": {"vision": "--mmproj" in ARGUMENTS, "audio": False, "video": False},
        "media_marker": os.environ.get("LLAMA_MEDIA_MARKER"),
        "chat_template": "",
        "chat_template_caps": {},
        "bos_token": "",
        "eos_token": "",
        "build_info": "b11434-pin",
        "is_sleeping": False,
    }


def context_per_slot() -> int:
    return int(argument("-c", "4096")) // max(1, int(argument("-np", "1")))


def ordinary_answer(path: str, request: Json) -> Json:
    match path:
        case "/health":
            return {"status": 200, "json": {"status": "ok"}}
        case "/completion":
            return {"sse": list(completion_frames(request))}
        case "/v1/chat/completions":
            return {"sse": list(chat_frames(request))}
        case "/tokenize":
            tokens = tokens_of(request.get("content", ""), special=bool(request.get("add_special")))
            return {"status": 200, "json": {"tokens": tokens}}
        case "/detokenize":
            return {"status": 200, "json": {"content": text_of(request.get("tokens", []))}}
        case "/apply-template":
            return {"status": 200, "json": {"prompt": rendered(request)}}
        case "/v1/embeddings":
            return {"status": 200, "json": embeddings(request)}
        case "/v1/rerank" if "--reranking" in ARGUMENTS:
            return {"status": 200, "json": ranking(request)}
        case "/props":
            return {"status": 200, "json": properties()}
        case "/slots":
            slots = range(int(argument("-np", "1")))
            n_ctx = context_per_slot()
            return {"status": 200, "json": [{"id": i, "n_ctx": n_ctx, "is_processing": False} for i in slots]}
        case _:
            error = {"code": 404, "message": "File Not Found", "type": "not_found_error"}
            return {"status": 404, "json": {"error": error}}


# ---- serving ----


class ClientLeft(Exception):
    """The connection was closed from the other side."""


class Exchange:
    """One request on a connection of its own."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.method = self.path = self.body = ""
        self.headers: dict[str, str] = {}
        self.request: Json = {}
        self.number: int | None = None
        self.left = threading.Event()

    def run(self) -> None:
        try:
            if self.read():
                self.answer()
        except (ClientLeft, ConnectionError):
            log("client-gone", path=self.path, n=self.number)
        finally:
            self.end()
            self.connection.close()

    def end(self) -> None:
        """Write down, once, that this request is over: before its last byte, so who read that can look."""
        number, self.number = self.number, None
        if number is not None:
            log("end", path=self.path, n=number)

    def read(self) -> bool:
        raw = b""
        while b"\r\n\r\n" not in raw:
            piece = self.connection.recv(65536)
            if not piece:
                return False
            raw += piece
        head, body = raw.split(b"\r\n\r\n", 1)
        first, *lines = head.decode().split("\r\n")
        self.method, target, _ = first.split(" ", 2)
        self.path = target.split("?")[0]
        for line in lines:
            name, _, value = line.partition(":")
            self.headers[name.lower()] = value.strip()
        length = int(self.headers.get("content-length", 0))
        while len(body) < length and (piece := self.connection.recv(1 << 20)):
            body += piece
        while self.headers.get("transfer-encoding") and not body.endswith(b"0\r\n\r\n"):
            body += self.connection.recv(1 << 20)
        self.body = body.decode(errors="replace")
        try:
            self.request = json.loads(self.body) if self.body else {}
        except ValueError:
            self.request = {}
        return True

    def answer(self) -> None:
        todo = script()
        if self.path == "/health" and "health" not in todo:
            if time.time() < READY_AT:
                error = {"message": "Loading model", "type": "unavailable_error", "code": 503}
                self.send(503, json.dumps({"error": error}).encode())
            else:
                self.send(200, b'{"status":"ok"}')
            return
        self.number = next_number("any")
        headers = {
            name: value for name, value in self.headers.items() if name not in ("host", "content-length")
        }
        log("request", method=self.method, path=self.path, headers=headers, body=self.body, n=self.number)
        scripted = todo.get("answers", {}).get(self.path)
        number = next_number(self.path) if scripted is not None else 0
        found = entry(scripted, number, repeat=bool(todo.get("answers_repeat")))
        self.give(found or ordinary_answer(self.path, self.request))

    def give(self, answer: Json) -> None:
        if "sleep" in answer:
            time.sleep(answer["sleep"])
        if "prefill" in answer:
            self.watch()
            self.wait(answer["prefill"])
        if "stderr" in answer:
            say(*answer["stderr"])
            settle()
        if "exit" in answer:
            leave(answer["exit"])
        if answer.get("drop"):
            return
        if "status" in answer:
            text = json.dumps(answer["json"]) if "json" in answer else answer.get("body", "")
            self.send(answer["status"], text.encode(), answer.get("type", "application/json"))
            return
        self.stream(answer["sse"])

    def send(self, status: int, body: bytes, kind: str = "application/json") -> None:
        head = (
            f"HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
            "Connection: close\r\n\r\n"
        )
        self.end()
        self.connection.sendall(head.encode() + body)

    def stream(self, items: list[Json]) -> None:
        self.connection.sendall(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n"
            b"Keep-Alive: timeout=5, max=100\r\n\r\n"
        )
        self.watch()
        for item in items:
            if self.left.is_set():
                raise ClientLeft
            if self.stream_item(item):
                return
        self.end()
        self.connection.sendall(b"0\r\n\r\n")

    def stream_item(self, item: Json) -> bool:
        """Send or do one item; whether the stream ends with it."""
        match item:
            case {"$sleep": seconds}:
                self.wait(seconds)
            case {"$stderr": lines}:
                say(*lines)
                settle()
            case {"$exit": status}:
                settle()
                leave(status)
            case {"$kill": number}:
                settle()
                die(number)
            case {"$abort": _}:
                settle()
                self.connection.shutdown(socket.SHUT_RDWR)
                return True
            case {"$join": parts}:
                self.chunk(b"".join(raw(part) for part in parts))
            case {"$repeat": count, "event": event}:
                for _ in range(count):
                    self.chunk(raw(event))
            case _:
                self.chunk(raw(item))
        return False

    def chunk(self, data: bytes) -> None:
        if data:
            self.connection.sendall(b"%x\r\n%s\r\n" % (len(data), data))

    def watch(self) -> None:
        threading.Thread(target=self.wait_for_the_client_to_leave, daemon=True).start()

    def wait_for_the_client_to_leave(self) -> None:
        try:
            while self.connection.recv(4096):
                pass
        except OSError:
            pass
        self.left.set()

    def wait(self, seconds: float) -> None:
        if self.left.wait(seconds):
            raise ClientLeft


def raw(item: Json) -> bytes:
    """The bytes of one item of a stream."""
    match item:
        case str():
            return item.encode()
        case {"$b64": text}:
            return base64.b64decode(text)
        case {"$big": length, "event": event}:
            text = json.dumps(event, separators=(",", ":")).replace("$BIG", "x" * length)
            return f"data: {text}\n\n".encode()
        case _:
            return f"data: {json.dumps(item, ensure_ascii=False, separators=(',', ':'))}\n\n".encode()


def leave(status: int) -> None:
    log("exit", code=status)
    os._exit(status)


def die(number: int) -> None:
    log("exit", signal=number)
    os.kill(os.getpid(), number)
    signal.pause()


# ---- the life of the process ----


def load(todo: Json) -> None:
    """Do what the script says about this start, up to the point where the socket opens."""
    say(*todo.get("stderr", []))
    if todo.get("ignore_sigterm"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if "sleep" in todo:
        time.sleep(todo["sleep"])
    if "kill" in todo:
        die(todo["kill"])
    if "exit" in todo and "loading_s" not in todo:
        leave(todo["exit"])


def end_of_loading(todo: Json) -> None:
    time.sleep(todo["loading_s"])
    say(*todo.get("stderr_after", []))
    if "exit" in todo:
        leave(todo["exit"])


def listen() -> socket.socket:
    host, port = argument("--host", "127.0.0.1"), int(argument("--port", "8080"))
    if host.endswith(".sock"):
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(host)
        where = f"unix://{host}"
    else:
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        where = f"http://{host}:{port}"
    listener.listen(64)
    say("srv  llama_server: model loaded", f"srv  llama_server: listening on {where}")
    return listener


def serve(listener: socket.socket) -> None:
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=Exchange(connection).run, daemon=True).start()


READY_AT = 0.0


def main() -> None:
    global READY_AT
    if "--version" in ARGUMENTS:
        say("version: 0.6.0-dev (build 11434, commit pin)", "built with a script")
    elif "--list-devices" in ARGUMENTS:
        list_devices()
    elif "--model" not in ARGUMENTS:
        run_without_model()
    else:
        todo = script()
        log("launch", argv=ARGUMENTS, env=environment())
        this = entry(todo.get("loads"), next_number("launch"), repeat=bool(todo.get("loads_repeat"))) or {}
        load(this)
        READY_AT = math.inf if "exit" in this else time.time() + this.get("loading_s", 0)
        if "loading_s" in this:
            threading.Thread(target=end_of_loading, args=(this,), daemon=True).start()
        serve(listen())


if __name__ == "__main__":
    main()
