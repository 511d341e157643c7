"""The ``think`` setting of a request: off, on, or on with a level."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from orchestrator.domain.quoting import quoted
from orchestrator.errors import BadRequest

LEVELS = ("high", "medium", "low", "max")

_ACCEPTED = '"high", "medium", "low", "max", true, or false'
_SWITCHES = {"true": True, "false": False}


class InvalidThink(BadRequest):
    """A ``think`` that is neither a switch nor a level."""


@dataclass(frozen=True, slots=True)
class Think:
    """Whether the model shall reason before it answers; true in a condition when it shall."""

    on: bool
    word: str | None = None
    """The level, if the client gave one."""

    @classmethod
    def parse(cls, value: Any) -> Think:
        """Read the JSON value: a Boolean, its text (case B052), or a level. Raises ``InvalidThink``."""
        if isinstance(value, bool):
            return cls(value)
        if not isinstance(value, str):
            raise InvalidThink(f"think must be a boolean or string ({_ACCEPTED})")
        if value in _SWITCHES:
            return cls(_SWITCHES[value])
        if value in LEVELS:
            return cls(True, value)
        raise InvalidThink(f"invalid think value: {quoted(value)} (must be {_ACCEPTED})")

    @property
    def level(self) -> str:
        """The level as templates see it: ``medium`` when only switched on, empty when off."""
        return self.word or ("medium" if self.on else "")

    @property
    def json(self) -> bool | str:
        """The value as it stands in a request."""
        return self.on if self.word is None else self.word

    def __bool__(self) -> bool:
        return self.on
