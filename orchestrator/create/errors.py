"""The errors of creating a model.

::

    BadRequest
    └── CreateRefused          a wrong request, or files that are no model
    CreateFailed               the request was in order, but the model could not be made
    ├── QuantizerUnavailable   there is no llama-quantize, or it cannot be started
    └── QuantizerFailed        llama-quantize did not do what it was asked for
"""

from __future__ import annotations

from orchestrator.errors import BadRequest, OrchestratorError


class CreateRefused(BadRequest):
    """What was asked for cannot be made: a wrong request, or files that are no model."""


class CreateFailed(OrchestratorError):
    """The request was in order, but the model could not be made (500)."""


class QuantizerUnavailable(CreateFailed):
    """Something only llama-quantize can do was asked for, and it is not there or cannot be started."""

    hint = (
        "llama-quantize comes with the native engine: build it from llama/, or name a llama-server that has "
        "it beside it with ORCH_LLAMA_SERVER"
    )

    def __init__(self, reason: str, *, doing: str = "") -> None:
        """``doing`` is put in front of the message."""
        super().__init__(f"{doing}llama-quantize unavailable: {reason}")


class QuantizerFailed(CreateFailed):
    """llama-quantize ran and failed. The message has no room for what it wrote, the hint for the log has."""

    def __init__(self, reason: str, last_words: str, *, doing: str = "") -> None:
        """``doing`` is put in front of the message."""
        super().__init__(f"{doing}llama-quantize failed: {reason}")
        self.last_words = last_words
        self.hint = f"it wrote: {last_words}" if last_words else None
