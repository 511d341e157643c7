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
)
_KNOWN = re.compile("|".join(map(re.escape, _PHRASES)), re.IGNORECASE)
_VULKAN = re.compile(r"erroroutofdevicememory|device memory allocation of size \d+ failed", re.IGNORECASE)
_RECOVERED = "retrying without pipeline parallelism"


def says_out_of_memory(text: str) -> bool:
    """Whether ``text``, an error or a line of a log, tells of exhausted memory."""
    return is_quoted(text) or _VULKAN.search(text) is not None


def is_quoted(text: str) -> bool:
    """Whether it does so in words that clients are shown; Vulkan's own spelling is for us alone."""
    return _KNOWN.search(text) is not None


def is_fatal(text: str) -> bool:
    """Whether it does so and the engine does not try again by itself."""
    return says_out_of_memory(text) and _RECOVERED not in text
