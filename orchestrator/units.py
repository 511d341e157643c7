"""How quantities are written: sizes, counts, durations and times, as Ollama writes them."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import lru_cache
from typing import NamedTuple

SECOND_NS = 1_000_000_000
MIB = 1 << 20
GIB = 1 << 30

NEVER = "Never"

_HOURS_PER_YEAR = 24 * 365
_EPOCH = datetime(1970, 1, 1)
_RFC3339 = re.compile(
    r"""(?P<year>[0-9]{4}) - (?P<month>[0-9]{2}) - (?P<day>[0-9]{2})
        T (?P<hour>[0-9]{2}) : (?P<minute>[0-9]{2}) : (?P<second>[0-9]{2}) ([.,] (?P<fraction>[0-9]+))?
        (Z | (?P<sign>[+-]) (?P<zone_hour>[0-9]{2}) : (?P<zone_minute>[0-9]{2}))""",
    re.VERBOSE,
)


def format_bytes(size: int) -> str:
    """A size of files in decimal units: ``999 B``, ``1.0 KB``, ``47 GB``."""
    for scale, unit in ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "KB")):
        if size >= scale:
            value = size / scale
            return f"{value:.1f} {unit}" if value < 10 and size % scale else f"{size // scale} {unit}"
    return f"{size} B"


def format_count(count: int) -> str:
    """A large number in short: ``8.0B``, ``133.70M``, ``1K``. Ties go to the even digit."""
    for scale, unit, decimals in ((10**9, "B", 1), (10**6, "M", 2), (10**3, "K", 0)):
        if count >= scale:
            value = count / scale
            return f"{value:.{0 if value.is_integer() else decimals}f}{unit}"
    return str(count)


def counted(count: int, noun: str) -> str:
    """A number of things: ``1 item``, ``2 items``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def format_duration(ns: int) -> str:
    """A duration in Go's notation: ``1h30m0s``, ``1.5µs``, ``0s``."""
    if ns == 0:
        return "0s"
    sign, ns = ("-" if ns < 0 else ""), abs(ns)
    for scale, unit in ((1, "ns"), (1_000, "µs"), (1_000_000, "ms")):
        if ns < scale * 1_000:
            return f"{sign}{_decimal(ns, scale)}{unit}"
    minutes, below = divmod(ns, 60 * SECOND_NS)
    seconds = f"{_decimal(below, SECOND_NS)}s"
    if minutes == 0:
        return sign + seconds
    hours, minutes = divmod(minutes, 60)
    return f"{sign}{hours}h{minutes}m{seconds}" if hours else f"{sign}{minutes}m{seconds}"


def _decimal(value: int, scale: int) -> str:
    """``value / scale``, exact, without trailing zeros; ``scale`` is a power of ten."""
    whole, below = divmod(value, scale)
    decimals = f"{below:0{len(str(scale)) - 1}d}".rstrip("0") if below else ""
    return f"{whole}.{decimals}" if decimals else str(whole)


def format_when(then: str, now: float, *, zero: str = NEVER) -> str:
    """How far the RFC 3339 time ``then`` is from ``now``, which is in seconds since 1970.

    The zero time, which stands for no time at all, gives ``zero``. Raises ``ValueError``.
    """
    moment = parse_time(then)
    return zero if moment.is_zero else format_distance(moment.unix_ns / SECOND_NS - now)


def format_distance(seconds: float) -> str:
    """Seconds from now in words: ``4 minutes from now``, ``About an hour ago``, ``Forever``."""
    if math.trunc(math.trunc(seconds / 3600) / _HOURS_PER_YEAR) > 20:
        return "Forever"
    return f"{_rough(seconds)} from now" if seconds > 0 else f"{_rough(-seconds)} ago"


