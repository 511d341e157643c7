"""The daemon's configuration: every environment variable, declared once.

The fields of ``Config`` are the table. From it come the reading of the environment, the rows of
``orch serve --help`` and the page ``docs/configuration.md`` (``config_page``). A value that cannot be used
falls back as in Ollama and is remembered as a ``Problem``, to be logged.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar, cast

from orchestrator import environment as env
from orchestrator.contradictions import contradictions, told_of_unread, unequal_aliases, unread
from orchestrator.domain.addresses import ServerAddress
from orchestrator.domain.durations import KeepAlive
from orchestrator.environment import (
    ContextOverflow,
    EngineChoice,
    Environ,
    Kind,
    LogFormat,
    Unusable,
    Variable,
)
from orchestrator.units import GIB, format_duration

logger = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Problem:
    """A value that could not be used."""

    variable: str
    value: str
    accepts: str
    used: str

    def __str__(self) -> str:
        return f"{self.variable}={self.value!r} is not usable: it takes {self.accepts}; using {self.used}"


def setting(
    name: str,
    kind: Kind[T],
    default: T | Callable[[Environ], T],
    summary: str,
    *,
    shown: str = "",
    aliases: tuple[str, ...] = (),
    secret: bool = False,
    command: str = "serve",
) -> T:
    """A field of ``Config`` that ``name`` sets."""
    variable = Variable(name, summary, kind, default, shown, aliases, secret, command)
    return cast(T, field(metadata={"variable": variable}))


def _home(environ: Environ) -> Path:
    return Path(environ.get("HOME") or Path.home())


def _default_run_dir(environ: Environ) -> Path:
    if runtime := environ.get("XDG_RUNTIME_DIR"):
        return Path(runtime) / "orch"
    return Path(environ.get("TMPDIR") or "/tmp") / f"orch-{os.getuid()}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """What the operator chose. Only the daemon and the command line know it."""

    debug: int = setting(
        "OLLAMA_DEBUG",
        env.LEVEL,
        0,
        "Log more: true for debugging, 2 for every detail, -1 for warnings and -2 for errors only",
    )
    host: ServerAddress = setting(
        "OLLAMA_HOST",
        env.ADDRESS,
        ServerAddress(),
        "Address the server listens on, and clients connect to",
        shown="127.0.0.1:11434",
    )
    context_length: int = setting(
        "OLLAMA_CONTEXT_LENGTH",
        env.UINT,
        0,
        "Context window when neither request nor model sets num_ctx; 0 goes by the memory of the GPUs",
        shown="4k/32k/256k",
    )
    keep_alive: KeepAlive = setting(
        "OLLAMA_KEEP_ALIVE",
        env.KEEP_ALIVE,
        KeepAlive.parse("5m"),
        "How long an idle model stays in memory; 0 not at all, negative for ever",
        shown="5m",
    )
    max_loaded_models: int = setting(
        "OLLAMA_MAX_LOADED_MODELS",
        env.UINT,
        0,
        "Models in memory at one time; 0 is three per GPU, three without one",
    )
    max_transfer_streams: int = setting(
        "OLLAMA_MAX_TRANSFER_STREAMS",
        env.UINT,
        4,
        "Files fetched or sent at one time by a pull or push",
        shown="4",
    )
    max_queue: int = setting(
        "OLLAMA_MAX_QUEUE", env.UINT, 512, "Requests that may wait for a model before others are refused"
    )
    models: Path = setting(
        "OLLAMA_MODELS",
        env.PATH,
        lambda environ: _home(environ) / ".ollama" / "models",
        "Directory of the models; ~/.ollama/models if unset",
    )
    num_parallel: int = setting("OLLAMA_NUM_PARALLEL", env.UINT, 1, "Requests a model answers at one time")
    no_cloud: bool = setting(
        "OLLAMA_NO_CLOUD", env.BOOL, False, "Refuse everything that needs ollama.com's cloud"
    )
    noprune: bool = setting("OLLAMA_NOPRUNE", env.BOOL, False, "Keep blobs that no model uses")
    origins: tuple[str, ...] = setting(
        "OLLAMA_ORIGINS", env.LIST, (), "Origins of web pages that may call, besides those of this machine"
    )
    sched_spread: bool = setting("OLLAMA_SCHED_SPREAD", env.BOOL, False, "Spread every model over all GPUs")
    flash_attention: bool | None = setting(
        "OLLAMA_FLASH_ATTENTION",
        env.SWITCH,
        None,
        "Flash attention on or off; unset is wherever it is supported",
    )
    kv_cache_type: str = setting(
        "OLLAMA_KV_CACHE_TYPE",
        env.CACHE_TYPE,
        "",
        f"Type of the KV cache: {', '.join(env.CACHE_TYPES)}",
        shown="f16",
    )
    llm_library: str = setting(
        "OLLAMA_LLM_LIBRARY", env.TEXT, "", "Engine library to use instead of the best found"
    )
    gpu_overhead: int = setting(
        "OLLAMA_GPU_OVERHEAD", env.UINT, 0, "Bytes of each GPU's memory to leave alone"
    )
    igpu_enable: bool | None = setting(
        "OLLAMA_IGPU_ENABLE", env.SWITCH, None, "Integrated GPUs on or off; unset is those known to work well"
    )
    load_timeout: timedelta | None = setting(
        "OLLAMA_LOAD_TIMEOUT",
        env.TIMEOUT,
        timedelta(minutes=5),
        "How long a load may make no progress; 0 or negative for ever",
        shown="5m",
    )
    debug_log_requests: bool = setting(
        "OLLAMA_DEBUG_LOG_REQUESTS",
        env.BOOL,
        False,
        "Write the bodies of inference requests to a temporary directory",
    )
    go_template: bool | None = setting(
        "OLLAMA_GO_TEMPLATE", env.SWITCH, None, "Use models' Go templates or not; unset decides per model"
    )
    vulkan: bool = setting("OLLAMA_VULKAN", env.BOOL, True, "Use GPUs through Vulkan", shown="true")
    llama_cpp_compat: bool = setting(
        "OLLAMA_LLAMA_CPP_COMPAT",
        env.BOOL,
        True,
        "Translate published models that an engine does not read as they are",
        shown="true",
    )
    remotes: tuple[str, ...] = setting(
        "OLLAMA_REMOTES",
        env.LIST,
        ("ollama.com",),
        "Hosts that models may be on, though nothing is forwarded to any",
        shown="ollama.com",
    )
    auth: bool = setting(
        "OLLAMA_AUTH", env.BOOL, False, "Sign the requests of the command line with the key", command=""
    )
    llama_server: Path | None = setting(
        "ORCH_LLAMA_SERVER", env.OPTIONAL_PATH, None, "The llama-server to run instead of the one found"
    )
    llama_cpp_source: Path | None = setting(
        "ORCH_LLAMA_CPP_SOURCE",
        env.OPTIONAL_PATH,
        None,
        "Folder with the llama.cpp that `orch engine build` builds, instead of the pinned one it fetches",
        command="engine",
    )
    engine: EngineChoice = setting(
        "ORCH_ENGINE",
        env.ENGINE,
        "auto",
        "Engine to use: native is a llama-server, embedded the one in the wheel, auto the first there is",
        shown="auto",
    )
    run_dir: Path = setting(
        "ORCH_RUN_DIR",
        env.PATH,
        _default_run_dir,
        "Directory for the sockets of engines; $XDG_RUNTIME_DIR/orch if unset",
    )
    api_keys: tuple[str, ...] = setting(
        "ORCH_API_KEYS",
        env.KEYS,
        (),
        "Keys that clients must show, each alone or after the name of its owner and a blank; unset is none",
        secret=True,
    )
    api_keys_file: Path | None = setting(
        "ORCH_API_KEYS_FILE",
        env.OPTIONAL_PATH,
        None,
        "File with more such keys, one in each line; it is read again when it changes",
    )
    engine_turn: timedelta | None = setting(
        "ORCH_ENGINE_TURN",
        env.TURN,
        timedelta(milliseconds=40),
        "How long busy engines that want the same cores wait for each other, 1ms to 1s; 0 is not at all",
        shown="40ms",
    )
    context_overflow: ContextOverflow = setting(
        "ORCH_CONTEXT_OVERFLOW",
        env.OVERFLOW,
        "truncate",
        "What becomes of a prompt that does not fit: truncate cuts it and says so, error refuses it",
        shown="truncate",
    )
    keep_alive_min: KeepAlive = setting(
        "ORCH_KEEP_ALIVE_MIN", env.KEEP_ALIVE, KeepAlive(0), "The shortest keep-alive a request can ask for"
    )
    keep_alive_max: KeepAlive = setting(
        "ORCH_KEEP_ALIVE_MAX",
        env.KEEP_ALIVE,
        KeepAlive.FOREVER,
        "The longest keep-alive a request can ask for",
    )
    check_memory: bool = setting(
        "ORCH_CHECK_MEMORY", env.BOOL, True, "Refuse models that main memory cannot hold", shown="true"
    )
    max_body: int = setting(
        "ORCH_MAX_BODY",
        env.SIZE,
        GIB,
        "The longest body of a request, uploads of blobs excepted",
        shown="1GiB",
    )
    sse_ping: timedelta | None = setting(
        "ORCH_SSE_PING",
        env.TIMEOUT,
        timedelta(seconds=15),
        "The longest silence in an event stream before a sign of life; 0 is any",
        shown="15s",
    )
    registry_mirror: str = setting(
        "ORCH_REGISTRY_MIRROR",
        env.TEXT,
        "",
        "URL of a registry to ask in place of registry.ollama.ai",
        secret=True,
    )
    pull_rate: int = setting(
        "ORCH_PULL_RATE", env.SIZE, 0, "The most bytes per second that pulls may take together; 0 is any"
    )
    log_format: LogFormat = setting(
        "ORCH_LOG_FORMAT", env.LOG_FORMAT, "text", "Form of the log: text or json", shown="text"
    )
    api_key: str = setting(
        "OLLAMA_API_KEY",
        env.TOKEN,
        "",
        "Key that the command line shows to the server",
        secret=True,
        command="",
    )
    editor: str = setting("OLLAMA_EDITOR", env.TEXT, "", "Editor for a prompt", command="run")
    nohistory: bool = setting(
        "OLLAMA_NOHISTORY", env.BOOL, False, "Do not keep the prompts typed", command="run"
    )
    http_proxy: str = setting(
        "HTTP_PROXY",
        env.TEXT,
        "",
        "Proxy for http addresses of registries",
        aliases=("http_proxy",),
        secret=True,
        command="",
    )
    https_proxy: str = setting(
        "HTTPS_PROXY",
        env.TEXT,
        "",
        "Proxy for https addresses of registries",
        aliases=("https_proxy",),
        secret=True,
        command="",
    )
    no_proxy: str = setting(
        "NO_PROXY", env.TEXT, "", "Hosts to reach without a proxy", aliases=("no_proxy",), command=""
    )
    ssl_cert_file: Path | None = setting(
        "SSL_CERT_FILE",
        env.OPTIONAL_PATH,
        None,
        "Certificates of the authorities that registries are checked by, instead of the system's",
        command="",
    )
    ssl_cert_dir: Path | None = setting(
        "SSL_CERT_DIR", env.OPTIONAL_PATH, None, "The same, as a directory", command=""
    )
    docker_config: Path = setting(
        "DOCKER_CONFIG",
        env.PATH,
        lambda environ: _home(environ) / ".docker",
        "Directory of the config.json that holds the passwords of `docker login`; ~/.docker if unset",
        command="",
    )
    hf_token: str = setting(
        "HF_TOKEN",
        env.TOKEN,
        "",
        "Token for Hugging Face, sent to nobody else",
        aliases=("HUGGING_FACE_HUB_TOKEN",),
        secret=True,
        command="",
    )
    hf_endpoint: str = setting(
        "HF_ENDPOINT", env.TEXT, "", "URL to ask in place of https://huggingface.co", command=""
    )
    home: Path = setting(
        "HOME", env.PATH, _home, "Its directory .ollama holds the key, the history and the models", command=""
    )

    given: Mapping[str, str] = field(default_factory=dict)
    """The variables that were set, and their texts."""
    problems: tuple[Problem, ...] = ()
    unread: tuple[str, ...] = ()
    """Variables with names like ours that nobody reads."""
    unequal: tuple[str, ...] = ()
    """What is to be told of variables that are set in two spellings."""

    @classmethod
    def from_environ(cls, environ: Environ) -> Config:
        """Read the environment; what it does not set has its default."""
        values: dict[str, Any] = {}
        given: dict[str, str] = {}
        problems: list[Problem] = []
        for name, variable in settings():
            values[name] = variable.default_in(environ)
            if not (text := variable.text(environ)):
                continue
            given[variable.name] = text
            assert variable.kind is not None
            try:
                values[name] = variable.kind.read(text)
            except Unusable as error:
                values[name] = error.replacement(values[name])
                problems.append(Problem(variable.name, text, variable.kind.accepts, in_words(values[name])))
        return cls(
            **values,
            given=given,
            problems=tuple(problems),
            unread=unread(environ, _names()),
            unequal=tuple(unequal_aliases(environ, (variable for _, variable in settings()))),
        )

    @property
    def client_url(self) -> str:
        """Base URL of the daemon for clients on this machine."""
        address = self.host.connectable
        return address.url if address.host else replace(address, host="localhost").url

    @property
    def log_level(self) -> int:
        """``debug`` as a level of ``logging``: 5, one below DEBUG, is for every detail."""
        steps = {-4: logging.DEBUG, 0: logging.INFO, 4: logging.WARNING, 8: logging.ERROR}
        return steps.get(self.debug, logging.CRITICAL if self.debug > 0 else logging.DEBUG // 2)

    def values_for_log(self) -> dict[str, str]:
        """The variables that were set, by name, passwords left out."""
        return {
            variable.name: _for_log(variable, text)
            for _, variable in settings()
            if (text := self.given.get(variable.name)) and variable.name != "HOME"
        }

    def log(self) -> None:
        """Write down what was set, what could not be used, and what is hardly meant."""
        logger.info("configuration", extra=self.values_for_log())
        for doubt in (*self.problems, *self.unequal, *contradictions(self)):
            logger.warning("%s", doubt)
        if self.unread:
            logger.warning("%s", told_of_unread(self.unread, _names()))


PASSED_ON = (
    Variable("LLAMA_ARG_FIT", "Whether the engine fits a model to free memory", shown="on"),
    Variable("LLAMA_ARG_FIT_TARGET", "Memory the engine leaves free on each device when it fits a model"),
    Variable("CUDA_VISIBLE_DEVICES", "NVIDIA GPUs to use", command=""),
    Variable("HIP_VISIBLE_DEVICES", "AMD GPUs to use", command=""),
    Variable("ROCR_VISIBLE_DEVICES", "AMD GPUs to use, by number or UUID", command=""),
    Variable("GPU_DEVICE_ORDINAL", "AMD GPUs to use, by number", command=""),
    Variable("HSA_OVERRIDE_GFX_VERSION", "Architecture to take AMD GPUs for", command=""),
    Variable("GGML_VK_VISIBLE_DEVICES", "GPUs to use through Vulkan", command=""),
)
"""Variables that engines read. They see the daemon's whole environment."""


