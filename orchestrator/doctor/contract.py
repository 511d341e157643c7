"""Whether an engine is what this program was made for.

That is: the flags it is started with, the lines of its log that are read, the members of its answers that are
relied on.
A llama.cpp newer than the pin is asked the same questions before the pin is moved.

Source: ``llama-server``.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import httpx

from orchestrator.doctor.bare import Arguments, BareEngine, bare_engine
from orchestrator.doctor.tiny import write_tiny_model
from orchestrator.doctor.words import words_of
from orchestrator.domain.loads import LoadSpec, ModelFacts, ModelFiles
from orchestrator.domain.options import Options
from orchestrator.errors import RunnerFailed
from orchestrator.files.facts import model_facts
from orchestrator.process.address import Address
from orchestrator.runners.base import LoadOrder
from orchestrator.runners.engines import EngineInfo
from orchestrator.runners.llama.launch import EngineSettings, plan_launch
from orchestrator.runners.llama.log_reader import ErrorLines, SizeLines, without_prefix

FLAGS = (
    *("--model", "--host", "--port", "--no-webui", "--offline", "--metrics"),
    *("-c", "-np", "-b", "-ub", "-ngl", "-t"),
    *("--log-verbosity", "--no-log-prefix", "--no-log-timestamps", "--no-jinja", "--chat-template"),
    *("--mmproj", "--no-mmproj-offload", "--image-min-tokens", "--lora", "--load-mode"),
    *("--cache-type-k", "--cache-type-v", "--flash-attn", "--embedding", "--reranking"),
    *("--split-mode", "--main-gpu", "--context-shift", "--keep", "--no-warmup", "--fit", "--cache-ram"),
    *("--spec-type", "--spec-draft-n-max", "--spec-draft-model", "--spec-draft-backend-sampling"),
)
"""Every flag that a launch plan may hold."""

_PATIENCE_S = 30.0
_FLAG = re.compile(r"(?<![\w-])--?[a-zA-Z][\w-]*")
_TIMINGS = ("cache_n", "prompt_n", "prompt_ms", "predicted_n", "predicted_ms")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    subject: str
    problem: str = ""
    """Why it is not as it must be; empty if it is."""

    @property
    def holds(self) -> bool:
        return not self.problem


class _Broken(Exception):
    """An answer is not as it must be; str() says how."""


def check(engine: EngineInfo, environ: Mapping[str, str]) -> Iterator[Finding]:
    """Look at everything, one finding after the other."""
    yield from _flags(engine, environ)
    with tempfile.TemporaryDirectory(prefix="orch-contract-") as folder:
        weights = Path(folder) / "tiny.gguf"
        write_tiny_model(weights)
        facts = model_facts(weights)
        yield _finding("a file that is no model is told", partial(_refused, engine, environ, Path(folder)))
        yield from _served(engine, environ, _planned(engine, environ, weights, facts), _GENERATING)
        embedding = _planned(engine, environ, weights, ModelFacts(architecture="llama", pooling_type=1))
        yield from _served(engine, environ, _pooled(embedding), _EMBEDDING)


def flags_of(engine: EngineInfo, environ: Mapping[str, str]) -> frozenset[str]:
    """The flags that ``engine`` says it takes."""
    return frozenset(_FLAG.findall(words_of(engine, environ, "--help")))


def _flags(engine: EngineInfo, environ: Mapping[str, str]) -> Iterator[Finding]:
    known = flags_of(engine, environ)
    for flag in FLAGS:
        yield Finding(f"flag {flag}", "" if flag in known else "it is not in --help")


def _planned(engine: EngineInfo, environ: Mapping[str, str], weights: Path, facts: ModelFacts) -> Arguments:
    """A real launch plan for the tiny model."""
    files = ModelFiles(key="tiny", name="tiny", digest="", weights=weights, facts=facts)
    order = LoadOrder(spec=LoadSpec(files=files, options=Options(num_ctx=512)), parallel=2)

    def arguments(address: Address, marker: str) -> Sequence[str]:
        launch = plan_launch(
            order,
            EngineSettings(environ=environ),
            engine,
            address=address,
            media_marker=marker,
            link_dir=weights.parent,
        )
        return launch.argv[len(engine.argv_prefix) :]

    return arguments


def _pooled(arguments: Arguments) -> Arguments:
    """With the pooling that a model for embeddings would name itself."""
    return lambda address, marker: (*arguments(address, marker), "--pooling", "mean")


def _served(
    engine: EngineInfo,
    environ: Mapping[str, str],
    arguments: Arguments,
    looks: Mapping[str, Callable[[BareEngine], None]],
) -> Iterator[Finding]:
    with bare_engine(engine, arguments, environ) as running:
        try:
            running.wait_until_ready()
        except RunnerFailed as error:
            yield Finding("it starts with a planned command line", str(error))
            return
        for subject, look in looks.items():
            yield _finding(subject, partial(look, running))


def _finding(subject: str, look: Callable[[], None]) -> Finding:
    try:
        look()
    except (_Broken, httpx.HTTPError, ValueError, KeyError, IndexError, TypeError) as error:
        return Finding(subject, str(error) if isinstance(error, _Broken) else repr(error))
    return Finding(subject)


def _expect(condition: object, problem: str) -> None:
    if not condition:
        raise _Broken(problem)


def _refused(engine: EngineInfo, environ: Mapping[str, str], folder: Path) -> None:
    garbage = folder / "garbage.gguf"
    garbage.write_bytes(b"garbage" * 100)
    facts = ModelFacts(architecture="llama")
    with bare_engine(engine, _planned(engine, environ, garbage, facts), environ) as running:
        status = running.process.wait(_PATIENCE_S)
        errors = ErrorLines()
        for line in running.log():
            errors.feed(without_prefix(line))
    _expect(status == 1, f"exit status {status}, not 1")
    _expect(errors.text, "no line of its log is read as an error")


def _sizes(running: BareEngine) -> None:
    sizes = SizeLines()
    for line in running.log():
        sizes.feed(without_prefix(line))
    kinds = {kind for _, _, kind in sizes.buffers}
    _expect({"model", "KV", "compute"} <= kinds, f"sizes of {sorted(kinds)} only")


def _slots_line(running: BareEngine) -> None:
    sizes = SizeLines()
    for line in running.log():
        sizes.feed(without_prefix(line))
    _expect((sizes.slots, sizes.context_per_slot) == (2, 512), f"{sizes.slots} of {sizes.context_per_slot}")


def _listening_line(running: BareEngine) -> None:
    _expect(any("listening on" in line for line in running.log()), "no line has it")


def _healthy(running: BareEngine) -> None:
    _expect(running.health() == (200, {"status": "ok"}), str(running.health()))


def _frames(running: BareEngine, path: str, body: Mapping[str, Any]) -> list[Any]:
    """The events of a streamed answer; ``[DONE]`` as a text."""
    answer = running.http.post(path, json={**body, "stream": True})
    _expect(answer.status_code == 200, f"status {answer.status_code}: {answer.text}")
    events = [line.removeprefix("data: ") for line in answer.text.splitlines() if line.startswith("data: ")]
    return [event if event == "[DONE]" else json.loads(event) for event in events]


def _completion(running: BareEngine) -> None:
    body = {"prompt": "Hello", "n_predict": 3, "temperature": 0, "n_probs": 2}
    *frames, last = _frames(running, "/completion", body)
    _expect(frames and all("content" in frame and not frame["stop"] for frame in frames), "content, stop")
    probabilities = frames[0]["completion_probabilities"][0]
    _expect({"token", "logprob", "top_logprobs"} <= probabilities.keys(), "completion_probabilities")
    _expect(last["stop"] is True and last["stop_type"] == "limit", "stop, stop_type")
    _expect({"stopping_word", "truncated", "timings"} <= last.keys(), "members of the last frame")
    _expect(set(_TIMINGS) <= last["timings"].keys(), "timings")


def _chat(running: BareEngine) -> None:
    body = {"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 3, "n_predict": 3}
    frames = _frames(running, "/v1/chat/completions", body)
    _expect(frames[-1] == "[DONE]", "no [DONE]")
    choices = [frame["choices"][0] for frame in frames[:-1]]
    _expect(all("delta" in choice for choice in choices), "choices[0].delta")
    _expect(choices[-1]["finish_reason"] == "length", "finish_reason")
    _expect(set(_TIMINGS) <= frames[-2]["timings"].keys(), "timings")


def _tokens(running: BareEngine) -> None:
    tokens = running.http.post("/tokenize", json={"content": "Hello", "add_special": False}).json()["tokens"]
    _expect(tokens and all(isinstance(token, int) for token in tokens), "tokens")
    text = running.http.post("/detokenize", json={"tokens": tokens}).json()["content"]
    _expect("Hello" in text, f"detokenized to {text!r}")


def _prompt(running: BareEngine) -> None:
    body = {"messages": [{"role": "user", "content": "Hello"}]}
    prompt = running.http.post("/apply-template", json=body).json()["prompt"]
    _expect("Hello" in prompt, "prompt")


def _grammar(running: BareEngine) -> None:
    body = {"prompt": "Hello", "n_predict": 8, "grammar": 'root ::= "yes"'}
    text = "".join(frame["content"] for frame in _frames(running, "/completion", body))
    _expect(text == "yes", f"the grammar was not obeyed: {text!r}")


def _envelope(running: BareEngine) -> None:
    answer = running.http.post("/completion", json={"prompt": "Hello", "repeat_last_n": -1})
    _expect(answer.status_code == 400, f"status {answer.status_code} for a bad option")
    _expect({"code", "message", "type"} <= answer.json()["error"].keys(), "members of the error")


def _overflow(running: BareEngine) -> None:
    answer = running.http.post("/completion", json={"prompt": [5] * 2000, "n_predict": 1})
    error = answer.json()["error"]
    _expect(answer.status_code == 400 and error["type"] == "exceed_context_size_error", str(error))
    _expect({"n_prompt_tokens", "n_ctx"} <= error.keys(), "n_prompt_tokens, n_ctx")


def _vector(running: BareEngine) -> None:
    body = {"input": "Hello", "embd_normalize": -1}
    document = running.http.post("/v1/embeddings", json=body).json()
    _expect(len(document["data"][0]["embedding"]) > 1, "data[0].embedding")
    _expect(document["usage"]["prompt_tokens"] > 0, "usage.prompt_tokens")


_GENERATING: Mapping[str, Callable[[BareEngine], None]] = {
    "log: sizes of buffers": _sizes,
    "log: slots": _slots_line,
    "log: that it listens": _listening_line,
    "GET /health": _healthy,
    "POST /completion": _completion,
    "POST /v1/chat/completions": _chat,
    "POST /tokenize, /detokenize": _tokens,
    "POST /apply-template": _prompt,
    "grammars": _grammar,
    "errors of requests": _envelope,
    "prompts that are too long": _overflow,
}
_EMBEDDING: Mapping[str, Callable[[BareEngine], None]] = {"POST /v1/embeddings": _vector}
