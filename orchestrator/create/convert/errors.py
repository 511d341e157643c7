"""The errors of converting models."""

from __future__ import annotations

from orchestrator.errors import OrchestratorError


class ConversionFailed(OrchestratorError):
    """A model folder that cannot be turned into a GGUF file."""


class UnsupportedArchitecture(ConversionFailed):
    """An architecture without a converter."""

    hint = "create the model from a GGUF file instead"


class TowersUnsupported(UnsupportedArchitecture):
    """A model that sees or hears by parts that are not converted."""

    def __init__(self, architecture: str) -> None:
        super().__init__(f'the parts for pictures and sound of "{architecture}" cannot be converted')
