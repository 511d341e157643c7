"""The JSON of OpenAI's Responses, as far as its clients send it. Source: ``api-compat`` §6."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from orchestrator.wire.fields import Int, TextElement
from orchestrator.wire.model import Wire
from orchestrator.wire.openai import Labels, Reasoning, Request


class ResponseTool(Wire):
    """A tool, or a group of tools with a name before theirs (``namespace``)."""

    type: str = ""
    name: str = ""
    description: str | None = None
    strict: bool | None = None
    parameters: Any = None
    tools: list[ResponseTool] | None = None
    """The members of a namespace."""
    external_web_access: Any = None
    filters: Any = None
    search_context_size: Any = None
    user_location: Any = None
    """These four say how the web is to be searched."""


class TextFormat(Wire):
    """The form of the text in a reply."""

    type: str = ""
    name: str = ""
    description: str = ""
    strict: bool | None = None
    schema_: Any = Field(None, alias="schema")


class TextSettings(Wire):
    """How the text of a reply shall be."""

    format: TextFormat | None = None
    verbosity: Any = None


class ResponsesRequest(Request, Labels):
    """Body of ``/v1/responses``."""

    input: Any = None
    """Text, or a list of items."""
    instructions: str | None = None
    max_output_tokens: Int | None = None
    temperature: float | None = None
    top_p: float | None = None
    reasoning: Reasoning | None = None
    text: TextSettings | None = None
    tools: list[ResponseTool] = []
    tool_choice: Any = None
    parallel_tool_calls: bool | None = None
    max_tool_calls: Int | None = None
    stream: bool = False
    stream_options: Any = None
    truncation: str = ""
    background: bool = False
    include: list[TextElement] = []
    top_logprobs: Int = 0
    previous_response_id: str | None = None
    store: bool | None = None
    conversation: Any = None
    prompt: Any = None
    client_metadata: Any = None


class InputKind(Wire):
    """What tells an input item's kind."""

    type: str = ""
    role: str = ""


class InputMessage(Wire):
    """An input item that is a message."""

    role: str = ""
    content: Any = None
    """Text, or a list of parts."""


class InputReasoning(Wire):
    """An input item that gives an earlier thought back."""

    encrypted_content: str = ""


class InputFunctionCall(Wire):
    """An input item that gives an earlier call back."""

    call_id: str = ""
    name: str = ""
    namespace: str = ""
    arguments: str = ""


class InputFunctionCallOutput(Wire):
    """An input item with what a call has brought."""

    call_id: str = ""
    output: Any = None
    """Text, or a list of parts."""


class InputWebSearchCall(Wire):
    """An input item that tells of a search the server did; nothing in it counts."""


class InputPart(Wire):
    """A part of a message or of a call's output."""

    type: str = ""
    text: str = ""
    image_url: str = ""