def help_rows(names: Iterable[str]) -> list[tuple[str, str]]:
    """Name and summary of variables, for the help text of a command."""
    table = {variable.name: variable for variable in _variables()}
    return [table[name].row for name in names]


def serve_variables() -> list[str]:
    """The variables that ``orch serve --help`` names."""
    return [variable.name for variable in _variables() if variable.command == "serve"]


def _variables() -> Iterator[Variable]:
    yield from (variable for _, variable in settings())
    yield from PASSED_ON


def settings() -> Iterator[tuple[str, Variable]]:
    """The fields that variables set, and the variables."""
    for entry in fields(Config):
        if variable := entry.metadata.get("variable"):
            yield entry.name, variable


def _names() -> frozenset[str]:
    """The names of all variables, in every spelling."""
    return frozenset(name for each in _variables() for name in (each.name, *each.aliases))


def in_words(value: Any) -> str:
    """A value in words, for a message."""
    match value:
        case None | "" | ():
            return "none"
        case bool():
            return "true" if value else "false"
        case timedelta():
            return format_duration(value // timedelta(microseconds=1) * 1000)
        case KeepAlive():
            return "no limit" if value.is_forever else str(value)
        case ServerAddress():
            return value.url
        case _:
            return str(value)


def _for_log(variable: Variable, text: str) -> str:
    """``text``, with what is secret in it hidden: all of a token, of a URL the part before ``@``."""
    if not variable.secret:
        return text
    if variable.kind in (env.TOKEN, env.KEYS):
        return "***"
    return re.sub(r"^((?:\w+://)?)[^/]*@", r"\1***@", text)
