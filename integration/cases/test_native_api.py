"""Requests of the native API that are not quite what they should be."""

from __future__ import annotations

import pytest

from integration.cases.place import PLAIN, Json, Place
from integration.toy import post

MESSAGE = {"role": "user", "content": "hi"}


# case B067
@pytest.mark.parametrize(
    ("path", "members", "name"),
    [
        ("/api/chat", {"message": [MESSAGE]}, '"message"'),
        ("/api/chat", {"messages": [{"role": "user", "text": "hi"}]}, '"messages[0].text"'),
        ("/api/chat", {"messages": [MESSAGE], "option": {"num_ctx": 5}}, '"option"'),
        ("/api/chat", {"messages": [MESSAGE], "options": {"num_contexts": 5}}, '"num_contexts"'),
        ("/api/generate", {"promt": "hi"}, '"promt"'),
    ],
)
@pytest.mark.parametrize("stream", [True, False])
def test_names_that_nobody_knows_are_warned_of(
    here: Place, path: str, members: Json, name: str, stream: bool
) -> None:
    answer = post(
        here.server, path, {"model": here.model("templated", template=PLAIN), "stream": stream, **members}
    )
    assert answer.status == 200
    assert [name in warning for warning in answer.last["warnings"]].count(True) == 1
    assert name.strip('"') in here.log()


# case B067
def test_a_misspelt_key_names_the_one_that_was_meant(here: Place) -> None:
    model = here.model("templated", template=PLAIN)
    answer = post(here.server, "/api/chat", {"model": model, "message": [MESSAGE]})
    assert answer.last["warnings"] == ['unknown key "message" ignored, did you mean "messages"?']


@pytest.mark.parametrize("kind", ["native", "rendered"])
@pytest.mark.parametrize(
    ("message", "told"),
    [
        (None, ["messages[1] has no role", "messages[1] has no content"]),
        ({"role": "user"}, ["messages[1] has no content"]),
        ({"role": "asistant", "content": "x"}, ['messages[1].role "asistant" counts only where']),
        ({"role": "king", "content": "x"}, ['messages[1].role "king" counts only where']),
        ({"role": "USER", "content": ""}, []),
        ({"role": "tool", "content": ""}, []),
        ({"role": "assistant", "tool_calls": [{"function": {"name": "f"}}]}, []),
    ],
)
def test_a_message_that_may_not_count_is_answered_and_told(
    here: Place, kind: str, message: Json | None, told: list[str]
) -> None:
    model = here.native("native") if kind == "native" else here.model("templated", template=PLAIN)
    body = {"model": model, "messages": [MESSAGE, message], "stream": False}
    answer = post(here.server, "/api/chat", body)
    assert answer.status == 200
    found = answer.last.get("warnings", [])
    assert len(found) == len(told)
    assert all(text.startswith(start) for text, start in zip(found, told, strict=True))


@pytest.mark.parametrize("members", [{}, {"messages": [MESSAGE], "prompt": "hi"}], ids=["load", "answer"])
@pytest.mark.parametrize("path", ["/api/chat", "/api/generate"])
def test_an_option_that_another_value_stands_for_is_told(here: Place, path: str, members: Json) -> None:
    model = here.model("templated", template=PLAIN)
    asked = {"model": model, "options": {"num_ctx": 1, "seed": 2**32 + 5}, "stream": False, **members}
    found = " ".join(post(here.server, path, asked).last["warnings"])
    assert 'option "num_ctx" counts as 4: ' in found
    assert 'option "seed" counts as 5: ' in found


@pytest.mark.parametrize("path", ["/api/embed", "/api/embeddings", "/v1/embeddings"])
def test_requests_for_embeddings_are_warned_of_too(here: Place, path: str) -> None:
    body = {"model": here.embedder(), "input": "x", "prompt": "x", "options": {"num_ctxt": 5, "num_ctx": 1}}
    found = " ".join(post(here.server, path, body).body["warnings"])
    assert 'unknown option "num_ctxt" ignored' in found
    assert 'option "num_ctx" counts as 4: ' in found


# case B067
@pytest.mark.parametrize("path", ["/api/chat", "/api/generate"])
def test_an_empty_request_loads_the_model_as_documented(here: Place, path: str) -> None:
    answer = post(here.server, path, {"model": here.model("templated", template=PLAIN)})
    assert (answer.status, answer.last["done_reason"]) == (200, "load")
    assert "warnings" not in answer.last


# case B072
@pytest.mark.parametrize("path", ["/api/chat", "/api/generate", "/api/embed", "/api/show"])
def test_an_error_is_a_flat_text(here: Place, path: str) -> None:
    answer = post(here.server, path, {"model": "nobody", "input": "x"})
    assert answer.status == 404
    assert list(answer.body) == ["error"]
    assert "nobody" in answer.body["error"]


@pytest.mark.parametrize("kind", ["native", "rendered"])
@pytest.mark.parametrize("format", ["yaml", 5, [{}]])
def test_a_format_that_is_none_matters_only_once_something_is_generated(
    here: Place, kind: str, format: Json | str | int
) -> None:
    model = here.native("native") if kind == "native" else here.model("templated", template=PLAIN)
    assert here.chat(model, "hi", format=format).status == 500
    shown = here.chat(model, "hi", format=format, _debug_render_only=True)
    assert (shown.status, list(shown.last["_debug_info"])) == (200, ["rendered_template"])
    assert post(here.server, "/api/chat", {"model": model, "format": format}).last["done_reason"] == "load"
