"""Writing the files of a view. Plain synchronous code, a few megabytes at a time."""

from __future__ import annotations

import errno
import itertools
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from orchestrator.compat.errors import CannotTranslate
from orchestrator.compat.layout import CLONED_BYTES, FileLayout, Placed, runs
from orchestrator.compat.plan import Computed, Stretch
from orchestrator.files.gguf import TensorInfo

_CHUNK_BYTES = 4 << 20
_KERNEL_CHUNK_BYTES = 256 << 20
_NOT_IN_KERNEL = {errno.EXDEV, errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP, errno.EPERM, errno.EBADF}
"""What a system says that cannot copy between such files by itself."""


class Stopped(Exception):
    """Nobody waits for the file any more."""


class SourceFile:
    """The published file, open for reading."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    def read(self, stretch: Stretch) -> bytes:
        """Bytes of it. Raises ``CannotTranslate`` if it has become shorter than its header says."""
        content = bytearray()
        while len(content) < stretch.size_bytes:
            left = stretch.size_bytes - len(content)
            piece = os.pread(self.descriptor, min(left, _CHUNK_BYTES), stretch.offset + len(content))
            if not piece:
                raise CannotTranslate("the file is shorter than its header says")
            content += piece
        return bytes(content)


@contextmanager
def opened(path: Path) -> Iterator[SourceFile]:
    """The file at ``path``. Raises ``OSError``."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    try:
        yield SourceFile(descriptor)
    finally:
        os.close(descriptor)


def write_file(
    path: Path, layout: FileLayout, source: SourceFile, *, alignment: int, stop: threading.Event
) -> None:
    """Write a new file, down to the disk.

    Raises ``OSError``, ``CannotTranslate``, and ``Stopped`` soon after ``stop`` is set.
    """
    with path.open("xb", buffering=0) as file:
        target = file.fileno()
        _write(target, layout.head, 0)
        for piece in runs(layout.data, alignment):
            _check(stop)
            if isinstance(piece, Placed):
                _make(piece, source, target, stop)
            else:
                stretch, offset = piece
                _copy(source, stretch, target, offset, stop)
        os.ftruncate(target, layout.size_bytes)
        os.fsync(target)


def _make(placed: Placed, source: SourceFile, target: int, stop: threading.Event) -> None:
    """Write a tensor that does not stand in the source in one piece."""
    match placed.tensor.data:
        case Computed(operation, inputs, arguments):
            from orchestrator.compat import arithmetic  # numpy takes a while to load

            stored = [arithmetic.StoredTensor(tensor, source.read(_place(tensor))) for tensor in inputs]
            content = arithmetic.computed(operation, stored, arguments)
            if len(content) != placed.tensor.size_bytes:
                raise CannotTranslate(f'tensor "{placed.tensor.name}" has not the size it should have')
            _write(target, content, placed.offset)
        case stretches:
            offset = placed.offset
            for stretch in stretches:
                _copy(source, stretch, target, offset, stop)
                offset += stretch.size_bytes


def _place(tensor: TensorInfo) -> Stretch:
    return Stretch(tensor.offset, tensor.size_bytes)


def _copy(source: SourceFile, stretch: Stretch, target: int, offset: int, stop: threading.Event) -> None:
    """Copy bytes of the source; those that the file system can share between the files are shared."""
    start, end = stretch.offset, stretch.offset + stretch.size_bytes
    bounds = [start, end]
    if (start - offset) % CLONED_BYTES == 0:
        first = min(start + -start % CLONED_BYTES, end)
        bounds[1:1] = [first, max(end - end % CLONED_BYTES, first)]
    for low, high in itertools.pairwise(bounds):
        _copy_range(source, Stretch(low, high - low), target, offset + low - start, stop)


def _copy_range(
    source: SourceFile, stretch: Stretch, target: int, offset: int, stop: threading.Event
) -> None:
    done = _copied_by_kernel(source, stretch, target, offset, stop)
    while done < stretch.size_bytes:
        _check(stop)
        size = min(_CHUNK_BYTES, stretch.size_bytes - done)
        _write(target, source.read(Stretch(stretch.offset + done, size)), offset + done)
        done += size


def _copied_by_kernel(
    source: SourceFile, stretch: Stretch, target: int, offset: int, stop: threading.Event
) -> int:
    """How many bytes the system has copied by itself: all of them, or none where it cannot."""
    if not hasattr(os, "copy_file_range"):
        return 0
    done = 0
    while done < stretch.size_bytes:
        _check(stop)
        size = min(_KERNEL_CHUNK_BYTES, stretch.size_bytes - done)
        try:
            copied = os.copy_file_range(source.descriptor, target, size, stretch.offset + done, offset + done)
        except OSError as error:
            if error.errno in _NOT_IN_KERNEL:
                return done
            raise
        if not copied:
            raise CannotTranslate("the file is shorter than its header says")
        done += copied
    return done


def _write(target: int, content: bytes, offset: int) -> None:
    rest = memoryview(content)
    while rest:
        written = os.pwrite(target, rest, offset)
        rest, offset = rest[written:], offset + written


def _check(stop: threading.Event) -> None:
    if stop.is_set():
        raise Stopped
