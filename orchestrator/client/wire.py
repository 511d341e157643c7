"""JSON of the native API as a client sees it: keys and their types, nothing else.

Every key may be missing unless the class says otherwise; readers use ``get``.
"""

from __future__ import annotations

from typing import Any, Required, TypedDict


class Details(TypedDict, total=False):
    """``details`` of a model."""

    format: str
    family: str
    families: list[str] | None
    parameter_size: str
    quantization_level: str
    parent_model: str


class ModelSummary(TypedDict, total=False):
    """One row of ``GET /api/tags``."""

    name: str
    model: str
    digest: str
    size: int
    modified_at: str
    remote_model: str
    remote_host: str
    details: Details


class RunningModel(TypedDict, total=False):
    """One row of ``GET /api/ps``."""

    name: str
    digest: str
    size: int
    size_vram: int
    context_length: int
    expires_at: str


class Tensor(TypedDict):
    """One tensor of ``POST /api/show`` with ``verbose``."""

    name: str
    type: str
    shape: list[int] | None


class Said(TypedDict, total=False):
    """What a turn of a conversation, or a piece of one, says."""

    content: str
    thinking: str
    images: list[str] | None
    tool_calls: list[dict[str, Any]]


class Message(Said):
    """One turn of a conversation."""

    role: str


class ModelCard(TypedDict, total=False):
    """Reply of ``POST /api/show``."""

    license: str
    modelfile: str
    parameters: str
    template: str
    system: str
    details: Details
    messages: list[Message] | None
    model_info: dict[str, Any]
    projector_info: dict[str, Any]
    tensors: list[Tensor]
    capabilities: list[str]
    requires: str
    remote_model: str
    remote_host: str


class Metrics(TypedDict, total=False):
    """Times (nanoseconds) and counts in the last object of an answer."""

    total_duration: int
    load_duration: int
    prompt_eval_count: int
    prompt_eval_duration: int
    eval_count: int
    eval_duration: int


class GenerateChunk(Metrics, total=False):
    """One line of ``POST /api/generate``."""

    response: str
    thinking: str
    done: bool


class ChatChunk(Metrics, total=False):
    """One line of ``POST /api/chat``."""

    message: Said
    done: bool


class EmbedReply(TypedDict, total=False):
    """Reply of ``POST /api/embed``."""

    embeddings: list[list[float]]


class Progress(TypedDict, total=False):
    """One line of a call that takes long."""

    status: str
    digest: str
    total: int
    completed: int


class RemovableFile(TypedDict, total=False):
    """A file that nothing uses, or the files of one download."""

    name: Required[str]
    kind: Required[str]
    size: Required[int]
    modified_at: Required[str]


class PruneReply(TypedDict, total=False):
    """Reply of ``POST /api/prune``."""

    size: Required[int]
    files: Required[list[RemovableFile]]
    spared_size: int
    spared: list[RemovableFile]


class Damage(TypedDict, total=False):
    """Something in the store that is not as it should be."""

    name: Required[str]
    problem: Required[str]
    reason: Required[str]
    models: Required[list[str]]
    repaired: bool
    repair_error: str


class VerifyRecord(Progress, total=False):
    """One line of ``POST /api/verify``; the last has all that was found."""

    blobs: int
    size: int
    damages: list[Damage]


class ImportRecord(Progress, total=False):
    """One line of ``POST /api/import``; the last names the models."""

    models: list[str]


class User(TypedDict, total=False):
    """Reply of ``POST /api/me``."""

    name: str
