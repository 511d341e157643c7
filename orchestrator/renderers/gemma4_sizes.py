"""Which of the renderers of Gemma 4 the name ``gemma4`` stands for: small models and large ones differ."""

from __future__ import annotations

import re

_SMALL = ("e2b", "e4b")
_LARGE = ("12b", "26b", "31b")
_SIZE = re.compile(r"\s*([0-9.]+)\s*([kmb])\s*", re.IGNORECASE)
_UNITS = {"k": 1e3, "m": 1e6, "b": 1e9}
_LARGE_FROM = 12e9


def variant(short_name: str, full_name: str, model_type: str) -> str:
    """The renderer that ``gemma4`` stands for with this model."""
    for name in (short_name.lower(), full_name.lower()):
        if any(size in name for size in _SMALL):
            return "gemma4-small"
        if any(size in name for size in _LARGE):
            return "gemma4-large"
    size = _SIZE.fullmatch(model_type)
    if size is not None and size[1].count(".") < 2 and size[1] != ".":
        return "gemma4-large" if float(size[1]) * _UNITS[size[2].lower()] >= _LARGE_FROM else "gemma4-small"
    return "gemma4-small"
