"""The values of ``config.json``, typed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orchestrator.create.convert.errors import ConversionFailed

MAX_UINT = (1 << 32) - 1
MAX_FLOAT32 = (2 - 2**-23) * 2.0**127


class Config:
    """Looks values up under several names: the first that is there and not zero counts."""

    def __init__(self, values: Mapping[str, Any], architecture: str) -> None:
        self.values = values
        self.architecture = architecture
        """As ``architectures`` names it: ``BertModel``."""

    def uint(self, *keys: str) -> int:
        """A count; 0 if there is none. A whole number may be written with a fraction of zero."""
        for key, value in self._given(keys):
            whole = int(value) if isinstance(value, float) and value.is_integer() else value
            if not isinstance(whole, int) or not 0 < whole <= MAX_UINT:
                raise self._wrong(key, value, "a whole number")
            return whole
        return 0

    def float(self, *keys: str) -> float:
        """A number of single precision; 0 if there is none."""
        for key, value in self._given(keys):
            if not isinstance(value, int | float) or not abs(value) <= MAX_FLOAT32:
                raise self._wrong(key, value, "a number")
            return float(value)
        return 0.0

    def text(self, key: str) -> str:
        """A text; empty if there is none."""
        value = self.values.get(key)
        if value is None or isinstance(value, str):
            return value or ""
        raise self._wrong(key, value, "a text")

    def flag(self, key: str, default: bool = False) -> bool:
        """Whether something is so; ``default`` if the configuration does not say."""
        value = self.values.get(key)
        if value is None or isinstance(value, bool):
            return default if value is None else value
        raise self._wrong(key, value, "true or false")

    def items(self, key: str) -> list[Any]:
        """A list; empty if there is none."""
        value = self.values.get(key)
        if value is None or isinstance(value, list):
            return value or []
        raise self._wrong(key, value, "a list")

    def uints(self, key: str) -> list[int]:
        """A list of counts; empty if there is none."""
        values = self.items(key)
        if any(not isinstance(value, int) or not 0 <= value <= MAX_UINT for value in values):
            raise self._wrong(key, values, "a list of whole numbers")
        return [int(value) for value in values]

    def section(self, *keys: str) -> Config:
        """The first part of the configuration that is there under one of the names; else an empty one."""
        for key in keys:
            value = self.values.get(key)
            if isinstance(value, dict):
                return Config(value, self.architecture)
            if value is not None:
                raise self._wrong(key, value, "an object")
        return Config({}, self.architecture)

    def refused(self, reason: str) -> ConversionFailed:
        """The error of a configuration that cannot be converted."""
        return ConversionFailed(f'parse config.json for "{self.architecture}": {reason}')

    def _given(self, keys: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
        """The values that count, truth values as texts so that they are not taken for numbers."""
        for key in keys:
            value = self.values.get(key)
            if isinstance(value, bool):
                yield key, str(value)
            elif value not in (None, 0):
                yield key, value

    def _wrong(self, key: str, value: Any, wanted: str) -> ConversionFailed:
        return self.refused(f"{key} must be {wanted}, not {value!r:.80}")
