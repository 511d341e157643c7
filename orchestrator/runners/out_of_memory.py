"""How an engine says that memory ran out.

Every line of an engine's log is asked about, so the common answer, "no", comes fast.

Source: ``scheduler`` §13.2.
"""

from __future__ import annotations

import re

_PHRASES = (
    "out of memory",
    "out of device memory",
    "cudamalloc failed",
    "hipmalloc failed",
    "failed to allocate",
    "allocation failed",
    "not enough memory",
    "insufficient memory",
    "vk_error_out_of_device_memory",
    "erroroutofmemory",
)
"""In lower case. Each holds one of ``_HINTS``."""
_HINTS = ("memory", "failed")
_VULKAN = re.compile(r"erroroutofdevicememory|device memory allocation of size \d+ failed")
_RECOVERED = "retrying without pipeline parallelism"


def says_out_of_memory(text: str) -> bool:
    """Whether ``text``, an error or a line of a log, tells of exhausted memory."""
    lower = text.lower()
    return _may_say(lower) and (_is_known(lower) or _VULKAN.search(lower) is not None)


def is_quoted(text: str) -> bool:
    """Whether it does so in words that clients are shown; Vulkan's own spelling is for us alone."""
    lower = text.lower()
    return _may_say(lower) and _is_known(lower)


def is_fatal(text: str) -> bool:
    """Whether it does so and the engine does not try again by itself."""
    return says_out_of_memory(text) and _RECOVERED not in text


def _may_say(lower: str) -> bool:
    return _HINTS[0] in lower or _HINTS[1] in lower


def _is_known(lower: str) -> bool:
    return any(phrase in lower for phrase in _PHRASES)
