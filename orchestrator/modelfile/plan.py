"""From the commands of a Modelfile to what is to be created.

Source: ``modelfile`` §2 to §4.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from orchestrator.domain.options import format_parameters
from orchestrator.domain.requests import Message
from orchestrator.modelfile.commands import Command, Keyword, Modelfile
from orchestrator.modelfile.errors import InvalidModelfile
from orchestrator.modelfile.sources import files_of, resolved

_NUMBER = r"(0|[1-9]\d*)"
_PRE_RELEASE = r"(0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*)"
_VERSION = re.compile(
    rf"v?{_NUMBER}(\.{_NUMBER}(\.{_NUMBER}"
    rf"(-{_PRE_RELEASE}(\.{_PRE_RELEASE})*)?(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?)?)?",
    re.ASCII,
)

DEPRECATED_PARAMETERS = frozenset(
    {"penalize_newline", "low_vram", "f16_kv", "logits_all", "vocab_only", "use_mlock"}
    | {"mirostat", "mirostat_tau", "mirostat_eta"}
)
"""Accepted with a warning, and dropped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Creation:
    """A model to be created, as its Modelfile asks for it; local files are not yet hashed."""

    base: str = ""
    """Name of the model to start from; empty if there are only ``files``."""
    files: tuple[Path, ...] = ()
    adapters: tuple[Path, ...] = ()
    draft_files: tuple[Path, ...] = ()
    template: str = ""
    system: str = ""
    licenses: tuple[str, ...] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Typed values."""
    messages: tuple[Message, ...] = ()
    renderer: str = ""
    parser: str = ""
    requires: str = ""
    warnings: tuple[str, ...] = ()
    """Lines for the user."""


def plan_creation(modelfile: Modelfile, directory: Path) -> Creation:
    """What ``modelfile``, which lies in ``directory``, asks for.

    Raises ``InvalidModelfile`` and the errors of parameters; ``OSError`` if an adapter or draft is not there.
    """
    base, files = _start(modelfile, directory)
    parameters, warnings = _parameters(modelfile)
    return Creation(
        base=base,
        files=files,
        adapters=_adapters(modelfile, directory),
        draft_files=_draft_files(modelfile, directory),
        template=modelfile.last(Keyword.TEMPLATE),
        system=modelfile.last(Keyword.SYSTEM),
        licenses=tuple(command.value for command in modelfile.all(Keyword.LICENSE)),
        parameters=parameters,
        messages=tuple(Message(command.name, command.value) for command in modelfile.all(Keyword.MESSAGE)),
        renderer=modelfile.last(Keyword.RENDERER),
        parser=modelfile.last(Keyword.PARSER),
        requires=_requires(modelfile),
        warnings=warnings,
    )


def _start(modelfile: Modelfile, directory: Path) -> tuple[str, tuple[Path, ...]]:
    """Base model and files of every FROM: what exists on disk is a file, the rest are names."""
    base = ""
    files: list[Path] = []
    for command in modelfile.all(Keyword.FROM):
        path = resolved(command.value, directory)
        if os.path.exists(path):  # noqa: PTH110  # a name too long for a path does not exist
            files += files_of(path)
        else:
            base = command.value
    return base, _distinct(files)


def _adapters(modelfile: Modelfile, directory: Path) -> tuple[Path, ...]:
    commands = modelfile.all(Keyword.ADAPTER)
    return files_of(resolved(commands[-1].value, directory), adapter=True) if commands else ()


def _draft_files(modelfile: Modelfile, directory: Path) -> tuple[Path, ...]:
    started_from = {resolved(command.value, directory).resolve() for command in modelfile.all(Keyword.FROM)}
    files: list[Path] = []
    for command in modelfile.all(Keyword.DRAFT):
        path = resolved(command.value, directory)
        if path.resolve() in started_from:
            raise InvalidModelfile(f"DRAFT must not reference the same local path as FROM: {path}")
        files += files_of(path)
    return _distinct(files)


def _parameters(modelfile: Modelfile) -> tuple[Mapping[str, Any], tuple[str, ...]]:
    """Typed values, of which the last counts and lists grow; and warnings."""
    parameters: dict[str, Any] = {}
    warnings = []
    for command in modelfile.all(Keyword.PARAMETER):
        if command.name in DEPRECATED_PARAMETERS:
            warnings.append(f"warning: parameter {command.name} is deprecated")
            continue
        value = format_parameters({command.name: [command.value]})[command.name]
        earlier = parameters.get(command.name)
        parameters[command.name] = earlier + value if isinstance(earlier, list) else value
    return parameters, tuple(warnings)


def _requires(modelfile: Modelfile) -> str:
    for command in modelfile.all(Keyword.REQUIRES):
        if not _VERSION.fullmatch(command.value):
            raise InvalidModelfile("requires must be a valid semver (e.g. 0.14.0)", hint=_where(command))
    return modelfile.last(Keyword.REQUIRES).removeprefix("v")


def _where(command: Command) -> str:
    return f'line {command.line} reads "{command.keyword.upper()} {command.value}"'


def _distinct(files: list[Path]) -> tuple[Path, ...]:
    return tuple(dict.fromkeys(files))
