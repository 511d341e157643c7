"""``python -m orchestrator.runners.embedded``: llama.cpp's own server from a wheel, as a program.

Takes llama-server's command line, writes llama-server's log to stderr and serves its HTTP, so that the
daemon drives both by the same code. It ends on SIGTERM or SIGINT, and when its standard input, if that
is a pipe, is closed: the daemon holds the other end, so the engine never outlives it. While a model
loads the wheel lets no Python run; signals then have their default effect, which ends the process just
as well.
"""

from __future__ import annotations

import os
import select
import signal
import stat
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType


def main(argv: Sequence[str]) -> int:
    """Run the engine until it is told to stop; the exit status is llama-server's."""
    if "--version" in argv:
        print(_version(), file=sys.stderr)  # noqa: T201 - where llama-server prints it
        return 0
    if "--help" in argv:
        print(_help())  # noqa: T201 - the answer to the flag
        return 0
    if "--list-devices" in argv:
        print(_device_list())  # noqa: T201 - the answer to the flag
        return 0
    return _serve(argv)


def _serve(argv: Sequence[str]) -> int:
    # imported here: the table needs the wheel, whose import costs what `--version` should not wait for twice
    import xllamacpp

    from orchestrator.runners.embedded.flags import InvalidArgument, parse_flags

    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Python's own way needs Python to run
    try:
        params = parse_flags(argv)
    except InvalidArgument as error:
        print(error, file=sys.stderr)  # noqa: T201 - llama-server's own line
        return 1
    try:
        server = xllamacpp.Server(params)  # returns when it serves, and serves as long as it is there
    except RuntimeError:
        return 1  # the engine has written why
    _wait_for_the_end(server)
    for host in params.hostnames:
        if host.endswith(".sock"):
            Path(host).unlink(missing_ok=True)
    sys.stderr.flush()
    # at once: there is nothing to save, and winding up the server takes long and may never end
    os._exit(0)


def _wait_for_the_end(_serving: object) -> None:
    """Return when a stop signal arrives or the tether is cut; ``_serving`` lives until then."""
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _noted)
    sys.stderr.write("embedded: stops on SIGTERM, SIGINT or the end of its input\n")
    watched = [woken, sys.stdin.fileno()] if _is_tethered() else [woken]
    while True:
        ready, _, _ = select.select(watched, [], [])
        if woken in ready or not os.read(watched[-1], 4096):
            return


def _noted(_number: int, _frame: FrameType | None) -> None:
    """The wake-up descriptor has told the waiter; there is nothing else to do."""


def _is_tethered() -> bool:
    try:
        return stat.S_ISFIFO(os.fstat(sys.stdin.fileno()).st_mode)
    except (AttributeError, OSError, ValueError):
        return False  # no standard input at all


def _version() -> str:
    import xllamacpp

    build = xllamacpp.BUILD_INFO
    return (
        f"version: xllamacpp {xllamacpp.__version__} "
        f"(build {build['build_number']}, commit {build['commit']})\n"
        f"built with {build['compiler']} for {build['build_target']}"
    )


def _help() -> str:
    from orchestrator.runners.embedded.flags import FLAGS

    lines = (f"{', '.join(flag.names)}{' VALUE' if flag.takes_value else ''}" for flag in FLAGS)
    return "\n".join(["The flags of llama-server that this engine takes:", *lines])


def _device_list() -> str:
    import xllamacpp

    host = xllamacpp.ggml_backend_dev_type.GGML_BACKEND_DEVICE_TYPE_CPU
    lines = [
        f"  {device['name']}: {device['description']} "
        f"({device['memory_total'] >> 20} MiB, {device['memory_free'] >> 20} MiB free)"
        for device in xllamacpp.get_device_info()
        if device["type"] != host
    ]
    return "\n".join(["Available devices:", *(lines or ["  (none)"])])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
