"""Load specs for tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from orchestrator.domain.loads import LoadSpec, ModelFacts, ModelFiles
from orchestrator.domain.options import Options

GIB = 2**30


def a_spec(
    name: str = "red",
    *,
    num_ctx: int | None = None,
    trained: int = 131072,
    size_bytes: int = 1000,
    facts: dict[str, Any] | None = None,
    files: dict[str, Any] | None = None,
    shift: bool = True,
    rendered: bool = True,
    batch_auto: bool | None = None,
    **options: Any,
) -> LoadSpec:
    """A spec of a model called ``name``. Without ``num_ctx`` the window is automatic, 4096 tokens."""
    model_facts: dict[str, Any] = {
        "architecture": "llama",
        "block_count": 32,
        "trained_context": trained,
        "size_bytes": size_bytes,
    }
    model: dict[str, Any] = {"capabilities": frozenset({"completion"}), "family": "llama"} | (files or {})
    return LoadSpec(
        files=ModelFiles(
            key=f"/models/{name}",
            name=name,
            digest=name,
            weights=Path(f"/models/{name}"),
            facts=ModelFacts(**(model_facts | (facts or {}))),
            **model,
        ),
        options=Options(num_ctx=min(4096 if num_ctx is None else num_ctx, trained), **options),
        ctx_auto=num_ctx is None,
        batch_auto="num_batch" not in options if batch_auto is None else batch_auto,
        shift=shift,
        rendered=rendered,
    )