def _rough(seconds: float) -> str:
    """A duration in one unit."""
    whole, minutes, hours = int(seconds), int(seconds / 60), int(seconds / 3600 + 0.5)
    if whole < 1:
        return "Less than a second"
    if whole < 60:
        return "1 second" if whole == 1 else f"{whole} seconds"
    if minutes < 60:
        return "About a minute" if minutes == 1 else f"{minutes} minutes"
    if hours < 48:
        return "About an hour" if hours == 1 else f"{hours} hours"
    for limit_days, unit_days, unit in ((14, 1, "days"), (60, 7, "weeks"), (730, 30, "months")):
        if hours < limit_days * 24:
            return f"{hours // 24 // unit_days} {unit}"
    return f"{int(seconds / 3600) // _HOURS_PER_YEAR} years"


class Moment(NamedTuple):
    """A point in time, and the zone it was written in."""

    unix_ns: int
    offset_seconds: int = 0

    @property
    def is_zero(self) -> bool:
        """It is Go's zero time, which stands for no time at all."""
        return self.unix_ns == ZERO_TIME_NS

    def __str__(self) -> str:
        """RFC 3339, with as many decimals as needed."""
        seconds, ns = divmod(self.unix_ns, SECOND_NS)
        text = _date_and_time(seconds + self.offset_seconds)
        if ns:
            text += f".{ns:09d}".rstrip("0")
        if not self.offset_seconds:
            return text + "Z"
        hours, minutes = divmod(abs(self.offset_seconds) // 60, 60)
        return f"{text}{'-' if self.offset_seconds < 0 else '+'}{hours:02d}:{minutes:02d}"


@lru_cache(maxsize=16)
def _date_and_time(seconds: int) -> str:
    """So many seconds after the start of 1970; records of a stream are many in one second."""
    return (_EPOCH + timedelta(seconds=seconds)).isoformat(timespec="seconds")


ZERO_TIME_NS = -62_135_596_800 * SECOND_NS
"""The first instant of the year 1."""


def parse_time(text: str) -> Moment:
    """Read an RFC 3339 time; decimals beyond nanoseconds are cut. Raises ``ValueError``."""
    match = _RFC3339.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is no RFC 3339 time")
    year, month, day, hour, minute, second = (
        int(match[part]) for part in ("year", "month", "day", "hour", "minute", "second")
    )
    written = datetime(year, month, day, hour, minute, second)
    offset = 60 * (60 * int(match["zone_hour"] or 0) + int(match["zone_minute"] or 0))
    if offset >= 86_400 or int(match["zone_minute"] or 0) > 59:
        raise ValueError(f"{text!r} is in no time zone")
    if match["sign"] == "-":
        offset = -offset
    seconds = (written - _EPOCH) // timedelta(seconds=1) - offset
    return Moment(seconds * SECOND_NS + int((match["fraction"] or "")[:9].ljust(9, "0")), offset)


def rfc3339_utc(unix_ns: int) -> str:
    """The time in UTC: ``2026-01-05T10:00:00.1Z``."""
    return str(Moment(unix_ns))


def rfc3339_local(unix_ns: int) -> str:
    """The time in the zone of this machine: ``2026-01-05T11:00:00.1+01:00``."""
    return str(Moment(unix_ns, time.localtime(unix_ns // SECOND_NS).tm_gmtoff))


def metrics_summary(metrics: Mapping[str, int]) -> str:
    """The lines that ``--verbose`` adds to an answer, from the members of its last record."""
    lines = []
    for stage, name in (
        ("total", "total"),
        ("load", "load"),
        ("prompt_eval", "prompt eval"),
        ("eval", "eval"),
    ):
        count, duration_ns = metrics.get(f"{stage}_count", 0), metrics.get(f"{stage}_duration", 0)
        if count > 0:
            lines.append((f"{name} count:", f"{count} token(s)"))
        if duration_ns > 0:
            lines.append((f"{name} duration:", format_duration(duration_ns)))
        if duration_ns > 0 and stage.endswith("eval"):
            lines.append((f"{name} rate:", f"{count / duration_ns * SECOND_NS:.2f} tokens/s"))
    return "".join(f"{label:<22}{value}\n" for label, value in lines)
