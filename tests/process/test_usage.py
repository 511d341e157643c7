"""The processor time of other processes."""

from __future__ import annotations

import os
import subprocess
import sys
import time

from orchestrator.process.usage import cpu_s


def test_it_is_what_the_process_itself_counts() -> None:
    before = time.process_time()
    told = cpu_s(os.getpid())
    assert before <= told <= time.process_time()


def test_it_grows_while_another_process_computes() -> None:
    with subprocess.Popen([sys.executable, "-I", "-S", "-c", "while True: pass"]) as busy:
        try:
            start = cpu_s(busy.pid)
            while cpu_s(busy.pid) <= start:
                pass
        finally:
            busy.kill()


def test_who_is_gone_has_used_nothing() -> None:
    with subprocess.Popen([sys.executable, "-I", "-S", "-c", ""]) as gone:
        gone.wait()
        assert cpu_s(gone.pid) == 0.0
