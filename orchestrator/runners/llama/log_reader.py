"""What the log of llama-server tells about itself: errors, sizes, the free memory of devices.

Lines come one at a time from the child's output; nothing here waits or writes. An engine writes some twenty
for each request, before its answer is read, and hardly one of them tells anything: that answer comes first.

Source: ``llama-server`` §5; ``scheduler`` §13.1, §17.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from orchestrator.runners.base import MemoryUse
from orchestrator.runners.out_of_memory import is_fatal, is_quoted, says_out_of_memory
from orchestrator.units import MIB

_ERRORS_LIMIT_BYTES = 8 * 1024

_PREFIX = re.compile(r"(?:\d+\.\d\d\.\d{3}\.\d{3} )?[DIWE] ")
"""Time and level that an engine writes which cannot be told to leave them out."""
_SIGNS_OF_ERROR = (
    "mlx:",
    "MLX:",
    "panic:",
    "fatal error:",
    "error:",
    "Error:",
    "CUDA error",
    "ROCm error",
    "cudaMalloc failed",
    '"ERR"',
    "error loading model",
    "GGML_ASSERT",
    "Deepseek2 does not support K-shift",
    "signal arrived during cgo execution",
    "llama_init_from_model:",
)
_MARKS_OF_ERROR = (
    *("rror", "ailed", "AILED", "emory", "EMORY", "mlx:", "MLX:", "panic:", '"ERR"'),
    *("GGML_ASSERT", "K-shift", "signal arrived", "llama_init_from_model:"),
)
"""One of these is in every line that tells of an error."""
_ERROR = re.compile("|".join(map(re.escape, _SIGNS_OF_ERROR)))
_COUNT = r"(\d{1,12})"
_MIB = r"(\d{1,12}(?:\.\d+)?) MiB"
"""Bounded, for an engine writes whatever stands in a model's template, too."""
_BUFFER = re.compile(rf"(\w+):\s+(\S+)\s+(model|KV|compute|output|RS) buffer size\s*=\s*{_MIB}")
_FREE = re.compile(rf"using device (\S+) \(.*\) - {_COUNT} MiB free")
_OFFLOADED = re.compile(rf"offloaded {_COUNT}/{_COUNT} layers to GPU")
_OVERFLOWING = re.compile(rf"common_params_fit_impl:\s+- .*\(\s*{_COUNT} overflowing\)")
_PROJECTOR_SIZE = re.compile(rf"load_hparams: model size:\s*{_MIB}")
_PROJECTOR_DEVICE = re.compile(r"CLIP using (\S+) backend")
_SLOTS = re.compile(rf"n_slots = {_COUNT}, n_ctx_slot = {_COUNT}")
_DRAFT = "loading draft model"
_MARKS_OF_SIZES = ("MiB", "offloaded", "overflowing", "CLIP using", "n_slots", _DRAFT)
"""One of these is in every line that tells a size."""


def without_prefix(line: str) -> str:
    """The line without time and level."""
    prefix = _PREFIX.match(line)
    return line[prefix.end() :] if prefix else line


@dataclass(slots=True)
class ErrorLines:
    """The error lines of a log, for the message that tells why something failed."""

    out_of_memory_line: str = ""
    """The latest line that tells of exhausted memory, from which the engine did not recover."""
    _lines: deque[str] = field(default_factory=deque)
    _size: int = 0

    def feed(self, line: str) -> None:
        """Keep ``line``, from its first sign of an error on, if it is one."""
        if not _has_one(_MARKS_OF_ERROR, line):
            return
        match = _ERROR.search(line)
        out_of_memory = says_out_of_memory(line)
        if match is None and not out_of_memory:
            return
        text = (line[match.start() :] if match else without_prefix(line)).strip()
        if out_of_memory and is_fatal(line):
            self.out_of_memory_line = text
        if match is None and not is_quoted(line):
            return
        self._lines.append(text)
        self._size += len(text.encode()) + 1
        while self._size - 1 > _ERRORS_LIMIT_BYTES and len(self._lines) > 1:
            self._size -= len(self._lines.popleft().encode()) + 1

    def clear(self) -> None:
        """Forget what was kept: the engine went on."""
        self._lines.clear()
        self._size = 0
        self.out_of_memory_line = ""

    @property
    def text(self) -> str:
        """The lines, at most 8 KiB, the latest kept."""
        return "\n".join(self._lines).encode()[-_ERRORS_LIMIT_BYTES:].decode(errors="ignore")


