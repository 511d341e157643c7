"""A ready llama-server that serves one model."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractContextManager, aclosing, asynccontextmanager, nullcontext
from dataclasses import replace
from datetime import timedelta

from orchestrator.domain.chunks import Batches
from orchestrator.domain.loads import LoadSpec
from orchestrator.errors import EngineRefused, OrchestratorError, RunnerFailed, ShuttingDown
from orchestrator.runners.base import ChatCall, CompletionCall, Embedding, MemoryUse, Ranking
from orchestrator.runners.connection import Channel, EngineUnreachable
from orchestrator.runners.lifecycle import Ready, Stopped
from orchestrator.runners.llama import bodies, client
from orchestrator.runners.llama.constraints import in_clear_words, needs_grammar, with_grammar
from orchestrator.runners.llama.frames import ChatDecoder, CompletionDecoder, Decoder, Wanted
from orchestrator.runners.llama.health import Health, check_health
from orchestrator.runners.llama.launch import Launch
from orchestrator.runners.out_of_memory import says_out_of_memory
from orchestrator.runners.supervisor import EngineProcess
from orchestrator.runners.turns import Turns

logger = logging.getLogger(__name__)

_HEALTH_PATIENCE = timedelta(seconds=10)
_TRUST = timedelta(seconds=1)
"""How long a good health check holds; the death of the process is noticed without one."""
_NO_SLOT_RETRIES = 10
_NO_SLOT_WAIT = timedelta(milliseconds=5)
_DEATH_PATIENCE = timedelta(milliseconds=100)
"""How long the end of a process may take to follow the end of its connections."""
_GONE = (
    "model runner has unexpectedly stopped, this may be due to resource limitations or an internal error, "
    "check ollama server logs for details"
)
_UNDECODED = "Failed to load image or audio file"
_ABOUT_MEDIA = "the engine cannot decode it; for films it needs ffmpeg and ffprobe on the PATH of the server"


class LlamaRunner:
    """Implements ``runners.base.RunnerProcess``."""

    def __init__(
        self,
        process: EngineProcess,
        channel: Channel,
        spec: LoadSpec,
        launch: Launch,
        *,
        parallel: int,
        marker: str,
        reads_schemas: bool,
        turns: Turns | None = None,
    ) -> None:
        self._process = process
        self._channel = channel
        self._spec = replace(spec, options=launch.options)
        self._mmap_auto = launch.mmap_auto
        self._marker = marker
        self._reads_schemas = reads_schemas
        self._slots = asyncio.Semaphore(parallel)
        self._turns = turns
        self._threads = launch.threads
        self._trusted_until = 0.0
        self._dismissed = False
        """The scheduler let it go; from under a request only because the daemon stops."""

    @property
    def spec(self) -> LoadSpec:
        return self._spec

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def mmap_auto(self) -> bool:
        return self._mmap_auto

    @property
    def has_ended(self) -> bool:
        return isinstance(self._process.state, Stopped)

    @property
    def memory(self) -> MemoryUse:
        return self._process.log.sizes.memory_use(self._spec.files.facts.size_bytes)

    def complete(self, call: CompletionCall) -> Batches:
        if needs_grammar(call.format, reads_schemas=self._reads_schemas):
            return self._complete_by_grammar(call)
        return self._complete(call)

    def _complete(self, call: CompletionCall) -> Batches:
        body = bodies.completion_body(call, self._spec, self._marker)
        return self._stream("/completion", body, CompletionDecoder(_wanted(call, body)))

    async def _complete_by_grammar(self, call: CompletionCall) -> Batches:
        batches = self._complete(await asyncio.to_thread(with_grammar, call))
        async with aclosing(batches):
            async for batch in batches:
                yield batch

    def chat(self, call: ChatCall) -> Batches:
        body = bodies.chat_body(call, self._spec)
        return self._stream("/v1/chat/completions", body, ChatDecoder(_wanted(call, body)))

    async def apply_template(self, call: ChatCall) -> str:
        async with self._explained():
            prompt = await client.apply_template(self._channel, bodies.template_body(call))
        for index in range(prompt.count(self._marker)):
            prompt = prompt.replace(self._marker, f"[img-{index}]", 1)
        return prompt

    async def tokenize(self, text: str, *, add_special: bool = False) -> list[int]:
        async with self._explained():
            return await client.tokenize(self._channel, bodies.tokenize_body(text, add_special=add_special))

    async def detokenize(self, tokens: Sequence[int]) -> str:
        async with self._explained():
            return await client.detokenize(self._channel, bodies.detokenize_body(tokens))

    async def embed(self, text: str) -> Embedding:
        async with self._slot(), self._explained():
            body = bodies.embedding_body(text, self._spec.files.facts)
            return await client.embed(self._channel, body)

    async def rerank(self, query: str, documents: Sequence[str]) -> Ranking:
        async with self._slot(), self._explained():
            return await client.rerank(self._channel, bodies.rerank_body(query, documents))

    async def is_healthy(self) -> bool:
        if not isinstance(self._process.state, Ready):
            return False
        health = await check_health(self._channel, patience=_HEALTH_PATIENCE)
        return health in (Health.READY, Health.LOADING, Health.NO_SLOT)

    async def exited(self) -> str:
        return await self._process.exited()

    async def stop(self) -> None:
        self._dismissed = True
        self._channel.close()
        await self._process.stop()

    async def _stream(self, path: str, body: bodies.Body, decoder: Decoder) -> Batches:
        async with self._slot():
            try:
                async with aclosing(client.generate(self._channel, path, body, decoder)) as batches:
                    async for batch in batches:
                        yield batch
            except EngineUnreachable as error:
                raise await self._stopped_unexpectedly() from error
            except client.StreamCutOff as error:
                raise await self._broke_off(str(error)) from error
            except EngineRefused as error:
                raise self._refused(error) from error

    @asynccontextmanager
    async def _slot(self) -> AsyncIterator[None]:
        """One of the engine's places, once it is free and the engine may serve.

        Raises ``RunnerFailed``, ``ShuttingDown``.
        """
        async with self._slots:
            await self._check_ready()
            with self._at_work():
                yield

    def _at_work(self) -> AbstractContextManager[None]:
        """The engine computes, if it does so on the cores that others want too."""
        if self._turns is None or self._threads == 0:
            return nullcontext()
        return self._turns.working(self._process, self._threads or self._turns.cores)

    async def _check_ready(self) -> None:
        """Ask the engine whether it may serve, unless it has just said so and still runs.

        Raises ``RunnerFailed``, ``ShuttingDown``.
        """
        now = asyncio.get_running_loop().time()
        if now < self._trusted_until and isinstance(self._process.state, Ready):
            return
        health = await self._health()
        if health in (Health.NOT_RESPONDING, Health.ERROR) and isinstance(self._process.state, Ready):
            health = await self._health()  # one bad answer may be a hiccup
        for _ in range(_NO_SLOT_RETRIES):
            if health is not Health.NO_SLOT:
                break
            await asyncio.sleep(_NO_SLOT_WAIT.total_seconds())
            health = await self._health()
        if health is Health.READY:
            self._trusted_until = now + _TRUST.total_seconds()
            return
        if self._dismissed:
            raise ShuttingDown
        if isinstance(state := self._process.state, Stopped):
            raise RunnerFailed(f"llama-server process no longer running: {state.cause}")
        if health is Health.NO_SLOT:
            raise RunnerFailed(f"no slots available after {_NO_SLOT_RETRIES} retries")
        raise RunnerFailed(f"unexpected server status: {health.value}")

    async def _health(self) -> Health:
        return await check_health(self._channel, patience=_HEALTH_PATIENCE)

    @asynccontextmanager
    async def _explained(self) -> AsyncIterator[None]:
        """A call that is cut off fails with what happened to the engine, if something did."""
        try:
            yield
        except client.CallCutOff as error:
            await self._process.died_within(_DEATH_PATIENCE)
            if self._dismissed:
                raise ShuttingDown from error
            if death := self._death():
                raise self._failed(error.failing, death) from error
            raise

    async def _stopped_unexpectedly(self) -> OrchestratorError:
        await self._process.died_within(_DEATH_PATIENCE)
        if self._dismissed:
            return ShuttingDown()
        state = self._process.state
        return self._failed(_GONE, state.last_words if isinstance(state, Stopped) else self._errors)

    async def _broke_off(self, why: str) -> OrchestratorError:
        """An answer that ended in the middle leaves a process nobody can trust."""
        await self._process.died_within(_DEATH_PATIENCE)
        if self._dismissed:
            return ShuttingDown()
        words = self._errors or self._death() or why
        await self._process.stop()
        return self._failed("an error was encountered while running the model", words)

    @property
    def _errors(self) -> str:
        return self._process.log.errors.text

    def _death(self) -> str:
        """How the process ended by itself; nothing if it did not."""
        state = self._process.state
        if not isinstance(state, Stopped) or state.asked:
            return ""
        return f"llama-server process has terminated: {state.cause}"

    def _failed(self, message: str, words: str) -> RunnerFailed:
        text = f"{message}: {words}" if words else message
        return RunnerFailed(text, out_of_memory=says_out_of_memory(text))

    def _refused(self, error: EngineRefused) -> EngineRefused:
        """The refusal, with the line of the log that explains it, if memory ran out."""
        why = client.message_in(str(error).encode())  # clients get all of the body, as from Ollama
        logger.info("engine refused a request", extra={"status": error.status, "error": why})
        error = in_clear_words(error)
        if _UNDECODED in why:
            error.advice = _ABOUT_MEDIA
        line = self._process.log.errors.out_of_memory_line
        if not line or line in str(error):
            return error
        return EngineRefused(f"{error}\n{line}", status=error.status)


def _wanted(call: CompletionCall | ChatCall, body: bodies.Body) -> Wanted:
    return Wanted(budget=body.get("n_predict"), top_logprobs=call.top_logprobs, stops=call.options.stop)
