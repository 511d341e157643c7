"""What can be wrong with a template: its text, or what happens when it runs."""

from __future__ import annotations

from typing import ClassVar, Literal

from orchestrator.errors import BadRequest, OrchestratorError

Stage = Literal["parse", "execute"]


class TemplateError(OrchestratorError):
    """A template cannot be used; ``stage`` tells when that showed."""

    stage: ClassVar[Stage]


class TemplateSyntaxError(TemplateError, BadRequest):
    """The text is no template: a model or request that carries it is refused."""

    stage = "parse"

    def __init__(self, message: str, *, line: int | None = None) -> None:
        super().__init__(message if line is None else f"template: :{line}: {message}")
        self.line = line


class TemplateExecutionError(TemplateError):
    """The template met data it cannot work with, or wanted more than a prompt may take."""

    stage = "execute"
