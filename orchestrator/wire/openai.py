"""The JSON of the OpenAI API, as far as its clients send and read it, in the order it is written in.

Fields of the native API that clients may add are among them, and so are those that only describe a request
(``user``, ``metadata`` …). Source: ``api-compat`` §2–§5.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, Field

from orchestrator.wire.fields import Int, KeepAliveField, ThinkField, ToolsField
from orchestrator.wire.model import OmitNone, Wire


class FunctionCall(Wire):
    """The function a model calls; its arguments are JSON in a string."""

    name: str = ""
    arguments: str = ""


class ToolCall(Wire):
    """One call in a message of the history."""

    id: str = ""
    index: Int = 0
    type: str = ""
    function: FunctionCall = FunctionCall()


class ChatMessage(Wire):
    """One message of a conversation."""

    role: Annotated[str, AfterValidator(str.lower)] = ""
    content: Any = None
    """Text, or a list of parts."""
    reasoning: str = ""
    tool_calls: list[ToolCall] | None = None
    name: str = ""
    tool_call_id: str = ""
    refusal: Any = None
    audio: Any = None
    function_call: Any = None


class StreamOptions(Wire):
    """What a stream shall tell."""

    include_usage: bool = False
    include_obfuscation: Any = None


class JsonSchema(Wire):
    """A schema for the reply, and what it is called, which changes nothing."""

    name: Any = None
    description: Any = None
    strict: Any = None
    schema_: Any = Field(None, alias="schema")


class ResponseFormat(Wire):
    """The form of the reply."""

    type: str = ""
    json_schema: JsonSchema | None = None


class Reasoning(Wire):
    """How much the model shall think."""

    effort: str = ""
    summary: str | None = None
    generate_summary: Any = None


class Request(Wire):
    """What every request has: a model, and controls of the native API that clients may add."""

    model: str = ""
    options: dict[str, Any] | None = None
    keep_alive: KeepAliveField = None
    user: Any = None


class Labels(Wire):
    """What tells a service whose request it is, and how it shall be kept."""

    metadata: Any = None
    prompt_cache_key: Any = None
    prompt_cache_retention: Any = None
    safety_identifier: Any = None
    service_tier: Any = None


class TextRequest(Request):
    """What both kinds of completions are asked with."""

    stream: bool = False
    stream_options: StreamOptions | None = None
    max_tokens: Int | None = None
    temperature: float | None = None
    top_p: float | None = None
    seed: Int | None = None
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    stop: Any = None
    logit_bias: dict[str, float] | None = None
    n: Int | None = None
    debug_render_only: bool = Field(False, alias="_debug_render_only")


class ChatCompletionRequest(TextRequest, Labels):
    """Body of ``/v1/chat/completions``."""

    messages: list[ChatMessage] | None = None
    max_completion_tokens: Int | None = None
    response_format: ResponseFormat | None = None
    tools: ToolsField = ()
    tool_choice: Any = None
    parallel_tool_calls: bool | None = None
    functions: Any = None
    function_call: Any = None
    reasoning: Reasoning | None = None
    reasoning_effort: str = ""
    logprobs: bool = False
    top_logprobs: Int = 0
    modalities: Any = None
    audio: Any = None
    think: ThinkField = None
    format: Any = None
    prediction: Any = None
    store: Any = None
    verbosity: Any = None
    web_search_options: Any = None


class CompletionRequest(TextRequest):
    """Body of ``/v1/completions``."""

    prompt: str = ""
    suffix: str = ""
    logprobs: Int | None = None
    best_of: Int | None = None
    echo: bool = False


class EmbeddingRequest(Request):
    """Body of ``/v1/embeddings``."""

    input: Any = None
    """Text or token ids, or a list of one of them."""
    dimensions: Int = 0
    encoding_format: str = ""


class PromptTokensDetails(Wire):
    """What is worth knowing of a prompt's tokens."""

    cached_tokens: Int = 0


class Usage(Wire):
    """What a reply cost."""

    prompt_tokens: Int = 0
    completion_tokens: Int = 0
    total_tokens: Int = 0
    prompt_tokens_details: OmitNone[PromptTokensDetails | None] = None


class Model(Wire):
    """One model."""

    id: str = ""
    object: str = "model"
    created: Int = 0
    owned_by: str = ""


class ModelList(Wire):
    """Reply to ``/v1/models``."""

    object: str = "list"
    data: list[Model] | None = None


class Error(Wire):
    """Why a request failed."""

    message: str = ""
    type: str = ""
    param: str | None = None
    code: str | None = None


class ErrorResponse(Wire):
    """What a failed request gets; also the last record of a stream that broke off."""

    error: Error = Error()


class Transcription(Wire):
    """Reply to ``/v1/audio/transcriptions``."""

    text: str = ""
