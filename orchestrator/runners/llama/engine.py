"""Loading of models into llama-server processes."""

from __future__ import annotations

import logging
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from orchestrator.domain.loads import ModelFiles
from orchestrator.errors import RunnerFailed
from orchestrator.process.address import Address, RunDirectory, TcpAddress, free_port
from orchestrator.runners.base import LoadOrder, PreparedFiles
from orchestrator.runners.connection import Channel
from orchestrator.runners.engines import EngineInfo, Transport
from orchestrator.runners.llama.health import check_health
from orchestrator.runners.llama.launch import EngineSettings, Launch, media_marker, plan_launch
from orchestrator.runners.llama.older import DISPENSABLE, UnknownFlag, unknown_flag, without
from orchestrator.runners.supervisor import EngineProcess
from orchestrator.runners.turns import Turns

if TYPE_CHECKING:
    from orchestrator.runners.llama.runner import LlamaRunner

logger = logging.getLogger(__name__)

_HEALTH_PATIENCE = timedelta(milliseconds=200)
_PORT_TRIES = 3

Preparation = Callable[[ModelFiles], Awaitable[PreparedFiles]]
"""Gives files that the engine can load for those of a model. Raises an ``OrchestratorError``."""


class _PortTaken(RunnerFailed):
    """Somebody else listens on the port that was free a moment ago."""


class _NoRoomWithProjector(RunnerFailed):
    """Memory ran out, and the projector could go elsewhere."""


@dataclass(frozen=True, slots=True)
class LlamaEngine:
    """Implements ``runners.base.Engine`` with a llama-server, native or embedded."""

    info: EngineInfo
    settings: EngineSettings
    run: RunDirectory
    """Where sockets are kept."""
    stall_timeout: timedelta | None = timedelta(minutes=5)
    """How long a load may show no sign of progress; ``None`` is for ever."""
    prepare: Preparation | None = None
    """For models whose files are in a form that the engine does not read; ``None`` takes all as they are."""
    turns: Turns | None = None
    """How engines share the cores; ``None`` leaves it to the system."""
    lacking: set[str] = field(default_factory=set)
    """Flags that this engine has said it does not know, and that can be left out."""

    async def load(self, order: LoadOrder) -> LlamaRunner:
        """Start a process and wait until it may serve; a projector the GPU has no room for goes to the CPU.

        Raises ``RunnerFailed``.
        """
        own = order.spec.files
        files = await self.prepare(own) if self.prepare else PreparedFiles(own)
        try:
            return await self._load(order, files, projector_on_cpu=False)
        except _NoRoomWithProjector as error:
            logger.warning("out of memory, projector goes to the CPU", extra={"model": order.spec.files.name})
            try:
                return await self._load(order, files, projector_on_cpu=True)
            except RunnerFailed as second:
                raise RunnerFailed(
                    f"llama-server startup failed after projector CPU offload retry: {second}",
                    out_of_memory=second.out_of_memory,
                ) from error

    async def _load(self, order: LoadOrder, files: PreparedFiles, *, projector_on_cpu: bool) -> LlamaRunner:
        for _ in range(_PORT_TRIES - 1):
            with suppress(_PortTaken):
                return await self._start_as_it_can(order, files, projector_on_cpu=projector_on_cpu)
        return await self._start_as_it_can(order, files, projector_on_cpu=projector_on_cpu)

    async def _start_as_it_can(
        self, order: LoadOrder, files: PreparedFiles, *, projector_on_cpu: bool
    ) -> LlamaRunner:
        """Start without what the engine turns out to lack, as far as it can be done without."""
        while True:
            try:
                return await self._start(order, files, projector_on_cpu=projector_on_cpu)
            except UnknownFlag as error:
                if error.flag not in DISPENSABLE or error.flag in self.lacking:
                    raise
                logger.warning("engine does not know a flag, done without", extra={"flag": error.flag})
                self.lacking.add(error.flag)

    async def _start(self, order: LoadOrder, files: PreparedFiles, *, projector_on_cpu: bool) -> LlamaRunner:
        address, marker = self._new_address(), media_marker(secrets.token_hex(16))
        launch = plan_launch(
            replace(order, spec=replace(order.spec, files=files.files)),
            self.settings,
            self.info,
            address=address,
            media_marker=marker,
            link_dir=self.run.path,
            projector_on_cpu=projector_on_cpu,
        )
        self._note_crowding(order, launch)
        process = await EngineProcess.start(
            without(launch.argv, self.lacking),
            env={**launch.env, **files.environ},
            cwd=launch.cwd,
            name=order.spec.files.name,
            address=address,
            run=self.run,
            links=launch.links,
        )
        channel = Channel(address, keep=order.parallel)
        async with _stopped_on_failure(process, launch):
            # what talks to the process is imported while that reads the model
            from orchestrator.runners.llama.runner import LlamaRunner

            await process.wait_until_healthy(
                lambda: check_health(channel, patience=_HEALTH_PATIENCE), stall_timeout=self.stall_timeout
            )
        return LlamaRunner(
            process,
            channel,
            order.spec,
            launch,
            parallel=order.parallel,
            marker=marker,
            reads_schemas=self.info.reads_schemas,
            turns=self.turns,
        )

    def _note_crowding(self, order: LoadOrder, launch: Launch) -> None:
        if self.turns is not None and (launch.threads or 0) > self.turns.cores:
            logger.warning(
                "more threads than cores make an engine slower",
                extra={
                    "model": order.spec.files.name,
                    "num_thread": launch.threads,
                    "cores": self.turns.cores,
                },
            )

    def _new_address(self) -> Address:
        address = self.run.new_address()
        if self.info.transport is Transport.TCP and not isinstance(address, TcpAddress):
            return TcpAddress(free_port())
        return address


@asynccontextmanager
async def _stopped_on_failure(process: EngineProcess, launch: Launch) -> AsyncIterator[None]:
    """Leave no process behind that does not become healthy; name the failures that call for another try."""
    try:
        yield
    except RunnerFailed as error:
        await process.stop()
        if process.log.could_not_bind:
            raise _PortTaken(str(error)) from error
        if flag := unknown_flag(str(error)):
            raise UnknownFlag(str(error), flag) from error
        if error.out_of_memory and launch.projector_on_gpu:
            raise _NoRoomWithProjector(str(error), out_of_memory=True) from error
        raise
    except BaseException:
        await process.stop()
        raise
