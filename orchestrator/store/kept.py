"""A bounded memory of values, used by several threads."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Kept(Generic[K, V]):
    """The values of the keys that were asked for last."""

    def __init__(self, entries: int = 256) -> None:
        self._entries = entries
        self._values: OrderedDict[K, V] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: K) -> V | None:
        """The value of ``key``, if it is known."""
        with self._lock:
            if key not in self._values:
                return None
            self._values.move_to_end(key)
            return self._values[key]

    def put(self, key: K, value: V) -> None:
        """Keep a value, and forget the one that was not asked for the longest if there are too many."""
        with self._lock:
            self._values[key] = value
            self._values.move_to_end(key)
            if len(self._values) > self._entries:
                self._values.popitem(last=False)

    def found(self, key: K, find: Callable[[], V]) -> V:
        """The value of ``key``, from ``find`` if it is not known; two threads may call that at once."""
        value = self.get(key)
        if value is None:
            value = find()
            self.put(key, value)
        return value
