"""The JSON of routes that Ollama has none like: upkeep of the store, and models as archives."""

from __future__ import annotations

from orchestrator.wire.fields import Int
from orchestrator.wire.model import OmitEmpty, OmitNone, Wire


class PruneRequest(Wire):
    """Body of ``/api/prune``."""

    dry_run: bool = False


class PrunedFile(Wire):
    """A file that nothing uses, or the files of one download."""

    name: str = ""
    kind: str = ""
    size: Int = 0
    modified_at: str = ""


class PruneResponse(Wire):
    """Reply to ``/api/prune``: what went, or would go, and what was too young for it."""

    dry_run: bool = False
    size: Int = 0
    files: list[PrunedFile] = []
    spared_size: Int = 0
    spared: list[PrunedFile] = []


class VerifyRequest(Wire):
    """Body of ``/api/verify``; without a model all are looked at."""

    model: str = ""
    repair: bool = False
    insecure: bool = False
    stream: OmitNone[bool | None] = None


class Damage(Wire):
    """A blob or manifest that is not as it should be, and the models that suffer from it."""

    name: str = ""
    problem: str = ""
    reason: str = ""
    models: list[str] = []
    repaired: bool = False
    repair_error: OmitEmpty[str] = ""


class VerifyResponse(Wire):
    """Last line of ``/api/verify``: ``success``, or ``damaged`` when something is left that is not right."""

    status: str = ""
    blobs: Int = 0
    size: Int = 0
    damages: list[Damage] = []


class ExportRequest(Wire):
    """Body of ``/api/export``."""

    model: str = ""


class ImportResponse(Wire):
    """Last line of ``/api/import``: the models that are there now."""

    status: str = ""
    models: list[str] = []
