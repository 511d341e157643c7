"""llama.cpp's program ``llama-quantize``: it checks models by copying them, and gives them other types.

Plans are made in threads, but a child is run by the event loop; so a plan hands out a ``QuantizerRun``, and
``run_quantizer`` makes it. Source: ``modelfile`` §5.4.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from orchestrator.create.errors import CreateFailed, QuantizerFailed, QuantizerUnavailable
from orchestrator.create.rewrite import GgufFile
from orchestrator.domain.progress import Progress
from orchestrator.errors import reason_of
from orchestrator.files.gguf import MalformedGguf
from orchestrator.process.child import Child, child_process
from orchestrator.process.libraries import library_path
from orchestrator.runners.lifecycle import Stopped
from orchestrator.store.errors import DiskFull, disk_error, free_bytes

logger = logging.getLogger(__name__)

COPY = "COPY"
"""The type that leaves all types as they are."""

PLACEHOLDER_DIGEST = "0" * 19
"""Names the work on a file that has no digest yet."""

_NAME = "llama-quantize"
_MARK = re.compile(r"\[\s*(\d+)/\s*(\d+)\]")
_GRACE = timedelta(seconds=1)
"""It has nothing to save."""
_VALIDATING = "failed to validate GGUF with llama-quantize without compatibility patches: "


@dataclass(frozen=True, slots=True)
class Quantizer:
    """A ``llama-quantize``, and how it is started."""

    program: Path
    library_dir: Path
    environ: Mapping[str, str]

    @classmethod
    def at(cls, program: Path, environ: Mapping[str, str]) -> Quantizer:
        """The program at a path, for an environment in which its libraries must be found."""
        library_dir = program.resolve().parent
        return cls(program, library_dir, {**environ, **library_path([str(library_dir)], environ)})


@dataclass(frozen=True, slots=True, kw_only=True)
class QuantizerRun:
    """One run of ``llama-quantize`` that is to be made."""

    quantizer: Quantizer
    source: Path
    """The model, or the first shard of a split one."""
    target: Path
    """Written by the run."""
    type: str = COPY
    overrides: tuple[str, ...] = ()
    """``PATTERN=TYPE`` for tensors that get another type than the program would choose."""
    status: str
    """What is told on the way, or empty."""
    total_bytes: int
    """Size of the model."""
    needed_bytes: int
    """Room that ``target`` takes at least."""
    told_bytes: int = 0
    """How much must have been done since it was last told of."""

    @property
    def argv(self) -> tuple[str, ...]:
        """The command line."""
        overrides = (word for override in self.overrides for word in ("--tensor-type", override))
        files = (str(self.source), str(self.target))
        return (str(self.quantizer.program), "--allow-requantize", *overrides, *files, self.type)

    @property
    def doing(self) -> str:
        """The beginning of the message when it fails."""
        return _VALIDATING if self.type == COPY else ""


@contextmanager
def source_file(paths: Sequence[Path], directory: Path) -> Iterator[Path]:
    """The file to name to the program for a model in ``paths``.

    It finds the shards of a split model by their names, so they get such names in ``directory`` meanwhile.
    Raises ``StoreError``.
    """
    if len(paths) == 1:
        yield paths[0]
        return
    try:
        with TemporaryDirectory(prefix="split-gguf-", dir=directory) as folder:
            names = [f"model-{number:05}-of-{len(paths):05}.gguf" for number in range(1, len(paths) + 1)]
            for name, path in zip(names, paths, strict=True):
                _link(Path(folder) / name, path)
            yield Path(folder) / names[0]
    except OSError as error:
        raise disk_error("link", directory, error) from error


async def run_quantizer(run: QuantizerRun) -> AsyncGenerator[Progress, None]:
    """Run the program to its end; after that ``target`` is written. Closing early ends the program.

    Raises ``QuantizerUnavailable``, ``QuantizerFailed`` and ``DiskFull``.
    """
    lines: asyncio.Queue[str | None] = asyncio.Queue()
    try:
        async with child_process(
            run.argv,
            env=run.quantizer.environ,
            cwd=run.quantizer.library_dir,
            name=_NAME,
            grace=_GRACE,
            on_line=lines.put_nowait,
        ) as child:
            async for step in _told(run, child, lines):
                yield step
    except OSError as error:
        raise QuantizerUnavailable(reason_of(error), doing=run.doing) from error
    assert child.returncode is not None
    if child.returncode:
        raise await asyncio.to_thread(_failure, run, child.returncode, child.last_words)


def written_by(run: QuantizerRun) -> GgufFile:
    """The model a run has written. Raises ``QuantizerFailed`` if it is none, and ``StoreError``."""
    try:
        return GgufFile.read(run.target)
    except MalformedGguf as error:
        raise QuantizerFailed(f"what it wrote cannot be read: {error}", "", doing=run.doing) from error


async def _told(
    run: QuantizerRun, child: Child, lines: asyncio.Queue[str | None]
) -> AsyncGenerator[Progress, None]:
    """What there is to tell until the child has ended."""
    ended = asyncio.ensure_future(child.wait())
    ended.add_done_callback(lambda _: lines.put_nowait(None))
    told = 0
    try:
        while (line := await lines.get()) is not None:
            done = _bytes_done(line, run.total_bytes)
            if run.status and done - told >= max(run.told_bytes, 1):
                told = done
                yield Progress(run.status, PLACEHOLDER_DIGEST, run.total_bytes, done)
    finally:
        ended.cancel()


def _bytes_done(line: str, total_bytes: int) -> int:
    """How far a line of output says the work is; 0 if it says nothing."""
    mark = _MARK.search(line)
    if mark is None:
        return 0
    number, count = map(int, mark.groups())
    return total_bytes * min(number, count) // max(count, 1)


def _failure(run: QuantizerRun, status: int, last_words: str) -> CreateFailed | DiskFull:
    """Why it failed. A full disk it tells of in words of its own, so that is looked at here."""
    written = run.target.stat().st_size if run.target.exists() else 0
    missing, free = max(run.needed_bytes - written, 0), free_bytes(run.target)
    if 0 < free < missing:
        return DiskFull(run.target.parent, needed_bytes=missing, free_bytes=free)
    logger.warning("llama-quantize failed", extra={"status": status, "last_words": last_words})
    return QuantizerFailed(Stopped(status).cause, last_words, doing=run.doing)


def _link(link: Path, path: Path) -> None:
    try:
        link.hardlink_to(path)
    except OSError:  # not every file system has them
        link.symlink_to(path)
