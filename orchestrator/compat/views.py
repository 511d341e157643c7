"""The views of a store's models: planned when a model is loaded that needs one, written once, kept.

::

    <views>/<file name of the blob>/<rules>-<form>/text.gguf        the weights
                                                  /projector.gguf   the tower for images and sound

``form`` is ``file`` or ``overlay``. A view is written under another name first; a name that exists is whole.
Blobs never change, so neither does a view, until the rules do.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import os
import shutil
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import mkdtemp

from orchestrator.compat.errors import CannotTranslate, IncompatibleModel
from orchestrator.compat.layout import FileLayout, overlay_layout, own_layout
from orchestrator.compat.plan import FilePlan, ViewPlan
from orchestrator.compat.registry import RULES_VERSION, may_need_view, plan_view
from orchestrator.compat.source import Source
from orchestrator.compat.writer import SourceFile, opened, write_file
from orchestrator.domain.loads import ModelFiles
from orchestrator.files.gguf import MalformedGguf
from orchestrator.runners.base import PreparedFiles
from orchestrator.store.errors import check_room, disk_error
from orchestrator.store.layout import StoreLayout

logger = logging.getLogger(__name__)

SOURCES_VARIABLE = "ORCH_OVERLAY_SOURCES"
"""Tells an engine where the sources of overlays are; without it none reads any."""

_TEXT, _PROJECTOR = "text.gguf", "projector.gguf"
_PART_PREFIX = "part-"
_ABANDONED_S = 24 * 3600
"""A view that is being written longer than this belongs to a process that has ended."""


@dataclass(frozen=True, slots=True)
class View:
    """The files that stand for a blob."""

    text: Path | None
    projector: Path | None
    projector_bytes: int = 0
    """Size of the tensors of the projector."""
    guesses: bool = False
    """Whether the weights have a head that guesses tokens ahead."""


class Views:
    """Makes the views of one store's models, and finds them again."""

    def __init__(self, layout: StoreLayout, cache: Path, *, overlays: bool = False) -> None:
        """``cache`` is where views go when nothing can be written beside the blobs.

        ``overlays`` tells that the engine reads those.
        """
        self._layout = layout
        self._cache = cache / hashlib.sha256(str(layout.root.absolute()).encode()).hexdigest()[:16]
        self._overlays = overlays
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._found: dict[Path, View | None] = {}

    async def prepared(self, files: ModelFiles) -> PreparedFiles:
        """``files`` as an engine can load them, with views in the place of those that need one.

        Raises ``IncompatibleModel`` and ``StoreError``.
        """
        if not _may_need_view(files):
            return PreparedFiles(files)
        stop = threading.Event()
        async with self._locks[files.key]:
            try:
                return await asyncio.to_thread(self._prepared, files, stop)
            finally:
                stop.set()

    def _prepared(self, files: ModelFiles, stop: threading.Event) -> PreparedFiles:
        weights = self._view(files.weights, files.name, stop) if may_need_view(files.facts) else None
        draft = self._view(files.draft, files.name, stop) if files.draft else None
        projector = self._view(files.projectors[0], files.name, stop) if files.projectors else None
        needs_sources = self._overlays and any((weights, draft, projector))
        environ = {SOURCES_VARIABLE: str(self._layout.blobs)} if needs_sources else {}
        return PreparedFiles(_with_views(files, weights, draft, projector), environ)

    def _view(self, path: Path, model: str, stop: threading.Event) -> View | None:
        if path not in self._found or not _is_there(self._found[path]):
            self._found[path] = self._made(path, model, stop)
        return self._found[path]

    def _made(self, path: Path, model: str, stop: threading.Event) -> View | None:
        try:
            source = Source.read(path)
            plan = plan_view(source)
        except (CannotTranslate, MalformedGguf) as error:
            raise IncompatibleModel(model, error) from error
        except OSError as error:
            raise disk_error("open", path, error) from error
        if plan is None:
            return None
        name = f"{RULES_VERSION}-{'overlay' if self._overlays else 'file'}"
        for folder in self._folders():
            view = _view_in(folder / path.name / name, plan)
            if _is_there(view):
                return view
        try:
            return self._written(source, plan, name, model, stop)
        except CannotTranslate as error:
            raise IncompatibleModel(model, error) from error

    def _written(self, source: Source, plan: ViewPlan, name: str, model: str, stop: threading.Event) -> View:
        started = time.monotonic()
        folder = self._writable_folder()
        remove_orphans(folder, self._layout.blobs)
        target = folder / source.path.name / name
        try:
            with opened(source.path) as file, _part(folder) as part:
                layouts = dict(self._layouts(source, plan, file))
                check_room(part, sum(layout.size_bytes for layout in layouts.values()))
                for file_name, layout in layouts.items():
                    alignment = source.header.alignment
                    write_file(part / file_name, layout, file, alignment=alignment, stop=stop)
                _take_place(part, target)
        except OSError as error:
            raise disk_error("write", target, error) from error
        logger.info(
            "model translated for the engine",
            extra={
                "model": model,
                "architecture": source.architecture,
                "view": str(target),
                "bytes": sum(len(layout.head) + _data_bytes(layout) for layout in layouts.values()),
                "seconds": round(time.monotonic() - started, 3),
            },
        )
        return _view_in(target, plan)

    def _layouts(self, source: Source, plan: ViewPlan, file: SourceFile) -> Iterator[tuple[str, FileLayout]]:
        for name, part in ((_TEXT, plan.text), (_PROJECTOR, plan.projector)):
            if part is not None:
                yield name, self._layout_of(source, part, file)

    def _layout_of(self, source: Source, plan: FilePlan, file: SourceFile) -> FileLayout:
        if not self._overlays:
            return own_layout(plan, file.read)
        return overlay_layout(
            plan, file.read, source_name=source.path.name, source_bytes=source.header.size_bytes
        )

    def _folders(self) -> tuple[Path, Path]:
        return self._layout.views, self._cache

    def _writable_folder(self) -> Path:
        """Beside the blobs, where file systems can share data with them; else in the cache."""
        beside, cache = self._folders()
        try:
            beside.mkdir(exist_ok=True)
            if os.access(beside, os.W_OK):
                return beside
        except OSError:
            logger.debug("no views beside the blobs", extra={"folder": str(beside)})
        try:
            cache.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise disk_error("mkdir", cache, error) from error
        return cache


