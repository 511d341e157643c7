"""Environment variables: kinds of values, how their texts are read, and what declares a variable."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar, get_args

from orchestrator.domain.addresses import InvalidPort, ServerAddress
from orchestrator.domain.durations import InvalidDuration, KeepAlive

T = TypeVar("T")
Environ = Mapping[str, str]

ContextOverflow = Literal["truncate", "error"]
LogFormat = Literal["text", "json"]
EngineChoice = Literal["auto", "native", "embedded"]

_SHORTEST_TURN, _LONGEST_TURN = timedelta(milliseconds=1), timedelta(seconds=1)
CACHE_TYPES = ("f32", "f16", "bf16", "q8_0", "q4_0", "q4_1", "iq4_nl", "q5_0", "q5_1")


class Unusable(ValueError):
    """A text that is no value of its kind. It may say what takes its place, if not the default does."""

    def __init__(self, *replacement: Any) -> None:
        super().__init__()
        self._replacement = replacement

    def replacement(self, default: Any) -> Any:
        """The value to go on with."""
        return self._replacement[0] if self._replacement else default


@dataclass(frozen=True, slots=True)
class Kind(Generic[T]):
    """A type of values and how they are written."""

    name: str
    accepts: str
    """Said when a value is unusable."""
    read: Callable[[str], T]
    """Reads a text that is not empty. Raises ``Unusable``."""


def _bool(text: str) -> bool:
    match text:
        case "1" | "t" | "T" | "true" | "TRUE" | "True":
            return True
        case "0" | "f" | "F" | "false" | "FALSE" | "False":
            return False
        case _:
            raise Unusable(True)


def _uint(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,20}", text) or int(text) >= 1 << 64:
        raise Unusable
    return int(text)


def _size(text: str) -> int:
    match = re.fullmatch(r"([0-9]{1,15}) ?(?:([KMGT])i?B?)?", text, re.IGNORECASE)
    if match is None:
        raise Unusable
    return int(match[1]) << 10 * ("KMGT".index(match[2].upper()) + 1 if match[2] else 0)


def _keep_alive(text: str) -> KeepAlive:
    try:
        return KeepAlive.parse(text)
    except InvalidDuration as error:
        raise Unusable from error


def _timeout(text: str) -> timedelta | None:
    limit = _keep_alive(text)
    return None if limit.is_zero or limit.is_forever else timedelta(microseconds=limit.ns / 1000)


def _turn(text: str) -> timedelta | None:
    limit = _keep_alive(text)
    if limit.is_zero:
        return None
    turn = timedelta(microseconds=limit.ns / 1000)
    if limit.is_forever or not _SHORTEST_TURN <= turn <= _LONGEST_TURN:
        raise Unusable
    return turn


def _debug(text: str) -> int:
    if text in ("1", "t", "T", "true", "TRUE", "True"):
        return -4
    if text in ("f", "F", "false", "FALSE", "False"):
        return 0
    if not re.fullmatch(r"[+-]?[0-9]{1,18}", text):
        raise Unusable
    return -4 * int(text)


def _address(text: str) -> ServerAddress:
    try:
        return ServerAddress.parse(text)
    except InvalidPort as error:
        raise Unusable(error.fallback) from error


def _words(text: str) -> tuple[str, ...]:
    return tuple(word for entry in text.split(",") if (word := entry.strip()))


def _one_of(*words: str) -> Callable[[str], Any]:
    def read(text: str) -> str:
        if text.lower() not in words:
            raise Unusable
        return text.lower()

    return read


BOOL = Kind("boolean", "true or false", _bool)
SWITCH: Kind[bool | None] = Kind("boolean, or unset", "true, false or nothing", _bool)
UINT = Kind("whole number", "a whole number, 0 or more", _uint)
SIZE = Kind("size", "bytes, or a number with a unit such as 512MiB or 2GiB", _size)
KEEP_ALIVE = Kind("duration", "a duration such as 30s, 5m or 1h30m, or whole seconds", _keep_alive)
TIMEOUT = Kind("duration", "a duration such as 30s, 5m or 1h30m, or whole seconds", _timeout)
TURN: Kind[timedelta | None] = Kind("duration", "0, or a duration from 1ms to 1s", _turn)
LEVEL = Kind("boolean or level", "true, false, or a whole number", _debug)
ADDRESS = Kind("address", "[scheme://]host[:port], the port from 0 to 65535", _address)
TEXT = Kind("text", "any text", str)
TOKEN = Kind("text", "a token", str)
LIST = Kind("comma-separated list", "words with commas between", _words)
KEYS = Kind("comma-separated list", "keys with commas between", _words)
PATH = Kind("path", "a path", Path)
OPTIONAL_PATH: Kind[Path | None] = Kind("path", "a path", Path)
CACHE_TYPE: Kind[str] = Kind("word", ", ".join(CACHE_TYPES), _one_of(*CACHE_TYPES))
OVERFLOW: Kind[ContextOverflow] = Kind("word", "truncate or error", _one_of(*get_args(ContextOverflow)))
ENGINE: Kind[EngineChoice] = Kind("word", "auto, native or embedded", _one_of(*get_args(EngineChoice)))
LOG_FORMAT: Kind[LogFormat] = Kind("word", "text or json", _one_of(*get_args(LogFormat)))


@dataclass(frozen=True, slots=True)
class Variable:
    """One environment variable."""

    name: str
    summary: str
    kind: Kind[Any] | None = None
    """``None``: not read here; programs and libraries below us read it."""
    default: Any = None
    """A value, or a function of the environment."""
    shown: str = ""
    """The default in words; empty where it needs none."""
    aliases: tuple[str, ...] = ()
    secret: bool = False
    """The value may hold a password."""
    command: str = "serve"
    """The command whose help names it; empty if none does."""

    def text(self, environ: Environ) -> str:
        """What the environment says, cut as Ollama cuts it; empty if nothing."""
        texts = (environ.get(name, "").strip().strip("\"'") for name in (self.name, *self.aliases))
        return next(filter(None, texts), "")

    def default_in(self, environ: Environ) -> Any:
        """The value when nothing is said."""
        return self.default(environ) if callable(self.default) else self.default

    @property
    def row(self) -> tuple[str, str]:
        """Name and summary, for a help text."""
        return self.name, f"{self.summary} (default {self.shown})" if self.shown else self.summary
