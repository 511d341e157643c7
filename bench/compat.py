"""What a published model costs that the engine reads through a view: time to load it, and room on the disk.

    .venv/bin/python -m bench.compat

Needs our build of the engine, which reads overlays (`orch engine build`). All loads are of one run and take
turns: the stock file of Gemma 3 270M, its published form as an overlay, and as a file of its own.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from orchestrator.compat.layout import overlay_layout
from orchestrator.compat.registry import plan_view
from orchestrator.compat.source import Source
from orchestrator.compat.views import Views
from orchestrator.compat.writer import opened
from orchestrator.doctor.bare import bare_engine
from orchestrator.domain.loads import ModelFiles
from orchestrator.files.facts import model_facts
from orchestrator.process.address import Address, UnixAddress
from orchestrator.runners.base import PreparedFiles
from orchestrator.runners.engines import EngineInfo, EngineKind, find_engine
from orchestrator.store.layout import StoreLayout
from tests.compat.gemma import published_gemma
from tests.sample_models import gemma3

ROUNDS = 15


@dataclass
class Candidate:
    """A way to load the model, and how long it took each time."""

    name: str
    weights: Path
    environ: Mapping[str, str] = field(default_factory=dict)
    seconds: list[float] = field(default_factory=list)

    @property
    def median_s(self) -> float:
        return statistics.median(self.seconds)


def main() -> int:
    engine = find_engine(os.environ, only=EngineKind.NATIVE)
    if not engine.reads_overlays:
        print(f"{engine.argv_prefix[0]} reads no overlays; build one with `orch engine build`")
        return 1
    with tempfile.TemporaryDirectory() as folder:
        layout = StoreLayout(Path(folder) / "models")
        layout.blobs.mkdir(parents=True)
        blob = layout.blobs / f"sha256-{0:064}"
        blob.symlink_to(published_gemma())
        files = ModelFiles(key="k", name="gemma", digest="d", weights=blob, facts=model_facts(blob))
        whole = _prepared(layout, Path(folder) / "other", files, overlays=False)
        overlay = _prepared(layout, Path(folder), files, overlays=True)
        candidates = [
            Candidate("stock file", gemma3()),
            Candidate("overlay", overlay.files.weights, overlay.environ),
            Candidate("file of its own", whole.files.weights),
        ]
        for number in range(ROUNDS + 1):
            for candidate in candidates:
                seconds = _load_s(engine, candidate)
                if number:  # the first round fills the page cache
                    candidate.seconds.append(seconds)
        _report(candidates, blob, overlay)
    return 0


def _prepared(layout: StoreLayout, cache: Path, files: ModelFiles, *, overlays: bool) -> PreparedFiles:
    """The files of a view. Each in a store of its own, because a store keeps one view of a blob."""
    if not overlays:
        other = StoreLayout(cache)
        other.blobs.mkdir(parents=True)
        layout = other
    return asyncio.run(Views(layout, cache, overlays=overlays).prepared(files))


def _load_s(engine: EngineInfo, candidate: Candidate) -> float:
    """Time from the start of the process until it may serve."""

    def arguments(address: Address, _marker: str) -> Sequence[str]:
        assert isinstance(address, UnixAddress)
        usual = (
            "--offline",
            "--no-webui",
            "--no-warmup",
            "--fit",
            "off",
            "-c",
            "1024",
            "-np",
            "1",
            "-t",
            "1",
        )
        return ("--model", str(candidate.weights), "--host", str(address.path), *usual)

    started = time.perf_counter()
    with bare_engine(engine, arguments, {**os.environ, **candidate.environ}) as running:
        running.wait_until_ready()
        return time.perf_counter() - started


def _report(candidates: Sequence[Candidate], blob: Path, overlay: PreparedFiles) -> None:
    plain = candidates[0].median_s
    for candidate in candidates:
        ratio = candidate.median_s / plain
        print(f"{candidate.name:16} {candidate.median_s * 1000:6.0f} ms   {ratio:.3f} of the stock file")
    source = Source.read(blob)
    plan = plan_view(source)
    assert plan is not None
    used, least = 0, 0
    for part, path in ((plan.text, overlay.files.weights), (plan.projector, overlay.files.projectors[0])):
        assert part is not None
        with opened(blob) as file:
            layout = overlay_layout(part, file.read, source_name=blob.name, source_bytes=0)
        used += path.stat().st_size
        least += len(layout.head) + sum(placed.tensor.size_bytes for placed in layout.data)
    print(f"published file   {source.header.size_bytes / 1e6:8.2f} MB")
    print(f"overlay          {used / 1e6:8.2f} MB   headers and transformed tensors: {least / 1e6:.2f} MB")
    print(f"file of its own  {candidates[2].weights.stat().st_size / 1e6:8.2f} MB")


if __name__ == "__main__":
    sys.exit(main())
