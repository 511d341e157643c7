"""What one ``run`` asks of its model, and what is known about that model."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from orchestrator.client.wire import ModelCard
from orchestrator.errors import BadRequest

_FILE_CAPABILITIES = {"vision", "audio"}


@dataclass(slots=True)
class Settings:
    """Changed by flags before, and by ``/set`` during a session. None leaves a choice to the server."""

    model: str
    card: ModelCard = field(default_factory=lambda: ModelCard())
    think: bool | str | None = None
    """As asked for; without it models that can think do."""
    format: Any = None
    keep_alive: str | None = None
    parameters: dict[str, Any] = field(default_factory=dict)
    word_wrap: bool = True
    verbose: bool = False
    hide_thinking: bool = False

    def can(self, capability: str) -> bool:
        """Whether the model has a capability."""
        return capability in (self.card.get("capabilities") or ())

    @property
    def takes_files(self) -> bool:
        """Whether paths in a prompt mean pictures or sound."""
        return (
            not _FILE_CAPABILITIES.isdisjoint(self.card.get("capabilities") or ())
            or bool(self.card.get("projector_info"))
            or any(".vision." in key for key in self.card.get("model_info") or ())
        )

    @property
    def effective_think(self) -> bool | str | None:
        """What to send as ``think``."""
        if self.think is None and self.can("thinking"):
            return True
        return self.think

    def request(self, **more: Any) -> dict[str, Any]:
        """The members that every generation has in common, and more; those that are None are left out."""
        body = {
            "model": self.model,
            "format": self.format,
            "options": self.parameters or None,
            "keep_alive": self.keep_alive,
            "think": self.effective_think,
            **more,
        }
        return {name: value for name, value in body.items() if value is not None}


def refuse_image_models(card: ModelCard) -> None:
    """Raise when the model makes pictures, which no command here can show."""
    if "image" in (card.get("capabilities") or ()):
        raise BadRequest("image generation models are not currently supported")
