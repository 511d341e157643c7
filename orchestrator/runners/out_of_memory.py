"""How an engine says that memory ran out.

Source: ``scheduler`` §13.2.
"""

from __future__ import annotations

import re

_PHRASES = (
    "out of memory",
    "out of device memory",
    "cudaMalloc failed",
    "hipMalloc failed",
    "failed to allocate",
    "allocation failed",
    "not enough memory",
    "insufficient memory",
    "vk_error_out_of_device_memory",
    "erroroutofmemory",
    "erroroutofdevicememory",  # Vulkan's own spelling
)
_PATTERN = re.compile("|".join(map(re.escape, _PHRASES)), re.IGNORECASE)
_VULKAN_SIZE = re.compile(r"device memory allocation of size \d+ failed", re.IGNORECASE)
_RECOVERED = "retrying without pipeline parallelism"


def says_out_of_memory(text: str) -> bool:
    """Whether ``text``, an error or a line of a log, tells of exhausted memory."""
    return bool(_PATTERN.search(text) or _VULKAN_SIZE.search(text))


def is_fatal(text: str) -> bool:
    """Whether it tells so and the engine does not try again by itself."""
    return says_out_of_memory(text) and _RECOVERED not in text
