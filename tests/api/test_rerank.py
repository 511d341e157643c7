"""Rerank requests and replies; what is refused before a model is asked."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.api.openai.routes import openai_routes
from orchestrator.api.rerank import from_reply, to_rerank
from orchestrator.api.state import AppState
from orchestrator.domain.requests import RerankRequest
from orchestrator.inference.rerank import Ranked, RerankReply
from orchestrator.wire import rerank as wire
from orchestrator.wire.errors import InvalidBody
from orchestrator.wire.json import loads
from orchestrator.wire.model import decode, encode
from tests.api.conftest import serving

BODY = {"model": "m", "query": "owls", "documents": ["bread", {"text": "owls", "id": 7}]}


def body(**members: Any) -> wire.RerankRequest:
    return decode(BODY | members, wire.RerankRequest)


def test_documents_are_texts_or_objects_with_one() -> None:
    assert to_rerank(body(top_n=1, options={"num_ctx": 64}, keep_alive=0)) == RerankRequest(
        model="m",
        query="owls",
        documents=("bread", "owls"),
        options={"num_ctx": 64},
        keep_alive=body(keep_alive=0).keep_alive,
        top_n=1,
    )


@pytest.mark.parametrize("document", [5, None, {"title": "owls"}, ["owls"]])
def test_other_documents_are_refused(document: Any) -> None:
    with pytest.raises(InvalidBody, match=r'documents\[0\]: expected a string or an object with "text"'):
        body(documents=[document])


@pytest.mark.parametrize("shows", [False, True])
def test_a_reply_has_the_form_of_jina_and_cohere(shows: bool) -> None:
    reply = RerankReply((Ranked(1, 2.5), Ranked(0, -1.0)), 9, 5, 3)
    results: list[dict[str, Any]] = [
        {"index": 1, "relevance_score": 2.5},
        {"index": 0, "relevance_score": -1.0},
    ]
    if shows:
        results[0]["document"], results[1]["document"] = {"text": "owls"}, {"text": "bread"}
    assert loads(encode(from_reply(body(return_documents=shows), reply))) == {
        "object": "list",
        "model": "m",
        "results": results,
        "usage": {"prompt_tokens": 9, "total_tokens": 9},
        "total_duration": 5,
        "load_duration": 3,
    }


@pytest.mark.parametrize("path", ["/api/rerank", "/v1/rerank"])
@pytest.mark.parametrize(
    ("members", "status", "message"),
    [
        ({"model": ""}, 400, "model is required"),
        ({"query": ""}, 400, "query is required"),
        ({"documents": []}, 400, "documents are required"),
        ({"top_n": 0}, 400, "top_n must be at least 1"),
        ({"model": "absent"}, 404, "model 'absent' not found"),
    ],
)
async def test_what_cannot_be_ranked_is_refused(
    state: AppState, path: str, members: dict[str, Any], status: int, message: str
) -> None:
    routes = openai_routes(state)
    async with serving(state, *routes) as client, client.post(path, json=BODY | members) as response:
        assert response.status == status
        told = (await response.json())["error"]
    assert (told if path == "/api/rerank" else told["message"]) == message
