"""How an engine is started for a model: command line and environment, planned before anything runs.

Source: ``llama-server`` §2, §3; ``scheduler`` §10.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from orchestrator.domain.devices import Device
from orchestrator.domain.loads import LoadSpec, ModelFacts
from orchestrator.domain.options import Options
from orchestrator.process.address import Address, UnixAddress
from orchestrator.process.libraries import library_path
from orchestrator.runners.base import LoadOrder
from orchestrator.runners.engines import EngineInfo
from orchestrator.runners.llama.visibility import visibility
from orchestrator.runners.llama.waiting import waiting
from orchestrator.units import GIB, MIB

logger = logging.getLogger(__name__)

_GB = 10**9

_OWN_FILE_PROJECTORS = {
    *("gemma3", "gemma4", "qwen35", "qwen35moe", "qwen25vl", "qwen3vl", "qwen3vlmoe", "mistral3"),
    *("deepseekocr", "glmocr", "llama4", "nemotron_h_omni"),
}
"""Architectures whose weights may hold their own projector."""
_LARGE_IMAGES = {"qwen2vl", "qwen25vl", "qwen3vl", "qwen3vlmoe"}
_PLAIN_CACHE_TYPES = {"f32", "f16", "bf16"}
_QUANTIZED_CACHE_TYPES = {"q8_0", "q4_0", "q4_1", "iq4_nl", "q5_0", "q5_1"}
_FLASH_ATTENTION_LIBRARIES = {"cpu", "Metal", "ROCm", "Vulkan"}
_CONTRACT_BREAKERS = (
    "LLAMA_ARG_HOST",
    "LLAMA_ARG_PORT",
    "LLAMA_ARG_LOG_",
    "LLAMA_ARG_MODELS_",
    "LLAMA_ARG_API_",
    "LLAMA_ARG_SSL_",
    "LLAMA_API_KEY",
)
"""Variables of the user that would make an engine listen or speak otherwise than we expect."""
BATCH_SURCHARGES = {2048: 2 * GIB, 1024: 768 * MIB}
"""Bytes that batches of at least so many tokens need beyond the prediction; the largest first."""
_BATCH_SHARES = {2048: 60, 1024: 75}
"""Per cent of the available memory that the prediction may take for a batch of that size."""
_PROMPT_CACHE_MAX_MIB = 8192


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSettings:
    """What the operator set for all engines."""

    environ: Mapping[str, str] = field(default_factory=dict)
    """The daemon's environment, which engines inherit."""
    flash_attention: bool | None = None
    kv_cache_type: str = ""
    threads: int | None = None
    """Threads where neither the user nor the scheduler chose; ``None`` is one per physical core."""
    prompt_cache_mib: int | None = None
    """Memory for displaced conversations; ``None`` is an eighth of the machine's, at most 8 GiB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """A planned start."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: Path
    options: Options
    """The options in force: batch and mmap as chosen here."""
    mmap_auto: bool = False
    """``use_mmap`` was decided here, not by the user."""
    projector_on_gpu: bool = False
    threads: int | None = None
    """Threads on the CPU; ``None`` is one per core, 0 is that it computes elsewhere."""
    links: Mapping[Path, Path] = field(default_factory=dict)
    """Symbolic links to make before the start, with their targets."""


def plan_launch(
    order: LoadOrder,
    settings: EngineSettings,
    engine: EngineInfo,
    *,
    address: Address,
    media_marker: str,
    link_dir: Path,
    projector_on_cpu: bool = False,
) -> Launch:
    """The start of ``engine`` for ``order``.

    ``link_dir`` is where links may be made for files whose names the engine cannot take; ``projector_on_cpu``
    is for a second try after memory ran out.
    """
    return _Plan(order, settings, engine, projector_on_cpu).launch(address, media_marker, link_dir)


def media_marker(token: str) -> str:
    """The text that stands for a medium in prompts; ``token`` is 32 hex digits, new for each process."""
    return f"<__ollama_media_{token}__>"