def _may_need_view(files: ModelFiles) -> bool:
    return may_need_view(files.facts) or bool(files.projectors) or files.draft is not None


def _with_views(
    files: ModelFiles, weights: View | None, draft: View | None, projector: View | None
) -> ModelFiles:
    if draft is not None and draft.text is not None:
        files = replace(files, draft=draft.text)
    if projector is not None and projector.projector is not None:
        files = replace(files, projectors=(projector.projector, *files.projectors[1:]))
    if weights is None or weights.text is None:
        return files
    tower = None if files.projectors else weights.projector
    facts = replace(files.facts, embedded_projector_bytes=0, has_mtp_tensors=weights.guesses)
    if tower is not None:
        facts = replace(facts, projector_bytes=weights.projector_bytes)
    projectors = files.projectors if tower is None else (tower,)
    return replace(files, weights=weights.text, projectors=projectors, facts=facts)


def remove_orphans(folder: Path, blobs: Path) -> None:
    """Remove views of blobs that are gone, and what interrupted work has left."""
    with contextlib.suppress(OSError):
        for entry in list(folder.iterdir()):
            if entry.name.startswith(_PART_PREFIX):
                is_orphan = time.time() - entry.stat().st_mtime > _ABANDONED_S
            else:
                is_orphan = not (blobs / entry.name).exists()
            if is_orphan:
                shutil.rmtree(entry, ignore_errors=True)


@contextlib.contextmanager
def _part(folder: Path) -> Iterator[Path]:
    """A new directory, which is gone on leaving unless it was given another name."""
    part = Path(mkdtemp(prefix=_PART_PREFIX, dir=folder))
    try:
        yield part
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _take_place(part: Path, target: Path) -> None:
    """Give a finished view its name, and remove older ones. Somebody else's that came first is as good."""
    part.chmod(0o755)
    target.parent.mkdir(exist_ok=True)
    try:
        part.rename(target)
    except OSError:
        if not target.is_dir():
            raise
    for other in target.parent.iterdir():
        if other != target:
            shutil.rmtree(other, ignore_errors=True)


def _data_bytes(layout: FileLayout) -> int:
    return sum(placed.tensor.size_bytes for placed in layout.data)


def _view_in(folder: Path, plan: ViewPlan) -> View:
    return View(
        text=folder / _TEXT if plan.text else None,
        projector=folder / _PROJECTOR if plan.projector else None,
        projector_bytes=plan.projector.data_bytes if plan.projector else 0,
        guesses=bool(plan.text and any(".nextn." in tensor.name for tensor in plan.text.tensors)),
    )


def _is_there(view: View | None) -> bool:
    """Whether nobody has removed it; that a file needs no view stays true."""
    return view is None or all(path.is_file() for path in (view.text, view.projector) if path is not None)
