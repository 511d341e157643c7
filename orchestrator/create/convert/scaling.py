"""How a model stretches the positions of its context: ``rope_scaling`` of the configuration.

Source: ``gguf-convert`` §5.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from orchestrator.create.convert.errors import ConversionFailed

if TYPE_CHECKING:
    from orchestrator.create.convert.config import Config
    from orchestrator.create.convert.decoder import Metadata


def scaling_of(config: Config) -> tuple[Config, str]:
    """What the configuration says, and the name of the way; empty if positions are not stretched."""
    scaling = config.section("rope_scaling", "rope_parameters")
    return scaling, scaling.text("rope_type") or scaling.text("type")


def rope_base(config: Config) -> float:
    """The base of the frequencies of rotation; 0 if there is none."""
    return config.float("rope_theta") or config.section("rope_parameters").float("rope_theta")


def yarn_keys(scaling: Config) -> Metadata:
    """The keys for the way called YaRN."""
    keys: Metadata = {"rope.scaling.type": "yarn", "rope.scaling.factor": scaling.float("factor")}
    if context := scaling.uint("original_max_position_embeddings"):
        keys["rope.scaling.original_context_length"] = context
    return keys


def unknown_scaling(config: Config, kind: str) -> ConversionFailed:
    """The error for a way that nobody here knows."""
    return config.refused(f"unknown rope scaling type {kind!r:.80}")
