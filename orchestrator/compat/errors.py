"""The errors of translating published model files.

::

    CannotTranslate            a file that is not as its kind must be
    RunnerFailed
    └── IncompatibleModel      the file is of a kind that is known, but not as it should be
"""

from __future__ import annotations

from orchestrator.errors import OrchestratorError, RunnerFailed


class CannotTranslate(OrchestratorError):
    """A file that lacks what its kind must have, or has it in a form nobody wrote."""


class IncompatibleModel(RunnerFailed):
    """A model that cannot be loaded because a file of it cannot be translated."""

    hint = "pull the model again: newer versions of it may have another form"

    def __init__(self, model: str, reason: object) -> None:
        super().__init__(
            f"{reason}: this model may be incompatible with your version of Ollama. If you previously pulled "
            f"this model, try updating it by running `ollama pull {model}`"
        )
