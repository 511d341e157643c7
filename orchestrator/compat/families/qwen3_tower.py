"""Names of tensors in the vision tower of Qwen 3."""

from __future__ import annotations

from collections.abc import Mapping

from orchestrator.compat.draft import Draft
from orchestrator.compat.tower import rename_all

_NAMES: Mapping[str, str] = {
    "v.pos_embed": "v.position_embd",
    "v.patch_embed.": "v.patch_embd.",
    "v.merger.norm": "v.post_ln",
    "v.merger.linear_fc1": "mm.0",
    "v.merger.linear_fc2": "mm.2",
    ".mlp.linear_fc1": ".ffn_up",
    ".mlp.linear_fc2": ".ffn_down",
    ".norm1": ".ln1",
    ".norm2": ".ln2",
}


def take_tower_names(draft: Draft) -> None:
    """Give the tensors the engine's names; position embeddings are read in F32."""
    rename_all(draft, _NAMES)
    draft.promote("v.position_embd.weight")
