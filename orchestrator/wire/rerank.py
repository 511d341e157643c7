"""The JSON of reranking, in the form that Jina and Cohere share."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator
from pydantic_core import PydanticCustomError

from orchestrator.wire.fields import Int, KeepAliveField
from orchestrator.wire.model import OmitNone, Wire


def _text_of(value: Any) -> Any:
    """A document is a text, or an object with one."""
    if isinstance(value, dict):
        value = value.get("text")
    if not isinstance(value, str):
        raise PydanticCustomError("document", 'expected a string or an object with "text"')
    return value


class RerankRequest(Wire):
    """Body of ``/api/rerank`` and ``/v1/rerank``."""

    model: str = ""
    query: str = ""
    documents: list[Annotated[str, BeforeValidator(_text_of)]] = []
    top_n: OmitNone[Int | None] = None
    return_documents: bool = False
    options: dict[str, Any] | None = None
    keep_alive: OmitNone[KeepAliveField] = None


class Document(Wire):
    """A document as it is sent back."""

    text: str


class Result(Wire):
    """One document's place in the request, and its score."""

    index: int
    relevance_score: float
    document: OmitNone[Document | None] = None


class Usage(Wire):
    """Tokens that were read."""

    prompt_tokens: int
    total_tokens: int


class RerankResponse(Wire):
    """Reply to both routes; durations are nanoseconds."""

    object: str = "list"
    model: str
    results: list[Result]
    usage: Usage
    total_duration: int
    load_duration: int
