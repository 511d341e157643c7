"""The numbers of tensors in another type, bit for bit as llama.cpp's reference code stores them.

numpy and the package with the formats take a while to load, so this module is imported where it is used.
"""

from __future__ import annotations

import numpy as np
from gguf import GGMLQuantizationType
from gguf.quants import dequantize, quantize


class CannotRecode(ValueError):
    """Numbers that the type they should get does not hold, or of a type that cannot be read."""


def recoded(content: bytes, source: str, target: str) -> bytes:
    """Whole blocks of numbers of type ``source`` as type ``target``. Raises ``CannotRecode``."""
    try:
        numbers = dequantize(np.frombuffer(content, np.uint8), GGMLQuantizationType[source])
    except NotImplementedError as error:
        raise CannotRecode(f"{source} cannot be converted") from error
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # what comes of it is looked at below
        stored = quantize(numbers, GGMLQuantizationType[target]).view(np.uint8)
        if not np.isfinite(dequantize(stored, GGMLQuantizationType[target])).all():
            raise CannotRecode(f"a number is not finite, or too large for {target}")
    return stored.tobytes()
