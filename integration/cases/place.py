"""A daemon over a scripted engine, and short ways to make models, to script replies and to ask."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from typing import Any

from integration.toy import PATIENCE_S, get, post, request_head, upload
from tests.engine_replay.stand_in import Event, StandIn, stand_in
from tests.gguf_builder import Tensor, build_gguf
from tests.http_replay.daemon import daemon_process
from tests.http_replay.transport import Answer, Server

Json = dict[str, Any]

PLAIN = "{{ range .Messages }}<|{{ .Role }}|>{{ .Content }}\n{{ end }}<|assistant|>"
"""A Go template without tools and without thoughts."""
TOOLS = (
    "{{ if .Tools }}Tools: {{ .Tools }}\n{{ end }}{{ range .Messages }}<|{{ .Role }}|>{{ .Content }}"
    '{{ if .ToolCalls }}{{ range .ToolCalls }}<tool_call>{"name": "{{ .Function.Name }}", "arguments": '
    "{{ .Function.Arguments }}}</tool_call>{{ end }}{{ end }}\n{{ end }}<|assistant|>"
)
"""One whose calls stand between tags."""
BARE = TOOLS.replace("<tool_call>", "").replace("</tool_call>", "")
"""One whose calls are plain JSON."""
THINKING = (
    "{{ range .Messages }}<|{{ .Role }}|>{{ if .Thinking }}<think>{{ .Thinking }}</think>{{ end }}"
    "{{ .Content }}\n{{ end }}<|assistant|>"
)
"""One that knows thoughts."""
JINJA = (
    "{%- for m in messages -%}<|{{ m.role }}|>{{ m.content }}\n{%- endfor -%}"
    "{%- if tools -%}{{ tools | tojson }}{%- endif -%}<|assistant|>"
)
"""A chat template in the weights: the engine makes the prompts."""
CALL = '<tool_call>{"name": "find", "arguments": {"pattern": "*.txt", "depth": 2}}</tool_call>'
"""A call as the model writes it."""
FULL_WINDOW = {"stop_type": "limit", "truncated": True}
OUT_OF_BUDGET = {"stop_type": "limit"}


@dataclass(slots=True)
class Place:
    """A daemon, its engine, and what has been asked of it."""

    server: Server
    engine: StandIn
    log_file: Path
    _made: set[str] = field(default_factory=set)
    _moment: int = 0
    _log_moment: int = 0

    def model(
        self,
        name: str,
        *,
        metadata: Mapping[str, Any] | None = None,
        more_files: Mapping[str, str] | None = None,
        **members: Any,
    ) -> str:
        """Make a model, if this place has none of that name; ``metadata`` goes into its file."""
        if name not in self._made:
            files = {"m.gguf": upload(self.server, weights(name, metadata or {})), **(more_files or {})}
            body = {"model": name, "files": files, "stream": False, **members}
            answer = post(self.server, "/api/create", body)
            assert answer.status == 200, answer
            self._made.add(name)
        return name

    def alias(self, name: str, base: str, **members: Any) -> str:
        """Make a model of another one."""
        if name not in self._made:
            body = {"model": name, "from": base, "stream": False, **members}
            assert post(self.server, "/api/create", body).status == 200
            self._made.add(name)
        return name

    def forget(self, name: str) -> None:
        """Delete a model."""
        request = {"method": "DELETE", "path": "/api/delete", "json": {"model": name}}
        assert self.server.send(request).status == 200
        self._made.discard(name)

    def native(self, name: str, template: str = JINJA, **members: Any) -> str:
        """Make a model whose prompts the engine makes."""
        return self.model(name, metadata={"tokenizer.chat_template": template}, **members)

    def embedder(self, name: str = "embedder", context: int = 512) -> str:
        """Make a model that embeds texts of that many tokens."""
        facts = {"block_count": 1, "context_length": context, "embedding_length": 4, "pooling_type": 1}
        metadata = {f"bert.{key}": value for key, value in facts.items()}
        architecture = {"general.architecture": "bert", "tokenizer.ggml.model": "bert"}
        return self.model(name, metadata=architecture | metadata)

    def embed(self, model: str, texts: Any, **members: Any) -> Answer:
        """The vectors of texts."""
        return post(self.server, "/api/embed", {"model": model, "input": texts, **members})

    def script(self, **members: Any) -> None:
        """Tell the engine what to do, and forget what it was asked."""
        self.engine.script(members)
        self._moment = self.engine.now()
        self._log_moment = self.log_file.stat().st_size

    def says(self, *replies: Sequence[str | Json]) -> None:
        """Answer completions and chats with these pieces; a last object says how a reply ends."""
        self.script(
            answers={
                "/completion": [{"sse": list(completion(reply))} for reply in replies],
                "/v1/chat/completions": [{"sse": list(native_reply(reply))} for reply in replies],
            },
            answers_repeat=True,
        )

    def chat(self, model: str, *messages: str | Json, **members: Any) -> Answer:
        """A reply in one piece; bare texts are the user's."""
        return post(self.server, "/api/chat", {**_chat(model, messages), "stream": False, **members})

    def streamed(self, model: str, *messages: str | Json, **members: Any) -> list[Json]:
        """The records of a reply."""
        answer = post(self.server, "/api/chat", {**_chat(model, messages), **members})
        assert answer.status == 200, answer
        records: list[Json] = answer.body
        return records

    def generate(self, model: str, prompt: str = "x", **members: Any) -> Answer:
        """A reply in one piece."""
        body = {"model": model, "prompt": prompt, "stream": False, **members}
        return post(self.server, "/api/generate", body)

    @contextmanager
    def asked(self, path: str, body: Json) -> Iterator[None]:
        """A client that waits for an answer and goes at the end of the block."""
        content = json.dumps(body).encode()
        with socket.create_connection((self.server.host, self.server.port), timeout=PATIENCE_S) as client:
            client.sendall(request_head(self.server, path, len(content)) + content)
            yield

    def prompt(self, model: str, *messages: str | Json, **members: Any) -> str:
        """The prompt of a conversation."""
        answer = self.chat(model, *messages, _debug_render_only=True, **members)
        assert answer.status == 200, answer
        text: str = answer.body["_debug_info"]["rendered_template"]
        return text

    def calls(self, path: str) -> list[Json]:
        """What the engine was asked at ``path`` since it was scripted."""
        return [json.loads(event["body"]) for event in self.events("request") if event["path"] == path]

    def events(self, kind: str) -> list[Event]:
        """What the engine told since it was scripted."""
        return [event for event in self.engine.since(self._moment) if event["ev"] == kind]

    def heard(self, event: str, *, after: int | None = None, **members: Any) -> Event:
        """Wait until the engine tells this, now or since it was scripted."""
        return self.engine.heard(event, after=self._moment if after is None else after, **members)

    def log(self) -> str:
        """What the daemon has logged since the engine was scripted."""
        return self.log_file.read_bytes()[self._log_moment :].decode(errors="replace")

    def loaded(self) -> list[Json]:
        """The entries of ``/api/ps``."""
        models: list[Json] = get(self.server, "/api/ps").body["models"]
        return models

    def unload(self) -> None:
        """Nothing is loaded any more."""
        for model in self.loaded():
            post(self.server, "/api/generate", {"model": model["model"], "keep_alive": 0})
        while self.engine.processes():
            self.engine.wait(0.01)

    def clear(self) -> None:
        """Nothing is loaded any more, the engine has no script and was asked nothing."""
        self.script()
        self.unload()
        self.script()