@dataclass(slots=True)
class SizeLines:
    """The sizes in a log. The fitting pass reports first; the load that follows overwrites it."""

    buffers: dict[tuple[str, str, str], int] = field(default_factory=dict)
    """Bytes by (component, buffer, kind)."""
    free_at_load: dict[str, int] = field(default_factory=dict)
    """Free bytes by device, as the engine found them."""
    offloaded_layers: int = 0
    layers: int = 0
    overflowing_layers: int = 0
    slots: int = 0
    context_per_slot: int = 0
    _is_draft: bool = False
    _projector_device: str = "CPU"

    def feed(self, line: str) -> None:
        """Read one line."""
        if not _has_one(_MARKS_OF_SIZES, line):
            return
        if "buffer size" in line:
            self._read_buffer(line)
        elif "MiB free" in line:
            if match := _FREE.search(line):
                self.free_at_load[match[1]] = int(match[2]) * MIB
        elif match := _OFFLOADED.search(line):
            self.offloaded_layers, self.layers = int(match[1]), int(match[2])
        elif match := _OVERFLOWING.search(line):
            self.overflowing_layers += int(match[1])
        elif match := _PROJECTOR_DEVICE.search(line):
            self._projector_device = match[1]
        elif match := _PROJECTOR_SIZE.search(line):
            self.buffers["projector", self._projector_device, "model"] = int(float(match[1]) * MIB)
        elif match := _SLOTS.search(line):
            self.slots, self.context_per_slot = int(match[1]), int(match[2])
        elif _DRAFT in line:
            self._is_draft = True

    def _read_buffer(self, line: str) -> None:
        if match := _BUFFER.search(line):
            component, buffer, kind, size = match.groups()
            if self._is_draft:
                component = f"draft {component}"
            self.buffers[component, buffer, kind] = int(float(size) * MIB)

    def memory_use(self, file_size_bytes: int) -> MemoryUse:
        """What the runner occupies; without a single size in the log, what its file does."""
        if not self.buffers:
            return MemoryUse(total_bytes=file_size_bytes, vram_bytes=file_size_bytes)
        by_device: dict[str, int] = {}
        for (_, buffer, _), size in self.buffers.items():
            if _is_gpu(buffer):
                by_device[_device(buffer)] = by_device.get(_device(buffer), 0) + size
        vram = sum(by_device.values())
        total = sum(self.buffers.values()) - self._counted_twice(file_size_bytes)
        if self.layers and self.offloaded_layers >= self.layers and not self.overflowing_layers:
            total = vram
        return MemoryUse(total_bytes=total, vram_bytes=vram, by_device=by_device)

    def _counted_twice(self, file_size_bytes: int) -> int:
        """Bytes of a mapped file that are reported for the host although a GPU holds them."""
        weights = [(buffer, size) for (_, buffer, kind), size in self.buffers.items() if kind == "model"]
        mapped = sum(size for buffer, size in weights if buffer.endswith("_Mapped") and not _is_gpu(buffer))
        backed = mapped + sum(size for buffer, size in weights if _is_gpu(buffer))
        return min(mapped, max(backed - file_size_bytes, 0))


def _has_one(marks: Sequence[str], line: str) -> bool:
    for mark in marks:  # noqa: SIM110 - a generator takes three times as long
        if mark in line:
            return True
    return False


def _is_gpu(buffer: str) -> bool:
    return not (buffer in ("CPU", "BLAS") or buffer.startswith("CPU_") or buffer.endswith("_Host"))


def _device(buffer: str) -> str:
    for suffix in ("_Mapped", "_REPACK", "_Private"):
        buffer = buffer.removesuffix(suffix)
    return buffer
