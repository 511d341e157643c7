from __future__ import annotations

from collections.abc import Callable

import pytest

from orchestrator.runners.last_words import LastLines


def words(output: str) -> str:
    return kept(output).words


def complaint(output: str) -> str:
    return kept(output).complaint


def kept(output: str) -> LastLines:
    lines = LastLines()
    for line in output.splitlines():
        lines.feed(line)
    return lines


PROGRESS = (
    "sched_reserve: reserve took 5.20 ms, sched copies = 1\ncmn  init: llama threadpool init, n_threads = 9\n"
)
BACKTRACE = """\
[New LWP 24600]
[Thread debugging using libthread_db enabled]
Using host libthread_db library "/lib/x86_64-linux-gnu/libthread_db.so.1".
0x00007eff86cf1c17 in __GI___wait4 (pid=24632) at ../sysdeps/unix/sysv/linux/wait4.c:30
30\t../sysdeps/unix/sysv/linux/wait4.c: No such file or directory.
#1  0x00007eff871d46fb in ggml_print_backtrace () from /lib/orch/libggml-base.so.0
#2  0x00007eff8661d828 in common_batch::failed(int, int) () from /lib/orch/libllama-common.so.0
[Inferior 1 (process 24598) detached]
"""
ADDED = "../source/common/common.cpp:2216: get_sub_batch: failed to add token 0 at index 1 (error -1, n = 2)"
USAGE = """
usage:
-t,    --threads N                      number of CPU threads to use during generation (default: -1)
                                        (env: LLAMA_ARG_THREADS)


to show complete usage, run with -h
"""

SPOKEN = [
    pytest.param(
        "\nlibgomp: Thread creation failed: Resource temporarily unavailable",
        "libgomp: Thread creation failed: Resource temporarily unavailable",
        id="OpenMP",
    ),
    pytest.param(
        "terminate called after throwing an instance of 'std::system_error'\n"
        "  what():  Resource temporarily unavailable\n",
        "terminate called after throwing an instance of 'std::system_error'\n"
        "what():  Resource temporarily unavailable",
        id="C++",
    ),
    pytest.param(
        "llama-server: error while loading shared libraries: libcuda.so.1: cannot open shared object file\n",
        "llama-server: error while loading shared libraries: libcuda.so.1: cannot open shared object file",
        id="linker",
    ),
    pytest.param(ADDED + "\n\n" + BACKTRACE, ADDED, id="backtrace"),
    pytest.param(ADDED + "\n\n" + BACKTRACE * 50, ADDED, id="long backtrace"),
]


@pytest.mark.parametrize("before", ["", PROGRESS, PROGRESS * 100], ids=["alone", "after some", "after many"])
@pytest.mark.parametrize(("end", "told"), SPOKEN)
def test_lines_that_tell_of_trouble_are_quoted_alone(before: str, end: str, told: str) -> None:
    assert words(before + end) == told


@pytest.mark.parametrize(("end", "told"), SPOKEN)
def test_so_they_are_of_an_engine_at_work(end: str, told: str) -> None:
    assert complaint(PROGRESS + end) == told


def test_a_command_line_that_cannot_be_read_is_told_without_its_usage() -> None:
    assert words('error while handling argument "-t": stoi\n' + USAGE) == (
        'error while handling argument "-t": stoi'
    )


def test_without_such_a_line_the_last_ones_tell_how_far_it_came() -> None:
    assert words("first\n" + PROGRESS) == "first\n" + PROGRESS.strip()
    assert words("0.00.123.456 I srv  load: reading\n") == "srv  load: reading"


def test_lines_about_requests_are_no_words() -> None:
    assert complaint(PROGRESS) == ""
    assert complaint("srv: request failed\n" + PROGRESS + PROGRESS) == ""


@pytest.mark.parametrize(
    "output",
    [
        "",
        "\n \n",
        "warning: no usable GPU found, --gpu-layers option will be ignored\n",
        "ggml_vulkan: Device memory allocation of size 1 failed.\n",
        BACKTRACE,
    ],
)
@pytest.mark.parametrize("read", [words, complaint])
def test_some_lines_are_nobodys_words(read: Callable[[str], str], output: str) -> None:
    assert read(output) == ""
