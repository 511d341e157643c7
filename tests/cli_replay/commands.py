"""A recorded command without a terminal, run again."""

from __future__ import annotations

import difflib
import signal
import subprocess
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass

from tests.cli_replay.masks import any_reason, mask, words_only
from tests.cli_replay.world import Case, World

_DEADLINE_S = 120
_THEN_AFTER_S = 2.0

_EXPLAINED: Mapping[str, Case] = {
    "run-wrap-long-to-pipe": {
        "path": "/api/generate",
        "body": {"model": "long", "prompt": "Tell me about rivers."},
        "response": "Rivers are indeed one of the most fascinating and diverse natural systems on our "
        "planet. They're a complex network of interconnected pathways that crisscross the globe, "
        "with their own unique ecosystems and habitats.",
    }
}
"""Where the words of the model come from in cases that do not say so."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a command printed and how it ended; names of this machine are masked."""

    exit: int
    stdout: str
    stderr: str
    then: str = ""


def differences(world: World, case: Case) -> list[str]:
    """What our program does otherwise than the recorded one; empty when nothing is."""
    got = _run(world, case)
    lines = [] if got.exit == case["exit"] else [f"exit: recorded {case['exit']}, now {got.exit}"]
    if case.get("optional"):
        return lines
    recorded_words, words = _generated(world, case)
    streams = case["stdout"], got.stdout
    if case.get("loose"):
        streams = words_only(case["stdout"]), words_only(got.stdout)
        words = {name: words_only(said) for name, said in words.items()}
    stdout = mask(streams[0], words=recorded_words), mask(streams[1], words=words)
    stderr = mask(case["stderr"], progress=True), mask(got.stderr, progress=True)
    if case.get("wording"):
        stderr = any_reason(stderr[0]), any_reason(stderr[1])
    then = mask(case.get("then_stdout", "")), mask(got.then)
    for name, (recorded, now) in {"stdout": stdout, "stderr": stderr, "then": then}.items():
        lines += _compared(name, recorded, now)
    return lines


def _run(world: World, case: Case) -> Outcome:
    folder = world.prepare(case)
    process = subprocess.Popen(
        world.command(case["argv"]),
        cwd=folder,
        env=world.variables(case),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,  # no terminal to fall back to
    )
    timer = _signal_later(process, case)
    try:
        streams = process.communicate(
            world.fill(case.get("stdin") or "").encode(), timeout=case.get("timeout", _DEADLINE_S)
        )
    finally:
        if timer:
            timer.cancel()
        process.kill()
        process.wait()
    ignored = case.get("ignore") or ()
    texts = [world.unfill(stream.decode(errors="replace")) for stream in streams]
    stdout, stderr = (
        "" if name in ignored else text for name, text in zip(("stdout", "stderr"), texts, strict=True)
    )
    return Outcome(process.returncode, stdout, stderr, _then(world, case))


def _signal_later(process: subprocess.Popen[bytes], case: Case) -> threading.Timer | None:
    if not case.get("signal"):
        return None
    name, seconds = case["signal"]
    timer = threading.Timer(seconds, process.send_signal, [getattr(signal, name)])
    timer.start()
    return timer


def _then(world: World, case: Case) -> str:
    """What a second command says, two seconds after the first as recorded."""
    if not case.get("then"):
        return ""
    time.sleep(_THEN_AFTER_S)
    done = subprocess.run(
        world.command(case["then"]),
        env=world.variables(case),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=_DEADLINE_S,
    )
    return world.unfill(done.stdout.decode(errors="replace"))


def _generated(world: World, case: Case) -> tuple[dict[str, str], dict[str, str]]:
    """The words that the model says in the case, as recorded and on this machine."""
    if not (asked := case.get("generated") or _EXPLAINED.get(case["id"])):
        return {}, {}
    reply = world.call("library", "POST", asked["path"], asked["body"] | {"stream": False})
    return _said(asked), _said(reply)


def _said(reply: Case) -> dict[str, str]:
    return {name: reply.get(name) or "" for name in ("thinking", "response")}


def _compared(name: str, recorded: str, now: str) -> list[str]:
    if recorded == now:
        return []
    lines = difflib.unified_diff(
        recorded.splitlines(), now.splitlines(), f"{name} recorded", f"{name} now", lineterm="", n=1
    )
    return list(lines) or [f"{name}: only the last line end differs"]
