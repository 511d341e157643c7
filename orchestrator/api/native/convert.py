"""Native requests as domain requests, and domain values as members of native replies.

Names of models are left as the client wrote them: they are parsed in the order of checks each route has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from orchestrator.create.plan import CreateRequest
from orchestrator.domain.chunks import ToolCall, Usage
from orchestrator.domain.formats import parse_format
from orchestrator.domain.progress import Progress
from orchestrator.domain.requests import ChatRequest, EmbedRequest, GenerateRequest, Message
from orchestrator.domain.tool_choice import parse_tool_choice
from orchestrator.errors import BadRequest
from orchestrator.wire import native as wire


class InvalidInput(BadRequest):
    """An ``input`` of ``/api/embed`` that is neither a text nor a list of texts."""

    def __init__(self) -> None:
        super().__init__("invalid input type")


def to_generate(body: wire.GenerateRequest) -> GenerateRequest:
    """The request of ``/api/generate``."""
    return GenerateRequest(
        **_common(body),
        prompt=body.prompt,
        suffix=body.suffix,
        system=body.system,
        template=body.template,
        context=None if body.context is None else tuple(body.context),
        raw=body.raw,
        images=tuple(body.images),
    )


def to_chat(body: wire.ChatRequest) -> ChatRequest:
    """The request of ``/api/chat``."""
    return ChatRequest(
        **_common(body),
        messages=to_messages(body.messages or ()),
        tools=body.tools,
        tool_choice=parse_tool_choice(body.tool_choice),
    )


def _common(body: wire.GenerateRequest | wire.ChatRequest) -> dict[str, Any]:
    """What both kinds of requests say in the same words."""
    return {
        "model": body.model,
        "options": body.options or {},
        "keep_alive": body.keep_alive,
        "think": body.think,
        "format": parse_format(body.format),
        "truncate": body.truncate is not False,
        "shift": body.shift,
        "logprobs": body.logprobs,
        "top_logprobs": body.top_logprobs,
        "debug_render_only": body.debug_render_only,
    }


def to_embed(body: wire.EmbedRequest) -> EmbedRequest:
    """The request of ``/api/embed``. Raises ``InvalidInput``."""
    return EmbedRequest(
        model=body.model,
        texts=_texts(body.input),
        options=body.options or {},
        keep_alive=body.keep_alive,
        truncate=body.truncate is not False,
        dimensions=body.dimensions,
    )


def to_embedding(body: wire.EmbeddingRequest) -> EmbedRequest:
    """The request of ``/api/embeddings``: one text, never cut."""
    return EmbedRequest(
        model=body.model,
        texts=(body.prompt,) if body.prompt else (),
        options=body.options or {},
        keep_alive=body.keep_alive,
        truncate=False,
    )


def to_create(body: wire.CreateRequest) -> CreateRequest:
    """The request of ``/api/create``; older names of fields count where the newer are empty."""
    return CreateRequest(
        model=body.model or body.name,
        base=body.from_,
        remote_host=body.remote_host,
        files=body.files,
        adapters=body.adapters,
        draft_files=body.draft_files,
        quantize=body.quantize or body.quantization,
        draft_quantize=body.draft_quantize,
        template=body.template,
        system=body.system,
        license=body.license,
        parameters=body.parameters or {},
        messages=to_messages(body.messages),
        renderer=body.renderer,
        parser=body.parser,
        requires=body.requires,
        info=body.info or {},
    )


def from_progress(step: Progress) -> wire.ProgressResponse:
    """One line of progress."""
    return wire.ProgressResponse(
        status=step.status, digest=step.digest, total=step.total_bytes, completed=step.completed_bytes
    )


def wants_stream(asked: bool | None) -> bool:
    """Whether the reply is a stream: only an explicit ``false`` makes it one object."""
    return asked is not False


def to_messages(messages: Sequence[wire.Message]) -> tuple[Message, ...]:
    """Messages of a conversation, in order."""
    return tuple(
        Message(
            role=message.role,
            content=message.content,
            thinking=message.thinking,
            images=tuple(message.images),
            tool_calls=tuple(map(_to_tool_call, message.tool_calls)),
            tool_name=message.tool_name,
            tool_call_id=message.tool_call_id,
        )
        for message in messages
    )


def _to_tool_call(call: wire.ToolCall) -> ToolCall:
    function = call.function
    return ToolCall(function.name, function.arguments or {}, index=function.index, id=call.id)


def _texts(value: Any) -> tuple[str, ...]:
    match value:
        case None | "":
            return ()
        case str():
            return (value,)
        case list() if all(isinstance(text, str) for text in value):
            return tuple(value)
        case _:
            raise InvalidInput


def tool_call_members(calls: Sequence[ToolCall]) -> list[dict[str, Any]]:
    """The ``tool_calls`` of a reply; a call without an id has no such member."""
    return [
        ({"id": call.id} if call.id else {})
        | {"function": {"index": call.index, "name": call.name, "arguments": call.arguments}}
        for call in calls
    ]


def usage_members(usage: Usage, *, total_duration_ns: int, load_duration_ns: int) -> Mapping[str, int]:
    """The metrics of a final record, those that are zero left out."""
    metrics = {
        "total_duration": total_duration_ns,
        "load_duration": load_duration_ns,
        "prompt_eval_count": usage.prompt_tokens,
        "prompt_eval_duration": usage.prompt_duration_ns,
        "eval_count": usage.completion_tokens,
        "eval_duration": usage.completion_duration_ns,
    }
    return {name: value for name, value in metrics.items() if value}
