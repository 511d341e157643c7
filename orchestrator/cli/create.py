"""``orch create``: a model from a Modelfile and the files it names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from orchestrator.cli.connection import server
from orchestrator.cli.follow import follow
from orchestrator.cli.progress import Display, Spinner
from orchestrator.client.native import NativeClient
from orchestrator.domain.digests import Digest
from orchestrator.domain.names import InvalidName, ModelName
from orchestrator.errors import BadRequest, OrchestratorError, reason_of
from orchestrator.modelfile.commands import Keyword, Modelfile
from orchestrator.modelfile.hashing import file_digests
from orchestrator.modelfile.parser import parse_modelfile
from orchestrator.modelfile.plan import Creation, plan_creation
from orchestrator.modelfile.request import create_request
from orchestrator.modelfile.sources import resolved

_ASSUMED = "FROM .\n"
"""What a folder without a Modelfile means: take the model that lies there."""

_PIECE_BYTES = 1 << 20


class Unreadable(OrchestratorError):
    """A file the model needs that the system does not give us."""


def create(
    model: str,
    *,
    draft_quantize: str = "",
    experimental: bool = False,
    file: str = "",
    quantize: str = "",
) -> None:
    """Upload what the Modelfile names and have the server make the model."""
    if experimental:
        with Display():
            _check_safetensors(file)
    with server() as native, Display() as display:
        _check_name(model)
        try:
            plan = _plan(display, file)
            request = _request(native, display, plan, draft_quantize=draft_quantize)
        except OSError as error:
            raise _unreadable(error) from error
        options = {"model": model, "quantize": quantize, "draft_quantize": draft_quantize}
        request |= {name: value for name, value in options.items() if value}
        with closing(native.create(request)) as events:
            follow(display, events)


def _check_name(model: str) -> None:
    try:
        ModelName.parse(model)
    except InvalidName as error:
        raise BadRequest(f"invalid model name: {model}") from error


def _read(file: str) -> tuple[Modelfile, Path]:
    """The Modelfile and its folder. Where there is none, the model lies in the current folder."""
    path = Path(file or "Modelfile").absolute()
    if not path.exists():
        return parse_modelfile(_ASSUMED), Path.cwd()
    return parse_modelfile(path.read_bytes()), path.parent


def _plan(display: Display, file: str) -> Creation:
    modelfile, folder = _read(file)
    display.spinner("gathering model components")
    plan = plan_creation(modelfile, folder)
    for warning in plan.warnings:
        print(warning)
    return plan


def _check_safetensors(file: str) -> None:
    """``--experimental`` is for folders of safetensors; everything after that is as without it."""
    modelfile, folder = _read(file)
    named = modelfile.last(Keyword.FROM)
    path = resolved(named, folder)
    if not (path / "config.json").is_file() or not any(path.glob("*.safetensors")):
        raise BadRequest(
            f"{named} is not a supported safetensors model directory (needs config.json + *.safetensors)"
        )


def _request(
    native: NativeClient, display: Display, plan: Creation, *, draft_quantize: str
) -> dict[str, Any]:
    if draft_quantize and not plan.draft_files:
        raise BadRequest("--draft-quantize requires a DRAFT model")
    digests = file_digests((*plan.files, *plan.adapters, *plan.draft_files))
    _upload(native, display, digests)
    return create_request(plan, digests)


def _upload(native: NativeClient, display: Display, digests: Mapping[Path, Digest]) -> None:
    for path, digest in digests.items():
        message = f"copying file {digest}"
        spinner = display.spinner(message)
        if not native.has_blob(str(digest)):
            native.upload_blob(str(digest), _pieces(path, message, spinner))
        spinner.message = f"{message} 100%"


def _pieces(path: Path, message: str, spinner: Spinner) -> Iterator[bytes]:
    """The bytes of a file; the spinner tells how many of them have been taken."""
    size = path.stat().st_size
    sent = 0
    with path.open("rb") as file:
        while piece := file.read(_PIECE_BYTES):
            spinner.message = f"{message} {100 * sent // size}%"
            yield piece
            sent += len(piece)


def _unreadable(error: OSError) -> Unreadable:
    reason = reason_of(error)
    return Unreadable(f"open {error.filename}: {reason}" if error.filename else reason)
