"""The composition root: makes the parts of the daemon out of its configuration, and runs them.

::

    serve → run → listening socket · run directory · engine · scheduler · store · HTTP server
"""

from __future__ import annotations

import asyncio
import functools
import gc
import logging
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING

from aiohttp import web

from orchestrator import OLLAMA_VERSION, __version__
from orchestrator.api.access import Access
from orchestrator.api.anthropic.routes import anthropic_routes
from orchestrator.api.app import make_server
from orchestrator.api.native.routes import native_routes
from orchestrator.api.openai.routes import openai_routes
from orchestrator.api.origins import Origins
from orchestrator.api.requestlog import RequestLog
from orchestrator.api.state import AppState
from orchestrator.config import Config
from orchestrator.discovery.cpu import thread_limit
from orchestrator.discovery.machine import Machine
from orchestrator.discovery.probe import DeviceProbe, ProbedEngine
from orchestrator.domain.addresses import ServerAddress
from orchestrator.domain.json_value import parse_json
from orchestrator.errors import OrchestratorError, reason_of, words_of
from orchestrator.llama_cpp.cache import in_use
from orchestrator.logs import set_up_logging
from orchestrator.metrics import Metrics
from orchestrator.process.address import RunDirectory, run_directory
from orchestrator.registry.key import PRIVATE_NAME
from orchestrator.runners.base import Engine, LoadOrder, PreparedFiles, RunnerProcess
from orchestrator.runners.engines import EngineInfo, EngineKind, EngineNotFound, find_engine, find_quantizer
from orchestrator.runners.llama.engine import LlamaEngine, Preparation
from orchestrator.runners.llama.launch import EngineSettings
from orchestrator.runners.turns import Turns
from orchestrator.scheduler.effects import Reason
from orchestrator.scheduler.loop import Scheduler
from orchestrator.scheduler.memory import context_tier
from orchestrator.scheduler.settings import SchedulerSettings
from orchestrator.store.layout import StoreLayout
from orchestrator.store.models import ModelStore

if TYPE_CHECKING:
    from orchestrator.compat.views import Views
    from orchestrator.create.quantizer import Quantizer
    from orchestrator.domain.loads import ModelFiles
    from orchestrator.inference.service import Inference
    from orchestrator.registry.transfers import Transfers

logger = logging.getLogger(__name__)

_BACKLOG = 1024
_GC_THRESHOLDS = (10_000, 20, 20)
"""A request makes hardly a cycle: the usual 700 objects would have the collector run with every other one."""
_STOPS = (signal.SIGINT, signal.SIGTERM)
_SETTINGS_FILE = "server.json"


def serve(config: Config) -> int:
    """Serve until a signal says to stop. Returns the exit status; why it is not 0 stands on stderr."""
    set_up_logging(config.log_level, config.log_format)
    try:
        # what lets nobody in is told before anything is started
        Origins.parse(config.origins)
        _access(config)
        with _listening(config) as listening:
            config.log()
            _loop_runner().run(_until_told_to_stop(config, listening))
    except OrchestratorError as error:
        return _ended(f"{error} ({error.hint})" if error.hint else str(error))
    except OSError as error:
        return _ended(words_of(error))
    return 0


def _ended(why: str) -> int:
    print(f"Error: {why}", file=sys.stderr)  # noqa: T201 - the last words of a command
    return 1


@asynccontextmanager
async def running(config: Config, listening: socket.socket) -> AsyncIterator[AppState]:
    """A daemon that answers on ``listening`` while the block runs. Everything it started has ended after."""
    async with AsyncExitStack() as stack:
        models = ModelStore(
            StoreLayout(config.models), go_template=config.go_template, prunes=not config.noprune
        )
        await models.start()
        metrics = Metrics()
        run = stack.enter_context(run_directory(config.run_dir))
        engine, machine, quantizer = _engine(config, run, stack)
        scheduler = Scheduler(
            engine, _scheduler_settings(config, machine), machine, _SchedulerMetrics(metrics)
        )
        group = await stack.enter_async_context(asyncio.TaskGroup())
        started = asyncio.Event()
        lending = group.create_task(scheduler.run(started=started))
        await started.wait()
        state = await _state(config, models, scheduler, machine, metrics, quantizer)
        routes = (
            *native_routes(state),
            *openai_routes(state),
            *anthropic_routes(state),
        )
        runner = web.ServerRunner(make_server(state, routes))
        await runner.setup()
        stack.push_async_callback(runner.cleanup)
        stack.callback(state.stop_transfers)
        stack.callback(lending.cancel)  # first, for it ends what requests still wait for
        await web.SockSite(runner, listening, backlog=_BACKLOG).start()
        yield state


async def _until_told_to_stop(config: Config, listening: socket.socket) -> None:
    stop = asyncio.Event()
    for number in _STOPS:
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with running(config, listening):
        host, port = listening.getsockname()[:2]
        logger.info("listening", extra={"address": f"{host}:{port}", "version": __version__})
        gc.collect()
        gc.freeze()  # what start-up has made stays; later collections need not look at it
        gc.set_threshold(*_GC_THRESHOLDS)
        await asyncio.to_thread(_introduce_key, config.home / ".ollama")
        await stop.wait()
        logger.info("stopping")


