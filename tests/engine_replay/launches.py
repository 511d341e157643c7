"""Whether an engine was started as recorded: command line and environment."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.engine_replay.masks import value_differences

Launch = Mapping[str, Any]

_LONG_NAMES = {
    "-m": "--model",
    "-c": "--ctx-size",
    "-np": "--parallel",
    "-mm": "--mmproj",
    "-ctk": "--cache-type-k",
    "-ctv": "--cache-type-v",
    "-fa": "--flash-attn",
    "-b": "--batch-size",
    "-ub": "--ubatch-size",
    "-ngl": "--gpu-layers",
    "--n-gpu-layers": "--gpu-layers",
    "-t": "--threads",
    "-tb": "--threads-batch",
    "-sm": "--split-mode",
    "-mg": "--main-gpu",
    "--embeddings": "--embedding",
    "--no-ui": "--no-webui",
}
_FREE = {
    "--host",
    "--port",
    "--no-webui",
    "--offline",
    "--log-verbosity",
    "--no-log-prefix",
    "--no-log-timestamps",
}
_MAY_BE_ADDED = re.compile(
    r"--(metrics|cache-ram|api-key|api-key-file|no-prefill-assistant|fit.*|slots|sse-ping-interval"
    r"|threads|threads-batch"  # running models share the cores
    r"|no-warmup)"  # a run on an empty prompt makes the first answer later, not better
)
_VARIABLES = re.compile(r"LLAMA|GGML|CUDA|ROCR|HIP|HSA|GPU_|VK_|OMP|LD_LIBRARY_PATH")
_FIT_TARGET = "LLAMA_ARG_FIT_TARGET"

Flags = list[tuple[str, tuple[str, ...]]]


def launch_differences(want: Launch, got: Launch, *, given: Mapping[str, str]) -> Iterator[str]:
    """What is wrong with a start; ``given`` is what the case adds to the daemon's environment."""
    without = set(want.get("argv_without", ()))
    wanted, actual = (
        [flag for flag in _flags(launch["argv"]) if flag[0] not in _FREE] for launch in (want, got)
    )
    wanted = [flag for flag in wanted if flag[0] not in without]
    for flag in actual:
        if flag not in wanted and (flag[0] in without or not _is_addition(flag, wanted)):
            yield f"argv: {_shown(flag)} not expected"
    for flag in wanted:
        if flag not in actual:
            yield f"argv: {_shown(flag)} expected"
    for name, values in actual:
        if name == "--keep" and name not in dict(wanted) and int(values[0]) > 0:
            yield "argv: a positive --keep not expected"
    if _values(wanted, "--lora") != _values(actual, "--lora"):
        yield f"argv: adapters in order {_values(wanted, '--lora')} expected"
    yield from _environment_differences(want, got, given)


def _environment_differences(want: Launch, got: Launch, given: Mapping[str, str]) -> Iterator[str]:
    absent = set(want.get("env_without", ()))
    ours = {name: value for name, value in want["env"].items() if name not in absent}
    theirs = {name: value for name, value in got["env"].items() if _VARIABLES.match(name)}
    if _FIT_TARGET not in given:
        ours.pop(_FIT_TARGET, None)
        theirs.pop(_FIT_TARGET, None)
    if "LD_LIBRARY_PATH" in theirs:
        theirs["LD_LIBRARY_PATH"] = theirs["LD_LIBRARY_PATH"].split(":")
    yield from value_differences(ours, theirs, "env")


def marker(launch: Launch) -> str:
    """The marker of media, new for each process."""
    return str(launch["env"].get("LLAMA_MEDIA_MARKER"))


def _flags(argv: Sequence[str]) -> Flags:
    flags: Flags = []
    for argument in argv:
        if re.match(r"--?[a-z]", argument):
            flags.append((_LONG_NAMES.get(argument, argument), ()))
        else:
            name, values = flags.pop()
            flags.append((name, (*values, argument)))
    return flags


def _is_addition(flag: tuple[str, tuple[str, ...]], wanted: Flags) -> bool:
    """Whether ours may have it where the recording has none."""
    return flag[0] not in dict(wanted) and _MAY_BE_ADDED.fullmatch(flag[0]) is not None


def _values(flags: Flags, name: str) -> list[tuple[str, ...]]:
    return [values for flag, values in flags if flag == name]


def _shown(flag: tuple[str, tuple[str, ...]]) -> str:
    return " ".join([flag[0], *flag[1]])
