"""Models of the cloud, which are refused before any dialect is spoken."""

from __future__ import annotations

from orchestrator.api.errors import OutsideDialect
from orchestrator.domain.names import ModelReference, Source
from orchestrator.errors import OrchestratorError
from orchestrator.inference.errors import CloudDisabled


def refuse_remote(model: str) -> None:
    """Raises ``OutsideDialect`` if ``model`` is the name of a model in the cloud."""
    try:
        is_remote = ModelReference.parse(model).source is Source.CLOUD
    except OrchestratorError:
        return  # no name at all: whoever opens the model says so
    if is_remote:
        raise OutsideDialect(CloudDisabled())