async def _state(
    config: Config,
    models: ModelStore,
    scheduler: Scheduler,
    machine: Machine,
    metrics: Metrics,
    quantizer: Quantizer | None,
) -> AppState:
    devices = await asyncio.to_thread(machine.devices)
    tier = context_tier(devices, overhead_bytes=config.gpu_overhead)

    def make_inference() -> Inference:
        from orchestrator.inference.prepare import Defaults
        from orchestrator.inference.service import Inference

        return Inference(
            models=models,
            scheduler=scheduler,
            defaults=Defaults(config.context_length or tier, ctx_auto=not config.context_length),
            go_template=config.go_template,
            overflow_is_error=config.context_overflow == "error",
            observer=metrics,
            remotes=config.remotes,
            cloud_disabled=cloud_source != "none",
        )

    cloud_source = _cloud_source(config)
    return AppState(
        version=OLLAMA_VERSION,
        models=models,
        scheduler=scheduler,
        make_inference=make_inference,
        make_transfers=lambda: _transfers(config, models),
        metrics=metrics,
        origins=Origins.parse(config.origins),
        check_hosts=_is_loopback(config.host),
        max_body_bytes=config.max_body,
        cloud_source=cloud_source,
        access=_access(config),
        request_log=RequestLog.create(config.client_url) if config.debug_log_requests else None,
        sse_ping_s=config.sse_ping.total_seconds() if config.sse_ping else 0.0,
        quantizer=quantizer,
    )


def _access(config: Config) -> Access | None:
    """Who is let in, where keys are wanted. Raises ``UnusableApiKeys``."""
    if not config.api_keys and config.api_keys_file is None:
        return None
    return Access(config.api_keys, config.api_keys_file)


def _transfers(config: Config, models: ModelStore) -> Transfers:
    from orchestrator.registry.proxies import Proxies
    from orchestrator.registry.settings import RegistrySettings
    from orchestrator.registry.transfers import Transfers

    settings = RegistrySettings(
        key_folder=config.home / ".ollama",
        docker_config=config.docker_config / "config.json",
        mirror=config.registry_mirror,
        hf_endpoint=config.hf_endpoint,
        hf_token=config.hf_token,
        proxies=Proxies(config.http_proxy, config.https_proxy, config.no_proxy),
        ca_file=config.ssl_cert_file,
        ca_directory=config.ssl_cert_dir,
    )
    return Transfers(models, settings, bytes_per_second=config.pull_rate, streams=config.max_transfer_streams)


def _engine(
    config: Config, run: RunDirectory, stack: AsyncExitStack
) -> tuple[Engine, Machine, Quantizer | None]:
    """The engine, the machine as this engine can use it, and the quantizer that came with it.

    A build of ours is kept from being pruned as long as ``stack`` is open.
    """
    environ = dict(os.environ)
    try:
        only = None if config.engine == "auto" else EngineKind(config.engine)
        info = find_engine(environ, named=config.llama_server, only=only)
    except EngineNotFound as error:
        logger.warning("%s (%s)", error, error.hint)
        return _NoEngine(error), Machine(), None
    logger.info("engine", extra={"kind": info.kind.value, "command": " ".join(info.argv_prefix)})
    stack.enter_context(in_use(info.library_dir))
    settings = EngineSettings(
        environ=environ,
        flash_attention=config.flash_attention,
        kv_cache_type=config.kv_cache_type,
        threads=thread_limit(),
    )
    program = find_quantizer(info)
    machine = Machine(_probe(config, info, environ))
    preparation, turns = _preparation(config, info, environ), _turns(config, machine)
    return (
        LlamaEngine(info, settings, run, config.load_timeout, preparation, turns),
        machine,
        _quantizer(program, environ) if program else None,
    )


def _turns(config: Config, machine: Machine) -> Turns | None:
    """How engines share the cores, where processes can be held up."""
    if config.engine_turn is None or sys.platform == "win32":
        return None
    return Turns(machine.cores, config.engine_turn.total_seconds())


def _preparation(config: Config, info: EngineInfo, environ: Mapping[str, str]) -> Preparation | None:
    """Views of published files in a form of their own; what makes them is imported when a model is loaded."""
    if not config.llama_cpp_compat:
        return None
    cache = Path(environ.get("XDG_CACHE_HOME") or config.home / ".cache") / "orch" / "views"

    @functools.cache
    def views() -> Views:
        from orchestrator.compat.views import Views

        return Views(StoreLayout(config.models), cache, overlays=info.reads_overlays)

    async def prepared(files: ModelFiles) -> PreparedFiles:
        return await (await asyncio.to_thread(views)).prepared(files)

    return prepared


def _quantizer(program: Path, environ: Mapping[str, str]) -> Quantizer:
    from orchestrator.create.quantizer import Quantizer

    return Quantizer.at(program, environ)


