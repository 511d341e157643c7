"""An examination in words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from orchestrator.doctor.examination import Examination
from orchestrator.domain.devices import Device

_MIB = 1 << 20
_WIDTH = 11


def report(examination: Examination) -> str:
    """One line per fact."""
    return "".join(f"{name:<{_WIDTH}}{text}\n" for name, text in _facts(examination))


def _facts(found: Examination) -> Iterator[tuple[str, str]]:
    engine = found.engine
    yield "engine", f"{engine.kind.value}: {' '.join(engine.argv_prefix)}"
    yield "version", found.version or "it does not say; it may not start"
    if engine.library_dir is not None:
        yield "libraries", str(engine.library_dir)
    if engine.patches:
        yield "patches", ", ".join(sorted(engine.patches))
    if found.processor is not None:
        yield "processor", _processor(found.processor)
    if engine.backends:
        yield "variants", ", ".join(folder.name for folder in engine.backends)
    yield "schemas", "read by the engine" if engine.reads_schemas else "given to it as grammars"
    yield "quantizer", str(found.quantizer) if found.quantizer else "none, K types need `orch engine build`"
    yield from (("device", _device(device)) for device in found.devices)
    if not found.devices:
        yield "devices", "CPU only"
    if found.trial is not None:
        yield (
            "trial",
            f"a tiny model loaded in {found.trial.load_ms} ms and answered {found.trial.tokens} tokens",
        )
    else:
        yield "trial", f"FAILED: {found.problem}"


def _processor(library: Path) -> str:
    """What a ``libggml-cpu-haswell.so`` is for, and how many there were to choose from."""
    name = re.sub(r"^(lib)?ggml-cpu-", "", library.stem)
    others = [*library.parent.glob("libggml-cpu-*.so"), *library.parent.glob("ggml-cpu-*.dll")]
    return f"{name}, chosen of {len(others)}"


def _device(device: Device) -> str:
    free, total = device.free_bytes // _MIB, device.total_bytes // _MIB
    return f"{device.name} {device.description}, {free} of {total} MiB free"
