"""Hearing of the end of a process on the event loop."""

from __future__ import annotations

import asyncio
import os
import subprocess
import threading
from collections.abc import Callable

Watch = Callable[["subprocess.Popen[bytes]", Callable[[], None]], Callable[[], None]]
"""Calls the function once on the running loop when the process has ended; gives what ends the watch."""


def watch_exit(process: subprocess.Popen[bytes], ended: Callable[[], None]) -> Callable[[], None]:
    """Watch by the means this system has."""
    try:
        return watch_by_descriptor(process, ended)
    except (AttributeError, OSError):  # not Linux; a kernel before 5.3; a sandbox without the call
        return watch_by_thread(process, ended)


def watch_by_descriptor(process: subprocess.Popen[bytes], ended: Callable[[], None]) -> Callable[[], None]:
    """Watch a pidfd, which becomes readable when the process ends."""
    loop = asyncio.get_running_loop()
    descriptor = os.pidfd_open(process.pid)
    watched = True

    def unwatch() -> None:
        nonlocal watched
        if watched:
            watched = False
            loop.remove_reader(descriptor)
            os.close(descriptor)

    def readable() -> None:
        unwatch()
        process.wait()
        ended()

    loop.add_reader(descriptor, readable)
    return unwatch


def watch_by_thread(process: subprocess.Popen[bytes], ended: Callable[[], None]) -> Callable[[], None]:
    """Wait in a thread of its own; it ends with the process, whether anybody still watches or not."""
    loop = asyncio.get_running_loop()
    watched = True

    def unwatch() -> None:
        nonlocal watched
        watched = False

    def report() -> None:
        if watched:
            ended()

    def wait() -> None:
        process.wait()
        if not loop.is_closed():
            loop.call_soon_threadsafe(report)

    threading.Thread(target=wait, name=f"exit of {process.pid}", daemon=True).start()
    return unwatch
