"""The errors of reading Modelfiles."""

from __future__ import annotations

from orchestrator.errors import BadRequest


class InvalidModelfile(BadRequest):
    """A Modelfile that cannot be read, or asks for what cannot be.

    The message is Ollama's, word for word; ``hint`` names the line as an editor counts it, and what it says.
    """

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint
