"""The JSON of the native API: bodies of requests and replies, in the order in which members are written.

Source: ``api-native`` §1, §8 and §9.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, Field

from orchestrator.wire.fields import Base64, Int, IntElement, KeepAliveField, Single, ThinkField, ToolsField
from orchestrator.wire.model import Nullable, OmitEmpty, OmitNone, OmitUnset, Wire

ZERO_TIME = "0001-01-01T00:00:00Z"
"""How a time that is not known is written."""


class ToolCallFunction(Wire):
    """Which function a model calls, and with what."""

    index: Int = 0
    name: str = ""
    arguments: Nullable[dict[str, Any] | None] = {}


class ToolCall(Wire):
    """One call in a message."""

    id: OmitEmpty[str] = ""
    function: ToolCallFunction = ToolCallFunction()


class Message(Wire):
    """One message of a conversation."""

    role: Annotated[str, AfterValidator(str.lower)] = ""
    content: str = ""
    thinking: OmitEmpty[str] = ""
    images: OmitEmpty[list[Base64]] = []
    tool_calls: OmitEmpty[list[ToolCall]] = []
    tool_name: OmitEmpty[str] = ""
    tool_call_id: OmitEmpty[str] = ""


class GenerateRequest(Wire):
    """Body of ``/api/generate``."""

    model: str = ""
    prompt: str = ""
    suffix: str = ""
    system: str = ""
    template: str = ""
    context: OmitEmpty[list[IntElement] | None] = None
    stream: OmitNone[bool | None] = None
    raw: OmitEmpty[bool] = False
    format: OmitUnset[Any] = None
    keep_alive: OmitNone[KeepAliveField] = None
    images: OmitEmpty[list[Base64]] = []
    options: dict[str, Any] | None = None
    think: OmitNone[ThinkField] = None
    truncate: OmitNone[bool | None] = None
    shift: OmitNone[bool | None] = None
    debug_render_only: OmitEmpty[bool] = Field(False, alias="_debug_render_only")
    logprobs: OmitEmpty[bool] = False
    top_logprobs: OmitEmpty[Int] = 0
    width: OmitEmpty[Int] = 0
    height: OmitEmpty[Int] = 0
    steps: OmitEmpty[Int] = 0


class ChatRequest(Wire):
    """Body of ``/api/chat``."""

    model: str = ""
    messages: list[Message] | None = None
    stream: OmitNone[bool | None] = None
    format: OmitUnset[Any] = None
    keep_alive: OmitNone[KeepAliveField] = None
    tools: OmitEmpty[ToolsField] = ()
    tool_choice: OmitNone[Any] = None
    """Ours: ``auto``, ``none``, ``required``, or an object that names a tool."""
    options: dict[str, Any] | None = None
    think: OmitNone[ThinkField] = None
    truncate: OmitNone[bool | None] = None
    shift: OmitNone[bool | None] = None
    debug_render_only: OmitEmpty[bool] = Field(False, alias="_debug_render_only")
    logprobs: OmitEmpty[bool] = False
    top_logprobs: OmitEmpty[Int] = 0


class EmbedRequest(Wire):
    """Body of ``/api/embed``."""

    model: str = ""
    input: Any = None
    """Text, or a list of texts; anything else is refused after the name was looked at."""
    keep_alive: OmitNone[KeepAliveField] = None
    truncate: OmitNone[bool | None] = None
    dimensions: OmitEmpty[Int] = 0
    options: dict[str, Any] | None = None


class EmbeddingRequest(Wire):
    """Body of ``/api/embeddings``, the older form."""

    model: str = ""
    prompt: str = ""
    keep_alive: OmitNone[KeepAliveField] = None
    options: dict[str, Any] | None = None


class CreateRequest(Wire):
    """Body of ``/api/create``."""

    model: str = ""
    stream: OmitNone[bool | None] = None
    quantize: OmitEmpty[str] = ""
    draft_quantize: OmitEmpty[str] = ""
    from_: OmitEmpty[str] = Field("", alias="from")
    remote_host: OmitEmpty[str] = ""
    files: OmitEmpty[dict[str, str] | None] = None
    adapters: OmitEmpty[dict[str, str] | None] = None
    draft_files: OmitEmpty[dict[str, str] | None] = None
    template: OmitEmpty[str] = ""
    license: OmitEmpty[Any] = None
    """A text, or a list of texts."""
    system: OmitEmpty[str] = ""
    parameters: OmitEmpty[dict[str, Any] | None] = None
    messages: OmitEmpty[list[Message]] = []
    renderer: OmitEmpty[str] = ""
    parser: OmitEmpty[str] = ""
    requires: OmitEmpty[str] = ""
    info: OmitEmpty[dict[str, Any] | None] = None
    name: str = ""
    quantization: OmitEmpty[str] = ""


class ShowRequest(Wire):
    """Body of ``/api/show``."""

    model: str = ""
    system: str = ""
    template: str = ""
    verbose: bool = False
    options: dict[str, Any] | None = None
    name: str = ""


class CopyRequest(Wire):
    """Body of ``/api/copy``."""

    source: str = ""
    destination: str = ""


class DeleteRequest(Wire):
    """Body of ``/api/delete``."""

    model: str = ""
    name: str = ""


class TransferRequest(Wire):
    """Body of ``/api/pull`` and ``/api/push``."""

    model: str = ""
    insecure: OmitEmpty[bool] = False
    username: str = ""
    password: str = ""
    stream: OmitNone[bool | None] = None
    name: str = ""


class DebugInfo(Wire):
    """What ``_debug_render_only`` shows."""

    rendered_template: str = ""
    image_count: OmitEmpty[Int] = 0


class TopLogprob(Wire):
    """One alternative at a position."""

    token: str = ""
    logprob: float = 0.0
    bytes: OmitEmpty[list[Int]] = []


class Logprob(TopLogprob):
    """The token taken at a position."""

    top_logprobs: OmitEmpty[list[TopLogprob]] = []


class GenerateResponse(Wire):
    """One record of a reply to ``/api/generate``."""

    model: str = ""
    remote_model: OmitEmpty[str] = ""
    remote_host: OmitEmpty[str] = ""
    created_at: str = ZERO_TIME
    response: str = ""
    thinking: OmitEmpty[str] = ""
    done: bool = False
    done_reason: OmitEmpty[str] = ""
    context: OmitEmpty[list[Int]] = []
    total_duration: OmitEmpty[Int] = 0
    load_duration: OmitEmpty[Int] = 0
    prompt_eval_count: OmitEmpty[Int] = 0
    prompt_eval_duration: OmitEmpty[Int] = 0
    eval_count: OmitEmpty[Int] = 0
    eval_duration: OmitEmpty[Int] = 0
    tool_calls: OmitEmpty[list[ToolCall]] = []
    debug_info: OmitNone[DebugInfo | None] = Field(None, alias="_debug_info")
    logprobs: OmitEmpty[list[Logprob]] = []


class ChatResponse(Wire):
    """One record of a reply to ``/api/chat``."""

    model: str = ""
    remote_model: OmitEmpty[str] = ""
    remote_host: OmitEmpty[str] = ""
    created_at: str = ZERO_TIME
    message: Message = Message()
    done: bool = False
    done_reason: OmitEmpty[str] = ""
    debug_info: OmitNone[DebugInfo | None] = Field(None, alias="_debug_info")
    logprobs: OmitEmpty[list[Logprob]] = []
    total_duration: OmitEmpty[Int] = 0
    load_duration: OmitEmpty[Int] = 0
    prompt_eval_count: OmitEmpty[Int] = 0
    prompt_eval_duration: OmitEmpty[Int] = 0
    eval_count: OmitEmpty[Int] = 0
    eval_duration: OmitEmpty[Int] = 0


class EmbedResponse(Wire):
    """Reply to ``/api/embed``; vectors in single precision."""

    model: str = ""
    embeddings: list[list[Single]] | None = None
    total_duration: OmitEmpty[Int] = 0
    load_duration: OmitEmpty[Int] = 0
    prompt_eval_count: OmitEmpty[Int] = 0


class EmbeddingResponse(Wire):
    """Reply to ``/api/embeddings``."""

    embedding: list[float] | None = None


class ModelDetails(Wire):
    """What kind of model it is."""

    parent_model: str = ""
    format: str = ""
    family: str = ""
    families: list[str] | None = None
    parameter_size: str = ""
    quantization_level: str = ""
    context_length: OmitEmpty[Int] = 0
    embedding_length: OmitEmpty[Int] = 0


class ListedModel(Wire):
    """One entry of ``/api/tags``."""

    name: str = ""
    model: str = ""
    remote_model: OmitEmpty[str] = ""
    remote_host: OmitEmpty[str] = ""
    modified_at: str = ZERO_TIME
    size: Int = 0
    digest: str = ""
    details: ModelDetails = ModelDetails()
    capabilities: OmitEmpty[list[str]] = []
    damage: OmitEmpty[str] = ""
    """Ours: why the model cannot be used."""


class ListResponse(Wire):
    """Reply to ``/api/tags``."""

    models: list[ListedModel] | None = None


class RunningModel(Wire):
    """One entry of ``/api/ps``; what follows ``context_length`` is ours."""

    name: str = ""
    model: str = ""
    size: Int = 0
    digest: str = ""
    details: ModelDetails = ModelDetails()
    expires_at: str = ZERO_TIME
    size_vram: Int = 0
    context_length: Int = 0
    state: OmitEmpty[str] = ""
    active_requests: Int = 0
    waiting_requests: Int = 0
    parallel: OmitEmpty[Int] = 0
    """How many requests it serves at a time."""
    pid: OmitNone[Int | None] = None


class QueueState(Wire):
    """Requests that wait for a runner; ours."""

    waiting: Int = 0
    by_model: dict[str, Int] = {}
    oldest_ns: Int = 0
    """How long the first in line has waited."""


class ProcessResponse(Wire):
    """Reply to ``/api/ps``."""

    models: list[RunningModel] | None = None
    stopping: OmitEmpty[list[RunningModel]] = []
    """Models that are on their way out and serve nobody any more; ours (case B110)."""
    queue: OmitNone[QueueState | None] = None


class Tensor(Wire):
    """One tensor of a model file."""

    name: str = ""
    type: str = ""
    shape: list[Int] | None = None


class ShowResponse(Wire):
    """Reply to ``/api/show``."""

    license: OmitEmpty[str] = ""
    modelfile: OmitEmpty[str] = ""
    parameters: OmitEmpty[str] = ""
    template: OmitEmpty[str] = ""
    system: OmitEmpty[str] = ""
    renderer: OmitEmpty[str] = ""
    parser: OmitEmpty[str] = ""
    details: ModelDetails = ModelDetails()
    messages: OmitEmpty[list[Message]] = []
    remote_model: OmitEmpty[str] = ""
    remote_host: OmitEmpty[str] = ""
    model_info: dict[str, Any] | None = None
    projector_info: OmitEmpty[dict[str, Any]] = {}
    tensors: OmitEmpty[list[Tensor]] = []
    capabilities: OmitEmpty[list[str]] = []
    modified_at: str = ZERO_TIME
    requires: OmitEmpty[str] = ""


class ProgressResponse(Wire):
    """One line of progress of create, pull and push."""

    status: str = ""
    digest: OmitEmpty[str] = ""
    total: OmitEmpty[Int] = 0
    completed: OmitEmpty[Int] = 0


class ErrorResponse(Wire):
    """What a refused or failed request gets; also the last line of a stream that broke off."""

    error: str = ""
    signin_url: OmitEmpty[str] = ""