class _Plan:
    """The choices of one start, each made once."""

    def __init__(
        self, order: LoadOrder, settings: EngineSettings, engine: EngineInfo, projector_on_cpu: bool
    ) -> None:
        self.order = order
        self.settings = settings
        self.engine = engine
        self.spec: LoadSpec = order.spec
        self.facts: ModelFacts = order.spec.files.facts
        self.flash_attention = _flash_attention(settings.flash_attention, order.devices)
        mmap_reason = _reason_against_mmap(order)
        self.mmap_auto = self.spec.options.use_mmap is None and mmap_reason is not None
        self.options = replace(
            self.spec.options,
            num_batch=self._batch(),
            use_mmap=False if self.mmap_auto else self.spec.options.use_mmap,
        )
        self.projector = _projector(self.spec)
        self.projector_on_gpu = (
            self.projector is not None and not projector_on_cpu and _projector_fits_gpu(order)
        )

    def launch(self, address: Address, marker: str, link_dir: Path) -> Launch:
        links = {
            link_dir / f"adapter-{index}{path.suffix}": path
            for index, path in enumerate(self.spec.files.adapters)
            if "," in str(path)
        } | self._shard_links(address, link_dir)
        return Launch(
            argv=(*self.engine.argv_prefix, *self._arguments(address, links)),
            env=self._environment(marker),
            cwd=self.engine.cwd,
            options=self.options,
            mmap_auto=self.mmap_auto,
            projector_on_gpu=self.projector_on_gpu,
            threads=0 if self.order.devices else self._threads(),
            links=links,
        )

    def _shard_links(self, address: Address, link_dir: Path) -> dict[Path, Path]:
        """Links by whose names the engine finds the files of split weights from the first one."""
        files = self.spec.files
        if not files.shards:
            return {}
        own = address.path.stem if isinstance(address, UnixAddress) else str(address.port)
        count = len(files.shards) + 1
        return {
            link_dir / f"weights-{own}-{number:05}-of-{count:05}.gguf": path
            for number, path in enumerate((files.weights, *files.shards), start=1)
        }

    def _weights(self, links: Mapping[Path, Path]) -> Path:
        """The file to load, by its link where the weights are split."""
        files = self.spec.files
        by_target = {target: link for link, target in links.items()}
        return by_target.get(files.weights, files.weights)

    def _arguments(self, address: Address, links: Mapping[Path, Path]) -> Iterator[str]:
        options = self.options
        yield from ("--model", str(self._weights(links)))
        yield from _listening(address)
        yield from ("--no-webui", "--offline", "--metrics")
        yield from ("-c", str(options.num_ctx * self.order.parallel), "-np", str(self.order.parallel))
        yield from ("--log-verbosity", "4", "--no-log-prefix", "--no-log-timestamps")
        if self.spec.rendered:
            # the template is a placeholder, lest a broken one in the model's file stop the start
            yield from ("--no-jinja", "--chat-template", "chatml")
        yield from self._projector_arguments()
        yield from self._drafting()
        if self.facts.architecture in _LARGE_IMAGES:
            yield from ("--image-min-tokens", "1024")
        for path in self._adapters(links):
            yield from ("--lora", str(path))
        yield from self._load_mode()
        if cache_type := self._cache_type():
            yield from ("--cache-type-k", cache_type, "--cache-type-v", cache_type)
        yield from ("--flash-attn", self.flash_attention)
        if self.facts.ranks:
            yield "--reranking"
        elif self._embeds:
            yield "--embedding"
        if options.num_batch > 0:
            yield from ("-b", str(options.num_batch), "-ub", str(options.num_batch))
        if options.num_gpu >= 0:
            yield from ("-ngl", str(options.num_gpu))
        if threads := self._threads():
            yield from ("-t", str(threads))
        if (main_gpu := self._main_gpu()) is not None:
            yield from ("--split-mode", "none", "--main-gpu", str(main_gpu))
        if self.spec.shift:
            yield "--context-shift"
            if options.num_keep > 0:
                yield from ("--keep", str(options.num_keep))
        yield from self._start_quickly()

    def _start_quickly(self) -> Iterator[str]:
        """Leave out what only costs time: a run on an empty prompt, fitting where there is nothing to fit."""
        yield "--no-warmup"
        if not self.order.devices:
            yield from ("--fit", "off")
        if (size := self._prompt_cache_mib()) is not None:
            yield from ("--cache-ram", str(size))

    @property
    def _embeds(self) -> bool:
        return self.facts.pooling_type is not None

    @property
    def _context(self) -> int:
        """Tokens of all slots together."""
        return self.spec.window * self.order.parallel

    def _batch(self) -> int:
        requested = self.spec.options.num_batch
        if self._embeds:
            return min(requested, self.spec.options.num_ctx * self.order.parallel)
        if not self.spec.batch_auto:
            return requested
        cuda = [device for device in self.order.devices if device.library == "CUDA"]
        if self.flash_attention == "off" and cuda:
            tight = any(0 < _free(device) <= 8 * GIB for device in cuda)
            return 256 if self._context > 4096 and tight else 512
        start = 2048 if self._context > 32768 else 1024 if self._context > 4096 else 512
        return next((size for size in (2048, 1024) if size <= start and self._has_room_for_batch(size)), 512)

    def _has_room_for_batch(self, size: int) -> bool:
        predicted, available = self.order.predicted_bytes, self.order.available_bytes
        if not predicted or not available:
            return True
        usable = available * 80 // 100
        return (
            predicted <= usable
            and predicted <= available * _BATCH_SHARES[size] // 100
            and BATCH_SURCHARGES[size] <= usable - predicted
        )

    def _cache_type(self) -> str:
        wanted = self.settings.kv_cache_type.strip().lower()
        if not wanted or self._embeds:
            return ""
        if wanted not in _PLAIN_CACHE_TYPES | _QUANTIZED_CACHE_TYPES:
            logger.warning("unknown OLLAMA_KV_CACHE_TYPE, using the default", extra={"type": wanted})
            return ""
        if wanted in _QUANTIZED_CACHE_TYPES and self.flash_attention == "off":
            logger.warning(
                "a quantized cache needs flash attention, using the default", extra={"type": wanted}
            )
            return ""
        return wanted

    def _load_mode(self) -> Iterator[str]:
        unified = any(
            device.integrated and device.library in ("CUDA", "ROCm") for device in self.order.devices
        )
        if sys.platform == "linux" and unified:
            yield from ("--load-mode", "dio")
        elif self.options.use_mmap is False:
            yield from ("--load-mode", "none")

    def _projector_arguments(self) -> Iterator[str]:
        if self.projector is not None:
            yield from ("--mmproj", str(self.projector))
            if not self.projector_on_gpu:
                yield "--no-mmproj-offload"

    def _drafting(self) -> Iterator[str]:
        draft = self.spec.files.draft
        kind = _draft_type(self.facts, has_draft=draft is not None)
        if not kind or self.options.draft_num_predict <= 0:
            return
        yield from ("--spec-type", kind, "--spec-draft-n-max", str(self.options.draft_num_predict))
        if kind == "draft-mtp":
            yield "--spec-draft-backend-sampling"
        if draft is not None:
            yield from ("--spec-draft-model", str(draft))

    def _adapters(self, links: Mapping[Path, Path]) -> Sequence[Path]:
        """The adapters, by their links where the engine would cut a name at a comma."""
        by_target = {target: link for link, target in links.items()}
        return [by_target.get(path, path) for path in self.spec.files.adapters]

    def _threads(self) -> int | None:
        if self.options.num_thread > 0:
            return self.options.num_thread
        return self.order.threads or self.settings.threads

    def _main_gpu(self) -> int | None:
        return self.options.main_gpu if self.order.main_gpu is None else self.order.main_gpu

    def _prompt_cache_mib(self) -> int | None:
        if self._embeds:
            return 0
        if self.settings.prompt_cache_mib is not None or self.order.memory is None:
            return self.settings.prompt_cache_mib
        return min(_PROMPT_CACHE_MAX_MIB, self.order.memory.total_bytes // 8 // MIB)

    def _environment(self, marker: str) -> dict[str, str]:
        inherited = self.settings.environ
        env = {name: value for name, value in inherited.items() if not name.startswith(_CONTRACT_BREAKERS)}
        if self.engine.library_dir is not None:
            of_devices = (folder for device in self.order.devices for folder in device.library_path)
            env |= library_path((str(self.engine.library_dir), *of_devices), inherited)
        if backend := self._backend():
            env["GGML_BACKEND_PATH"] = str(backend)
        env |= visibility(self.order.devices, inherited) | waiting(inherited)
        env["LLAMA_MEDIA_MARKER"] = marker
        return env

    def _backend(self) -> Path | None:
        folders = [Path(folder) for device in self.order.devices for folder in device.library_path]
        return next(
            (self.engine.backends[folder] for folder in folders if folder in self.engine.backends), None
        )


def _listening(address: Address) -> tuple[str, ...]:
    if isinstance(address, UnixAddress):
        return ("--host", str(address.path))
    return ("--port", str(address.port), "--host", address.host)


def _flash_attention(wanted: bool | None, devices: Sequence[Device]) -> str:
    if wanted is not None:
        return "on" if wanted else "off"
    return "auto" if all(_has_flash_attention(device) for device in devices) else "off"


def _has_flash_attention(device: Device) -> bool:
    if device.library != "CUDA":
        return device.library in _FLASH_ATTENTION_LIBRARIES
    return (
        device.compute[0] >= 6
        and device.compute != (7, 2)
        and (device.driver_major == 0 or device.driver_major >= 7)
    )


def _reason_against_mmap(order: LoadOrder) -> str | None:
    """Why the file is better read than mapped, if so."""
    facts, options, devices = order.spec.files.facts, order.spec.options, order.devices
    libraries = {device.library for device in devices}
    known = order.predicted_bytes > 0 and order.available_bytes > 0
    partial = 0 < options.num_gpu < facts.block_count + 1
    if options.num_gpu == 0 or libraries <= {"cpu"}:
        return "cpu"
    if sys.platform == "win32" and "CUDA" in libraries:
        return "windows_cuda"
    too_large = options.num_gpu < 0 and known and order.predicted_bytes > order.available_bytes
    if "Metal" in libraries and (partial or too_large):
        return "metal_partial_offload"
    if sys.platform == "linux" and known and _presses_on_host(order):
        return "host_pressure"
    return None


def _presses_on_host(order: LoadOrder) -> bool:
    """Whether a mapped file would take memory that the host needs, though the GPUs hold the model."""
    size, memory = order.spec.files.facts.size_bytes, order.memory
    if not size or memory is None or any(device.integrated for device in order.devices):
        return False
    if order.predicted_bytes > order.available_bytes * 80 // 100:
        return False
    reserve = max(8 * _GB, memory.total_bytes // 10)
    return memory.free_bytes < size + order.mmap_loaded_bytes + reserve


def _projector(spec: LoadSpec) -> Path | None:
    """The first projector, or the weights where they carry one of a kind the engine finds there."""
    facts = spec.files.facts
    if spec.files.projectors:
        return spec.files.projectors[0]
    if facts.embedded_projector_bytes and facts.architecture in _OWN_FILE_PROJECTORS:
        return spec.files.weights
    return None


def _projector_fits_gpu(order: LoadOrder) -> bool:
    facts, num_gpu = order.spec.files.facts, order.spec.options.num_gpu
    size = facts.projector_bytes if order.spec.files.projectors else facts.embedded_projector_bytes
    if 0 <= num_gpu < facts.block_count + 1:
        return False
    return not any(0 < _free(device) < size + GIB for device in order.devices)


def _draft_type(facts: ModelFacts, *, has_draft: bool) -> str:
    if has_draft:
        return "draft-dflash" if facts.draft_architecture == "dflash" else "draft-mtp"
    own_layers = facts.architecture in ("qwen35", "qwen35moe") and facts.has_mtp_tensors
    return "draft-mtp" if facts.nextn_predict_layers > 0 or own_layers else ""


def _free(device: Device) -> int:
    return min(device.free_bytes, device.total_bytes)
