"""The errors of converting models."""

from __future__ import annotations

from orchestrator.errors import OrchestratorError


class ConversionFailed(OrchestratorError):
    """A model folder that cannot be turned into a GGUF file."""


class UnsupportedArchitecture(ConversionFailed):
    """An architecture without a converter."""

    hint = "create the model from a GGUF file instead"
