"""``orch export`` and ``orch import``: a model as one file, for machines without network."""

from __future__ import annotations

import os
import stat
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import BinaryIO

from orchestrator.cli.connection import server
from orchestrator.cli.grammar import UsageError
from orchestrator.cli.progress import Bar, Display, Spinner
from orchestrator.client.errors import ServerUnreachable
from orchestrator.client.wire import ImportRecord
from orchestrator.domain.names import ModelName
from orchestrator.errors import OrchestratorError, reason_of
from orchestrator.units import format_bytes

STREAM = "-"
"""Standard input or output, in the place of a file."""

_PIECE_BYTES = 1 << 20


class Inaccessible(OrchestratorError):
    """The archive cannot be written or read where it is to be."""

    def __init__(self, verb: str, path: Path, error: OSError) -> None:
        super().__init__(f"{verb} {path}: {reason_of(error)}")


class ExportBroken(OrchestratorError):
    """The server ended the archive before it was complete."""

    hint = "the server's log says why; `orch verify` looks for damage in the store"

    def __init__(self, model: str) -> None:
        super().__init__(f"export of {model} broke off before its end")


def export_model(model: str, file: str = "") -> None:
    """Write a model to a file; what is there of that name is replaced when the archive is complete."""
    if file == STREAM and sys.stdout.isatty():
        raise UsageError("an archive is not for a terminal: name a file, or redirect the output")
    with server() as native, native.export(model) as (size, content):
        path = file or default_file(model)
        with _output(path) as output, Display() as display:
            bar = display.bar(f"exporting {model}:", size)
            try:
                _copy(content, output, bar)
            except ServerUnreachable as error:
                raise ExportBroken(model) from error


def import_models(file: str) -> None:
    """Send an archive to the server, and say which models came with it."""
    if file == STREAM and sys.stdin.isatty():
        raise UsageError("an archive is not typed: name a file, or redirect the input")
    models: list[str] = []
    with server() as native, _input(file) as source, Display() as display:
        label = f"importing {'standard input' if file == STREAM else Path(file).name}"
        with closing(native.import_archive(_pieces(source, label, display))) as records:
            for record in records:
                _tell(display, record)
                models = record.get("models", models)
    for model in models:
        print(f"imported '{model}'")


def default_file(model: str) -> str:
    """The file a model goes to when none is named."""
    name = ModelName.parse(model)
    return f"{name.model}-{name.tag}.tar"


def _copy(content: Iterable[bytes], output: BinaryIO, bar: Bar) -> None:
    written = 0
    for piece in content:
        output.write(piece)
        written += len(piece)
        bar.advance(written, time.monotonic())


@contextmanager
def _output(file: str) -> Iterator[BinaryIO]:
    """Where the archive goes; a file appears when the block has ended well, and not before."""
    if file == STREAM:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    path = Path(file)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    if path.exists() and not stat.S_ISREG(path.stat().st_mode):
        temporary = path  # a pipe or a device: nothing to replace
    try:
        with temporary.open("wb") as output:
            yield output
            if temporary != path:
                os.fsync(output.fileno())
        if temporary != path:
            temporary.replace(path)
    except OSError as error:
        raise Inaccessible("write", path, error) from error
    finally:
        if temporary != path:
            temporary.unlink(missing_ok=True)


@contextmanager
def _input(file: str) -> Iterator[BinaryIO]:
    if file == STREAM:
        yield sys.stdin.buffer
        return
    try:
        source = Path(file).open("rb")  # noqa: SIM115 - closed below
    except OSError as error:
        raise Inaccessible("open", Path(file), error) from error
    with source:
        yield source


def _pieces(source: BinaryIO, label: str, display: Display) -> Iterator[bytes]:
    """The archive; the display tells how much of it has been sent."""
    found = os.fstat(source.fileno())
    size = found.st_size if stat.S_ISREG(found.st_mode) else 0
    line = display.bar(f"{label}:", size) if size else display.spinner(label)
    sent = 0
    while piece := source.read(_PIECE_BYTES):
        yield piece
        sent += len(piece)
        match line:
            case Bar():
                line.advance(sent, time.monotonic())
            case Spinner():
                line.message = f"{label} {format_bytes(sent)}"


def _tell(display: Display, record: ImportRecord) -> None:
    """Parts have been told of when they were sent."""
    if not record.get("digest"):
        display.spinner(record.get("status", ""))
