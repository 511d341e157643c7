"""Why no grammar can be made of a schema."""

from __future__ import annotations

from orchestrator.errors import BadRequest


class InvalidSchema(BadRequest):
    """A JSON schema that nothing can be written by. ``path`` points at the part that is wrong.

    The text is that of the engine, which clients of Ollama know. Source: llama.cpp b11434.
    """

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"JSON schema conversion failed:\nJSON schema error at {path}: {problem}")
        self.path, self.problem = path, problem


class SchemaTooLarge(InvalidSchema):
    """A schema whose grammar would keep the engine busy for longer than it is worth."""

    hint = "use fewer properties, alternatives or repetitions, or shorter lists of values"

    def __init__(self, path: str = "#") -> None:
        super().__init__(path, "the schema is too large")