@contextmanager
def place(folder: Path, environment: Mapping[str, str] | None = None) -> Iterator[Place]:
    """A place in ``folder``."""
    with (
        stand_in(folder) as engine,
        daemon_process(folder, engine.environment | dict(environment or {})) as daemon,
    ):
        yield Place(daemon.server, engine, daemon.log)


def weights(name: str, metadata: Mapping[str, Any]) -> bytes:
    """A model file that only a scripted engine can run; another name makes another file."""
    facts = {
        "general.architecture": "llama",
        "general.name": name,
        "llama.block_count": 1,
        "llama.context_length": 32768,
        "tokenizer.ggml.model": "gpt2",
    }
    return build_gguf(facts | dict(metadata), [Tensor("token_embd.weight", (32, 4))])


def completion(reply: Sequence[str | Json]) -> Iterator[Json]:
    """A reply as the engine's ``/completion`` streams it."""
    pieces, end = _reply(reply)
    for piece in pieces:
        yield {"content": piece, "stop": False}
    count = len(pieces)
    yield {"content": "", "stop": True, "stop_type": "eos", "timings": _timings(count), **end}


def native_reply(reply: Sequence[str | Json]) -> Iterator[Json | str]:
    """A reply as the engine's ``/v1/chat/completions`` streams it; objects within are deltas."""
    pieces, end = _reply(reply)
    for piece in pieces:
        yield _delta({"content": piece})
    finish = "length" if end.get("stop_type") == "limit" else "stop"
    yield {**_delta({}, finish), "timings": _timings(len(pieces))}
    yield "data: [DONE]\n\n"


def deltas(*parts: Json, finish: str = "stop") -> list[Json | str]:
    """A stream of ``/v1/chat/completions`` made of these deltas."""
    end = {**_delta({}, finish), "timings": _timings(len(parts))}
    return [*map(_delta, parts), end, "data: [DONE]\n\n"]


def folded(records: Sequence[Json]) -> Json:
    """The message of a stream, and how it ended: what a reply in one piece would have said."""
    messages = [record["message"] for record in records]
    last = records[-1]
    return {
        "content": "".join(message["content"] for message in messages),
        "thinking": "".join(message.get("thinking", "") for message in messages),
        "calls": reduce(list.__add__, (named(message) for message in messages)),
        "done_reason": last.get("done_reason"),
    }


def told(answer: Answer) -> Json:
    """The same of a reply in one piece."""
    assert answer.status == 200, answer
    return folded([answer.body])


def named(message: Json) -> list[tuple[str, Json]]:
    """The calls in a message: name and arguments."""
    return [
        (call["function"]["name"], call["function"]["arguments"]) for call in message.get("tool_calls", [])
    ]


def tool(name: str, /, required: Sequence[str] = (), **properties: Any) -> Json:
    """The definition of a tool; a property is its type, or its whole schema."""
    schemas = {key: {"type": value} if isinstance(value, str) else value for key, value in properties.items()}
    parameters = {"type": "object", "properties": schemas, "required": list(required)}
    return {"type": "function", "function": {"name": name, "description": name, "parameters": parameters}}


def _chat(model: str, messages: Sequence[str | Json]) -> Json:
    whole = [{"role": "user", "content": m} if isinstance(m, str) else m for m in messages]
    return {"model": model, "messages": whole}


def _reply(reply: Sequence[str | Json]) -> tuple[list[str], Json]:
    pieces = [piece for piece in reply if isinstance(piece, str)]
    return pieces, next((piece for piece in reply if isinstance(piece, dict)), {})


def _delta(delta: Json, finish: str | None = None) -> Json:
    return {
        "id": "chatcmpl-x",
        "object": "chat.completion.chunk",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    }


def _timings(count: int) -> Json:
    return {"cache_n": 0, "prompt_n": 8, "prompt_ms": 1.5, "predicted_n": count, "predicted_ms": 2.5}
