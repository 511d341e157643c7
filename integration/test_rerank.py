"""Documents are ranked by a model with rank pooling: over a scripted engine, and over the real one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from integration.toy import create, post, toy_weights
from tests.engine_replay.stand_in import StandIn, stand_in
from tests.http_replay.daemon import running_daemon
from tests.http_replay.transport import Server
from tests.tiny_reranker import tiny_reranker

MODEL = "ranker"
DOCUMENTS = ["bread rises slowly", "owls hunt at night", "owls"]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandIn]:
    with stand_in(tmp_path_factory.mktemp("engine")) as engine:
        yield engine


@pytest.fixture(scope="module")
def scripted(engine: StandIn, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running_daemon(tmp_path_factory.mktemp("scripted"), engine.environment) as server:
        create(server, MODEL, tiny_reranker())
        create(server, "chatty", toy_weights())
        yield server


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running_daemon(tmp_path_factory.mktemp("real")) as server:
        create(server, MODEL, tiny_reranker())
        yield server


def rerank(server: Server, path: str = "/v1/rerank", **members: Any) -> dict[str, Any]:
    body = {"model": MODEL, "query": "owls hunt", "documents": DOCUMENTS, **members}
    answer = post(server, path, body)
    assert answer.status == 200, answer
    reply: dict[str, Any] = answer.body
    return reply


def order(reply: dict[str, Any]) -> list[int]:
    return [result["index"] for result in reply["results"]]


@pytest.mark.parametrize("path", ["/api/rerank", "/v1/rerank"])
def test_the_best_document_comes_first(scripted: Server, path: str) -> None:
    reply = rerank(scripted, path)
    assert order(reply) == [1, 2, 0]
    assert [result["relevance_score"] for result in reply["results"]] == [2.0, 1.0, 0.0]
    assert reply["model"] == MODEL
    assert reply["usage"]["prompt_tokens"] == reply["usage"]["total_tokens"] > 0


def test_the_best_are_enough_and_may_be_shown(scripted: Server) -> None:
    reply = rerank(scripted, top_n=1, return_documents=True)
    assert reply["results"] == [
        {"index": 1, "relevance_score": 2.0, "document": {"text": "owls hunt at night"}}
    ]


def test_other_models_are_refused_with_the_reason(scripted: Server) -> None:
    answer = post(scripted, "/v1/rerank", {"model": "chatty", "query": "q", "documents": ["d"]})
    assert answer.status == 400
    assert answer.body["error"] == {
        "message": '"chatty" does not support rerank: it is no model with rank pooling',
        "type": "invalid_request_error",
        "param": None,
        "code": None,
    }


def test_the_real_engine_ranks(real: Server) -> None:
    reply = rerank(real)
    scores = [result["relevance_score"] for result in reply["results"]]
    assert sorted(order(reply)) == [0, 1, 2]
    assert scores == sorted(scores, reverse=True)
    assert len(set(scores)) == 3
    assert reply["usage"]["prompt_tokens"] == 20


def test_scores_do_not_depend_on_the_order_of_documents(real: Server) -> None:
    def scores(documents: list[str]) -> dict[str, float]:
        reply = rerank(real, documents=documents, return_documents=True)
        return {result["document"]["text"]: result["relevance_score"] for result in reply["results"]}

    assert scores(DOCUMENTS[::-1]) == pytest.approx(scores(DOCUMENTS), rel=1e-4)


def test_a_document_longer_than_the_window_is_refused(real: Server) -> None:
    body = {"model": MODEL, "query": "owls", "documents": ["bread " * 200]}
    answer = post(real, "/api/rerank", body)
    assert answer.status == 400, json.dumps(answer.body)
    assert answer.body == {"error": "query and document together exceed the context length"}
