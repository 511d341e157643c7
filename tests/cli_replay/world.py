"""The world of the recordings: two servers, a library of models, a registry, and names for all of them."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import socket
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx

from tests.cli_replay import files
from tests.cli_replay.registry import loopback_registry
from tests.golden_records import FOLDER
from tests.http_replay.daemon import free_port, running_daemon

Case = Mapping[str, Any]

_UNLOAD_DEADLINE_S = 20.0
_POLL_S = 0.05
_FOREIGN = re.compile(r"(OLLAMA|ORCH|HTTPS?_PROXY|https?_proxy|ALL_PROXY|all_proxy)")
_PROGRAM = Path(sys.executable).with_name("orch")


class World:
    """Everything a recorded command may touch, below one folder."""

    def __init__(self, folder: Path, addresses: Mapping[str, str], names: Mapping[str, str]) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.library: Mapping[str, Mapping[str, Any]] = json.loads((FOLDER / "cli/library.json").read_text())
        self._addresses = addresses
        self._stock: dict[str, str] = {}
        self._files: dict[str, tuple[str, Path]] = {}
        self._is_in_order = False
        self._names = {
            "<GGUF>": str(folder / "base.gguf"),
            "<HALF>": str(folder / "half.gguf"),
            "<HOME>": str(self.home),
            "<DEAD>": addresses["none"],
            **names,
        }
        (folder / "base.gguf").symlink_to(files.base())
        (folder / "half.gguf").symlink_to(files.half())

    def environment(self, **more: str) -> dict[str, str]:
        """The variables of every program of this world."""
        kept = {name: value for name, value in os.environ.items() if not _FOREIGN.match(name)}
        own = {
            "HOME": str(self.home),
            "TERM": "xterm-256color",
            "NO_PROXY": "127.0.0.1,localhost",
            "ORCH_RUN_DIR": str(self.folder / "run"),
        }
        return kept | own | more

    def prepare(self, case: Case) -> Path:
        """Bring everything into the state a case begins with; gives its folder."""
        folder = self.folder / "cwd"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        server = case["server"]
        host = self._addresses[server]
        self._names |= {
            "<CWD>": str(folder),
            "<MODELS>": str(self.folder / server / "models"),
            "<HOST>": host,
            "<PORT>": host.rpartition(":")[2],
        }
        if server == "library":
            self.restock(ordered=bool(case.get("in_order")))
            if case.get("loaded") is not None:
                self._load_only(case["loaded"])
        for method, path, body in case.get("before") or ():
            self.call(server, method, path, json.loads(self.fill(json.dumps(body))))
        for name, text in (case.get("files") or {}).items():
            (folder / name).write_text(self.fill(text))
        return folder

    def variables(self, case: Case) -> dict[str, str]:
        """The environment of a case."""
        own = {name: self.fill(value) for name, value in (case.get("env") or {}).items()}
        return self.environment(OLLAMA_HOST=self._addresses[case["server"]]) | own

    def command(self, arguments: Sequence[str]) -> list[str]:
        """The program with arguments as recorded."""
        return [str(_PROGRAM), *map(self.fill, arguments)]

    def fill(self, text: str) -> str:
        """A recorded text with our own names in it."""
        for mask, name in self._names.items():
            text = text.replace(mask, name)
        return text

    def unfill(self, text: str) -> str:
        """A text of ours with masks for names, the longest first; a port may also be part of a number."""
        for mask, name in sorted(self._names.items(), key=lambda item: -len(item[1])):
            text = re.sub(rf"(?<![\d.]){re.escape(name)}(?!\d)", mask, text)
        return text

    def call(self, server: str, method: str, path: str, body: Any = None) -> Any:
        """One request to a server; gives its JSON. Raises ``httpx.HTTPStatusError``."""
        content = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        with httpx.Client(trust_env=False, timeout=120) as client:
            reply = client.request(method, f"http://{self._addresses[server]}{path}", content=content)
        reply.raise_for_status()
        return json.loads(reply.content) if reply.content.strip() else None

    def restock(self, *, ordered: bool) -> None:
        """Have the library hold exactly its models; with ``ordered`` their ages follow their names."""
        if ordered and not self._is_in_order:
            self._stock.clear()
        held = {
            model["name"]: model["digest"] for model in self.call("library", "GET", "/api/tags")["models"]
        }
        wanted = {f"{name}:latest": fields for name, fields in self.library.items()}
        for name in held.keys() - wanted.keys():
            self.call("library", "DELETE", "/api/delete", {"model": name})
        for name in sorted(wanted):
            if name not in held or held[name] != self._stock.get(name):
                self._create(name, dict(wanted[name]))
                self._is_in_order = ordered
                if ordered:
                    time.sleep(1.05)  # lists are sorted by age in whole seconds

    def _create(self, name: str, fields: dict[str, Any]) -> None:
        digest, path = self._file(fields.pop("file"))
        try:
            self.call("library", "HEAD", f"/api/blobs/{digest}")
        except httpx.HTTPStatusError:
            self.call("library", "POST", f"/api/blobs/{digest}", path.read_bytes())
        body = {"model": name, "files": {"model.gguf": digest}, "stream": False} | fields
        self.call("library", "POST", "/api/create", body)
        models = self.call("library", "GET", "/api/tags")["models"]
        self._stock[name] = next(model["digest"] for model in models if model["name"] == name)

    def _file(self, name: str) -> tuple[str, Path]:
        if name not in self._files:
            path = files.pooled() if name == "pooled" else files.base()
            self._files[name] = f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}", path
        return self._files[name]

    def _load_only(self, models: Sequence[tuple[str, Any]]) -> None:
        for model in self.call("library", "GET", "/api/ps")["models"]:
            body = {"model": model["name"], "keep_alive": 0, "stream": False}
            self.call("library", "POST", "/api/generate", body)
        deadline = time.monotonic() + _UNLOAD_DEADLINE_S
        while self.call("library", "GET", "/api/ps")["models"] and time.monotonic() < deadline:
            time.sleep(_POLL_S)  # the API tells who is loaded, but not when that changes
        for name, keep_alive in models:
            body = {"model": name, "keep_alive": keep_alive}
            if name == "embedder":
                self.call("library", "POST", "/api/embed", body | {"input": "x"})
            else:
                self.call("library", "POST", "/api/generate", body | {"stream": False})


@contextmanager
def running_world(folder: Path) -> Iterator[World]:
    """A world with its servers up and its library stocked; their way to registries far away is closed."""
    (folder / "home").mkdir()
    closed = {"HOME": str(folder / "home"), "HTTPS_PROXY": "http://127.0.0.1:1", "OLLAMA_NO_CLOUD": ""}
    with ExitStack() as stack:
        registry = stack.enter_context(loopback_registry())
        busy = stack.enter_context(socket.socket())
        busy.bind(("127.0.0.1", 0))
        busy.listen()
        addresses = {"none": f"127.0.0.1:{free_port()}"}
        for name in ("empty", "library"):
            (folder / name).mkdir()
            addresses[name] = stack.enter_context(running_daemon(folder / name, closed)).address
        names = {"<REGISTRY>": registry, "<BUSY>": f"127.0.0.1:{busy.getsockname()[1]}"}
        world = World(folder, addresses, names)
        world.restock(ordered=True)
        yield world
