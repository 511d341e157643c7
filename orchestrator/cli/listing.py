"""``orch list`` and ``orch ps``: the models in the store, and those in memory."""

from __future__ import annotations

import time

from orchestrator.cli.connection import server
from orchestrator.cli.tables import table
from orchestrator.client.native import NativeClient
from orchestrator.client.wire import ModelSummary, RunningModel
from orchestrator.units import NEVER, SECOND_NS, format_bytes, format_when, parse_time

MODELS_HEADER = ("NAME", "ID", "SIZE", "MODIFIED")
RUNNING_HEADER = ("NAME", "ID", "SIZE", "PROCESSOR", "CONTEXT", "UNTIL")


def list_models(*prefixes: str) -> None:
    """Print the models in the store whose names begin like the first word, in any case."""
    with server() as native:
        print_models(native, *prefixes[:1])


def print_models(native: NativeClient, prefix: str = "") -> None:
    """Print the models in the store whose names begin with prefix, in any case."""
    now = time.time()
    models = [model for model in native.models() if _name(model).lower().startswith(prefix.lower())]
    print(table(MODELS_HEADER, [_model_row(model, now) for model in models]), end="")


def list_running(*prefixes: str) -> None:
    """Print the models in memory whose names begin with the first word."""
    prefix = prefixes[0] if prefixes else ""
    with server() as native:
        running = native.running()
    now = time.time()
    rows = [_running_row(model, now) for model in running if _name(model).startswith(prefix)]
    print(table(RUNNING_HEADER, rows), end="")


def _model_row(model: ModelSummary, now: float) -> tuple[str, ...]:
    size = "-" if model.get("remote_model") else format_bytes(model.get("size", 0))
    return _name(model), model.get("digest", "")[:12], size, _when(model.get("modified_at", ""), now)


def _running_row(model: RunningModel, now: float) -> tuple[str, ...]:
    size = model.get("size", 0)
    return (
        _name(model),
        model.get("digest", "")[:12],
        format_bytes(size),
        _processor(size, model.get("size_vram", 0)),
        str(model.get("context_length", 0)),
        _until(model.get("expires_at", ""), now),
    )


def _name(model: ModelSummary | RunningModel) -> str:
    return model.get("name", "")


def _when(then: str, now: float) -> str:
    """How far a time is from now; servers of others may not tell one."""
    try:
        return format_when(then, now)
    except ValueError:
        return NEVER


def _until(expires: str, now: float) -> str:
    try:
        is_over = parse_time(expires).unix_ns < now * SECOND_NS
    except ValueError:
        return NEVER
    return "Stopping..." if is_over else format_when(expires, now)


def _processor(size: int, on_gpu: int) -> str:
    """Where a model's bytes are."""
    if on_gpu == 0:
        return "100% CPU"
    if on_gpu == size:
        return "100% GPU"
    if on_gpu > size or size == 0:
        return "Unknown"
    on_cpu = int((size - on_gpu) / size * 100 + 0.5)
    return f"{on_cpu}%/{100 - on_cpu}% CPU/GPU"
