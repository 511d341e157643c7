"""The errors of creating a model."""

from __future__ import annotations

from orchestrator.errors import BadRequest, OrchestratorError


class CreateRefused(BadRequest):
    """What was asked for cannot be made: a wrong request, or files that are no model."""


class CreateFailed(OrchestratorError):
    """The request was in order, but the model could not be made (500)."""


class QuantizerMissing(CreateFailed):
    """Quantization was asked for, and there is nothing that could do it."""

    hint = "create the model without quantize, or from a file that is quantized already"

    def __init__(self, wanted: str) -> None:
        super().__init__(f"llama-quantize unavailable: cannot quantize to {wanted} yet")
        self.wanted = wanted
