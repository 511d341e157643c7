"""What is logged of requests that are no HTTP.

Whoever scans ports sends them, and the library answers them: that is no fault of ours, and no trace of it is
of use to anybody.
"""

from __future__ import annotations

import logging

from aiohttp.http_exceptions import HttpProcessingError


class OneLine(logging.Filter):
    """Makes one line at INFO of the library's error with its trace."""

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        if isinstance(error, HttpProcessingError):
            client = record.args[0] if isinstance(record.args, tuple) and record.args else None
            record.levelno, record.levelname = logging.INFO, logging.getLevelName(logging.INFO)
            record.msg, record.args, record.exc_info = "request is no HTTP: %s", (_brief(error),), None
            record.client = client
        return True


def _brief(error: HttpProcessingError) -> str:
    """The first line of the reason."""
    first = next(filter(None, map(str.strip, error.message.splitlines())), type(error).__name__)
    return first.rstrip(":")[:200]


library_logger = logging.getLogger(__name__)
"""For the library that reads requests."""
library_logger.addFilter(OneLine())
