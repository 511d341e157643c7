"""Which status and body an error has."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from aiohttp import web

from orchestrator import errors
from orchestrator.api.anthropic.errors import ANTHROPIC
from orchestrator.api.errors import NATIVE, BodyTooLarge, BodyTooSlow, native_line, status_of
from orchestrator.api.openai.errors import OPENAI
from orchestrator.domain.names import InvalidName, ModelName
from orchestrator.domain.options import InvalidOption
from orchestrator.store.errors import CorruptManifest, ModelNotFound

CASES = [
    (errors.BadRequest("x"), 400),
    (InvalidName("a@b", "model", "a@b"), 400),
    (errors.NotFound("x"), 404),
    (ModelNotFound(ModelName.parse("owlet")), 404),
    (errors.Unauthorized("x"), 401),
    (errors.Forbidden("x"), 403),
    (errors.QueueFull(), 503),
    (errors.RequestCanceled(), 499),
    (errors.ShuttingDown(), 503),
    (errors.EngineRefused("x", status=413), 413),
    (errors.RunnerFailed("x"), 500),
    (errors.StoreError("x"), 500),
    (CorruptManifest(Path("m"), "why"), 500),
    (InvalidOption("x"), 500),
    (errors.OrchestratorError("x"), 500),
    (BodyTooLarge(5), 413),
    (BodyTooSlow(5), 408),
]


@pytest.mark.parametrize(("error", "status"), CASES, ids=lambda case: type(case).__name__)
def test_every_kind_of_error_has_a_status(error: errors.OrchestratorError, status: int) -> None:
    assert status_of(error) == status


def test_every_class_of_the_tree_is_covered() -> None:
    drawn = {kind for kind in vars(errors).values() if isinstance(kind, type)}
    assert drawn & {errors.OrchestratorError, *errors.OrchestratorError.__subclasses__()} <= {
        type(error) for error, _ in CASES
    }


def test_the_native_body_is_one_text() -> None:
    reply = NATIVE.reply(errors.NotFound("model 'x' not found"))
    assert (reply.status, reply.headers["Content-Type"]) == (404, "application/json; charset=utf-8")
    assert isinstance(reply.body, bytes)
    assert json.loads(reply.body) == {"error": "model 'x' not found"}


def test_in_a_stream_the_error_is_a_line() -> None:
    assert native_line(errors.RunnerFailed("gone")) == b'{"error":"gone"}\n'


def test_hints_stay_off_the_wire() -> None:
    assert "OLLAMA_MAX_QUEUE" not in native_line(errors.QueueFull()).decode()


def test_what_the_text_leaves_open_stands_beside_it_in_every_dialect(
    caplog: pytest.LogCaptureFixture,
) -> None:
    error = errors.EngineRefused("set --flag", status=501)
    error.advice = "take another model"
    with caplog.at_level("INFO", logger="orchestrator.api"):
        bodies = [json.loads(read(dialect.refusal(error))) for dialect in (NATIVE, OPENAI, ANTHROPIC)]
    assert bodies[0] == {"error": "set --flag", "advice": "take another model"}
    for told in (bodies[1]["error"], bodies[2]["error"]):
        assert (told["message"], told["advice"]) == ("set --flag", "take another model")
    assert "take another model" in caplog.text


def read(reply: web.Response) -> bytes:
    assert isinstance(reply.body, bytes)
    return reply.body
