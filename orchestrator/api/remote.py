"""Models of the cloud, which cannot be used here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orchestrator.api.errors import OutsideDialect
from orchestrator.domain.names import ModelName, ModelReference, Source
from orchestrator.errors import OrchestratorError
from orchestrator.inference.errors import CloudDisabled, ModelRequired

if TYPE_CHECKING:
    from orchestrator.api.state import AppState
    from orchestrator.store.model import Model

_NO_DETAILS = "remote model details are unavailable"


def refuse_remote(model: str) -> None:
    """Raises ``OutsideDialect``, for no dialect is spoken yet, if ``model`` is a name of the cloud."""
    try:
        reference = ModelReference.parse(model)
        ModelName.parse(reference.base)
    except OrchestratorError:
        return  # no name at all: whoever opens the model says so
    if reference.source is Source.CLOUD:
        raise OutsideDialect(CloudDisabled())


async def open_described(state: AppState, text: str) -> Model:
    """The model that a client wants described, which is in the store.

    Raises ``ModelRequired``, ``InvalidName``, ``ModelNotFound``; ``CloudDisabled`` for a model of the cloud,
    by its name, or as the stub of one where the user does not want the cloud.
    """
    if not text.strip():
        raise ModelRequired
    reference = ModelReference.parse(text)
    name = reference.name
    if reference.source is Source.CLOUD:
        raise CloudDisabled(_NO_DETAILS)
    model = await state.models.open(name)
    if model.config.remote_host and state.cloud_disabled:
        raise CloudDisabled(_NO_DETAILS)
    return model
