"""Vectors: one for every text, whatever its size and its neighbours."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import closing
from typing import Any

import pytest
from ollama import Client

from integration.cases.place import Place
from integration.conftest import EMBEDDING_MODEL
from integration.toy import post

DENSE = "${{ x }}= "
WORDS = [f"word{number}" for number in range(900)]


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True)) / math.hypot(*one) / math.hypot(*other)


# case B009
def test_a_dense_text_is_cut_by_its_tokens_and_its_neighbours_are_not(here: Place) -> None:
    model = here.embedder(context=512)
    answer = here.embed(model, ["hello", DENSE * 9000, "bye"])
    assert answer.status == 200, answer
    assert len(answer.body["embeddings"]) == 3
    assert answer.body["inputs_truncated"] == 1
    read = {call["input"] for call in here.calls("/v1/embeddings")}
    assert {"hello", "bye"} <= read
    assert max(map(len, read)) <= 2 * 512


# case B009
def test_a_text_that_the_engine_finds_too_long_is_cut_again(here: Place) -> None:
    model = here.embedder(context=512)
    refusal = {"status": 400, "json": {"error": {"code": 400, "message": "input is too large to process"}}}
    here.script(answers={"/v1/embeddings": [refusal]})
    answer = here.embed(model, [DENSE * 9000], options={"num_batch": 64})
    assert answer.status == 200, answer
    assert answer.body["inputs_truncated"] == 1


# case B010
def test_the_limit_is_the_models_own_and_cuts_are_told(here: Place) -> None:
    one, other = " ".join(WORDS), " ".join([*WORDS[:750], "elsewhere", *WORDS[750:]])
    wide = here.embed(here.embedder("wide", context=8192), [one, other])
    assert "inputs_truncated" not in wide.body
    assert wide.body["embeddings"][0] != wide.body["embeddings"][1]
    narrow = here.embed(here.embedder("narrow", context=512), [one, other])
    assert narrow.body["inputs_truncated"] == 2
    refused = here.embed("narrow", [one], truncate=False)
    assert (refused.status, refused.body) == (400, {"error": "the input length exceeds the context length"})


# case B013
def test_vectors_do_not_depend_on_the_size_of_the_batch(real_daemon: str) -> None:
    texts = [
        f"The {colour} bird number {n} sings."
        for n in range(16)
        for colour in ("red", "blue", "grey", "black")
    ]
    with closing(Client(f"http://{real_daemon}")) as client:
        whole = client.embed(EMBEDDING_MODEL, texts).embeddings
        alone = [client.embed(EMBEDDING_MODEL, text).embeddings[0] for text in texts[:16]]
        for size in (1, 8, 16):
            batch = client.embed(EMBEDDING_MODEL, texts[:size]).embeddings
            assert min(cosine(a, b) for a, b in zip(batch, alone, strict=False)) >= 0.999
    assert len(whole) == 64
    assert min(cosine(a, b) for a, b in zip(whole, alone, strict=False)) >= 0.999


# case B015
@pytest.mark.parametrize("vector", [[], [[]]])
def test_an_empty_vector_of_the_engine_is_an_error(here: Place, vector: Any) -> None:
    model = here.embedder()
    document = {"object": "list", "data": [{"index": 0, "embedding": vector}], "usage": {"prompt_tokens": 1}}
    here.script(answers={"/v1/embeddings": [{"status": 200, "json": document}]}, answers_repeat=True)
    for answer in (
        here.embed(model, ["tin", "copper"]),
        post(here.server, "/api/embeddings", {"model": model, "prompt": "tin"}),
    ):
        assert answer.status >= 400, answer
        assert "empty embedding" in answer.body["error"]


# case B015
def test_every_text_has_a_vector(here: Place) -> None:
    vectors = here.embed(here.embedder(), ["tin", "copper"]).body["embeddings"]
    assert [len(vector) for vector in vectors] == [4, 4]


# case B017
@pytest.mark.parametrize(
    ("texts", "count"), [("", 0), ([], 0), (" ", 1), ([""], 1), ([" ", "x", "\n"], 3), (["x", ""], 2)]
)
def test_blank_texts_have_a_defined_answer(here: Place, texts: Any, count: int) -> None:
    answer = here.embed(here.embedder(), texts)
    assert answer.status == 200
    assert len(answer.body["embeddings"]) == count
    assert all(isinstance(number, float) for vector in answer.body["embeddings"] for number in vector)


# case B017
def test_the_older_route_has_no_null_either(here: Place) -> None:
    model = here.embedder()
    for prompt in ("", " "):
        answer = post(here.server, "/api/embeddings", {"model": model, "prompt": prompt})
        assert answer.status == 200
        assert answer.body["embedding"] is not None


@pytest.mark.parametrize("path", ["/api/embed", "/api/embeddings", "/v1/embeddings"])
def test_a_model_that_writes_text_is_told_from_one_short_of_memory(here: Place, path: str) -> None:
    text = "This server does not support embeddings. Start it with `--embeddings`"
    refusal = {"status": 501, "json": {"error": {"code": 501, "message": text}}}
    model = here.model("writer")
    here.script(answers={"/v1/embeddings": [refusal]})
    answer = post(here.server, path, {"model": model, "input": "tin", "prompt": "tin"})
    assert answer.status in (500, 501)
    assert text in str(answer.body)
    assert "take an embedding model" in str(answer.body)
    assert "take an embedding model" in here.log()
    assert "num_ctx" not in here.log()


@pytest.mark.parametrize("path", ["/api/embed", "/v1/embeddings"])
@pytest.mark.parametrize(("dimensions", "told"), [(0, False), (2, False), (4, False), (5, True), (-1, True)])
def test_dimensions_that_a_model_does_not_have_are_told(
    here: Place, dimensions: int, told: bool, path: str
) -> None:
    body = {"model": here.embedder(), "input": "tin", "dimensions": dimensions}
    answer = post(here.server, path, body)
    assert answer.status == 200
    assert ("warnings" in answer.body) is told
