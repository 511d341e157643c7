"""What is wrong with bodies of requests, beyond their JSON."""

from __future__ import annotations

from orchestrator.errors import BadRequest


class MissingBody(BadRequest):
    """A request without a body where one is needed."""

    def __init__(self) -> None:
        super().__init__("missing request body")


class InvalidBody(BadRequest):
    """A body whose values have the wrong types."""