def _probe(config: Config, info: EngineInfo, environ: Mapping[str, str]) -> DeviceProbe | None:
    """What asks the engine for GPUs; the engine in the wheel knows none."""
    if info.kind is EngineKind.EMBEDDED:
        return None
    engine = ProbedEngine(
        argv_prefix=info.argv_prefix,
        cwd=info.cwd,
        library_dir=info.library_dir,
        backends=info.backends,
        environ=environ,
    )
    return DeviceProbe(
        engine, integrated=config.igpu_enable, vulkan=config.vulkan, variant=config.llm_library
    )


@dataclass(frozen=True, slots=True)
class _NoEngine:
    """What stands in for an engine that is not there: models can be managed, not run."""

    reason: EngineNotFound

    async def load(self, order: LoadOrder) -> RunnerProcess:
        raise EngineNotFound(f"{self.reason}: {self.reason.hint}")


def _scheduler_settings(config: Config, machine: Machine) -> SchedulerSettings:
    return SchedulerSettings(
        max_queue=config.max_queue,
        max_loaded=config.max_loaded_models,
        parallel=max(config.num_parallel, 1),
        keep_alive=config.keep_alive,
        keep_alive_min=config.keep_alive_min,
        keep_alive_max=config.keep_alive_max,
        cores=machine.cores,
        spread=config.sched_spread,
        kv_cache_type=config.kv_cache_type,
        check_memory=config.check_memory,
    )


@dataclass(frozen=True, slots=True)
class _SchedulerMetrics:
    """Counts what the scheduler does."""

    metrics: Metrics

    def load_ended(self, seconds: float, *, succeeded: bool) -> None:
        if succeeded:
            self.metrics.load_succeeded(seconds)
        else:
            self.metrics.load_failed()

    def runner_left(self, reason: Reason) -> None:
        match reason:
            case Reason.EVICTED:
                self.metrics.runner_evicted()
            case Reason.CRASHED:
                self.metrics.runner_crashed()
            case _:
                pass

    def waited(self, seconds: float) -> None:
        """Requests are counted with their whole duration; the wait alone is in ``/api/ps``."""


def _listening(config: Config) -> socket.socket:
    """``_listener``; the key of a first start is told even if that start fails."""
    try:
        return _listener(config.host)
    except OrchestratorError:
        _introduce_key(config.home / ".ollama")
        raise


def _listener(address: ServerAddress) -> socket.socket:
    """A socket that listens at ``address``, so that a port in use is found before anything is started."""
    host = address.host or "::"
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(
            host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except OSError as error:
        raise CannotListen(address, error) from error
    listening = socket.socket(family, kind, protocol)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6 and not address.host:
            listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        listening.bind(place)
    except OSError as error:
        listening.close()
        raise CannotListen(address, error) from error
    return listening


class CannotListen(OrchestratorError):
    """The address is taken, or not ours."""

    hint = "stop what listens there, or set OLLAMA_HOST to another address"

    def __init__(self, address: ServerAddress, error: OSError) -> None:
        super().__init__(f"listen tcp {address.authority}: bind: {reason_of(error)}")


def _is_loopback(address: ServerAddress) -> bool:
    """Whether only this machine can reach ``address``; a name counts as such."""
    try:
        return ip_address(address.host).is_loopback
    except ValueError:
        return bool(address.host)


def _cloud_source(config: Config) -> str:
    from_file = _settings_file(config.home / ".ollama").get("disable_ollama_cloud") is True
    match config.no_cloud, from_file:
        case True, True:
            return "both"
        case True, False:
            return "env"
        case False, True:
            return "config"
        case _:
            return "none"


def _settings_file(folder: Path) -> Mapping[str, object]:
    try:
        value = parse_json((folder / _SETTINGS_FILE).read_bytes())
    except FileNotFoundError:
        return {}
    except OSError as error:
        _ignore_settings(words_of(error))
        return {}
    except ValueError as error:
        _ignore_settings(str(error))
        return {}
    return value if isinstance(value, dict) else {}


def _ignore_settings(why: str) -> None:
    logger.warning("settings not readable, ignored", extra={"file": _SETTINGS_FILE, "error": why})


def _introduce_key(folder: Path) -> None:
    """Make the key of this user at the first start, and show it."""
    if (folder / PRIVATE_NAME).exists():
        return
    making = subprocess.run(
        [sys.executable, "-m", "orchestrator.registry", str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    if making.returncode:
        reason = making.stderr.strip().rpartition("\n")[2]
        logger.warning("no key could be made; pulls of private models will fail", extra={"error": reason})
    elif making.stdout:
        print(  # noqa: T201 - told once, for the user to copy
            f"Couldn't find '{folder / PRIVATE_NAME}'. Generating new private key.\n"
            f"Your new public key is: \n\n{making.stdout}\n",
            flush=True,
        )


def _loop_runner() -> asyncio.Runner:
    try:
        import uvloop
    except ImportError:  # there is none for Windows
        return asyncio.Runner()
    return asyncio.Runner(loop_factory=uvloop.new_event_loop)
