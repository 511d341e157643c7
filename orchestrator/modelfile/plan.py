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

    Raises what is wrong with the first command that is: ``InvalidModelfile``, the errors of parameters, and
    ``OSError`` if an adapter or draft is not there.
    """
    plan = _Plan(modelfile, directory)
    for command in modelfile.commands:
        plan.take(command)
    return plan.creation()


class _Plan:
    """What the commands taken so far ask for."""

    def __init__(self, modelfile: Modelfile, directory: Path) -> None:
        self._modelfile = modelfile
        self._directory = directory
        self._base = ""
        self._files: list[Path] = []
        self._adapters: tuple[Path, ...] = ()
        self._draft_files: list[Path] = []
        self._licenses: list[str] = []
        self._parameters: dict[str, Any] = {}
        self._messages: list[Message] = []
        self._texts: dict[Keyword, str] = {}
        self._warnings: list[str] = []

    def take(self, command: Command) -> None:
        """Add what one command asks for, or let it take the place of an earlier one."""
        match command.keyword:
            case Keyword.FROM:
                self._start_from(command)
            case Keyword.ADAPTER:
                self._adapters = files_of(self._path(command), adapter=True)
            case Keyword.DRAFT:
                self._take_draft(command)
            case Keyword.PARAMETER:
                self._take_parameter(command)
            case Keyword.LICENSE:
                self._licenses.append(command.value)
            case Keyword.MESSAGE:
                self._messages.append(Message(command.name, command.value))
            case Keyword.REQUIRES:
                self._texts[command.keyword] = _version(command)
            case _:
                self._texts[command.keyword] = command.value

    def creation(self) -> Creation:
        text = self._texts.get
        return Creation(
            base=self._base,
            files=_distinct(self._files),
            adapters=self._adapters,
            draft_files=_distinct(self._draft_files),
            template=text(Keyword.TEMPLATE, ""),
            system=text(Keyword.SYSTEM, ""),
            licenses=tuple(self._licenses),
            parameters=self._parameters,
            messages=tuple(self._messages),
            renderer=text(Keyword.RENDERER, ""),
            parser=text(Keyword.PARSER, ""),
            requires=text(Keyword.REQUIRES, ""),
            warnings=tuple(self._warnings),
        )

    def _path(self, command: Command) -> Path:
        return resolved(command.value, self._directory)

    def _start_from(self, command: Command) -> None:
        """What exists on disk is a file or a folder, the rest is the name of a model."""
        path = self._path(command)
        if _exists(path):
            self._files += files_of(path)
        else:
            self._base = command.value

    def _take_draft(self, command: Command) -> None:
        path = self._path(command)
        files = files_of(path)
        if os.path.realpath(path) in self._started_from():
            raise InvalidModelfile(f"DRAFT must not reference the same local path as FROM: {path}")
        self._draft_files += files

    def _started_from(self) -> set[str]:
        """Where the paths of all FROM lead."""
        return {os.path.realpath(self._path(command)) for command in self._modelfile.all(Keyword.FROM)}

    def _take_parameter(self, command: Command) -> None:
        """The last value counts; lists grow."""
        name = command.name
        if name in DEPRECATED_PARAMETERS:
            self._warnings.append(f"warning: parameter {name} is deprecated")
            return
        value = format_parameters({name: [command.value]})[name]
        earlier = self._parameters.get(name)
        self._parameters[name] = earlier + value if isinstance(earlier, list) else value


def _version(command: Command) -> str:
    if not _VERSION.fullmatch(command.value):
        raise InvalidModelfile("requires must be a valid semver (e.g. 0.14.0)", hint=_where(command))
    return command.value.removeprefix("v")


def _exists(path: Path) -> bool:
    return os.path.exists(path)  # noqa: PTH110  # a name too long for a path does not exist


def _where(command: Command) -> str:
    return f'line {command.line} reads "{command.keyword.upper()} {command.value}"'


def _distinct(files: list[Path]) -> tuple[Path, ...]:
    return tuple(dict.fromkeys(files))
