"""What a Modelfile says: a list of commands, in order."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


class Keyword(StrEnum):
    """The instructions of a Modelfile, in the order error messages list them."""

    FROM = "from"
    LICENSE = "license"
    TEMPLATE = "template"
    SYSTEM = "system"
    ADAPTER = "adapter"
    DRAFT = "draft"
    RENDERER = "renderer"
    PARSER = "parser"
    PARAMETER = "parameter"
    MESSAGE = "message"
    REQUIRES = "requires"


@dataclass(frozen=True, slots=True)
class Command:
    """One instruction."""

    keyword: Keyword
    value: str
    name: str = ""
    """Name of the parameter, or role of the message; other instructions have none."""
    line: int = field(default=0, compare=False)
    """Where it starts, counted from 1; 0 if it was never in a file."""


@dataclass(frozen=True, slots=True)
class Modelfile:
    """The commands of one file. A parsed one has at least one ``FROM``."""

    commands: tuple[Command, ...]

    def all(self, keyword: Keyword) -> tuple[Command, ...]:
        return tuple(command for command in self.commands if command.keyword is keyword)

    def last(self, keyword: Keyword) -> str:
        """The value that counts of an instruction given more than once; empty if there is none."""
        return next((command.value for command in reversed(self.commands) if command.keyword is keyword), "")
