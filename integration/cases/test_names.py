"""Names of models: one rule in every verb."""

from __future__ import annotations

import pytest

from integration.cases.place import PLAIN, Json, Place
from integration.toy import get, post


# case B136
@pytest.mark.parametrize("name", ["Fox", "fox", "FOX:latest", "foX:LATEST"])
def test_a_model_is_found_in_any_case(here: Place, name: str) -> None:
    here.model("Fox", template=PLAIN)
    assert here.chat(name, "x").status == 200
    assert here.generate(name).status == 200
    assert post(here.server, "/api/show", {"model": name}).status == 200
    assert post(here.server, "/api/create", {"model": "cub", "from": name, "stream": False}).status == 200
    assert post(here.server, "/api/copy", {"source": name, "destination": "kit"}).status == 200
    assert [entry["name"] for entry in here.loaded() if entry["name"].lower() == "fox:latest"] == [
        "Fox:latest"
    ]


# case B136
def test_a_name_in_another_case_is_no_second_model(here: Place) -> None:
    here.model("Wolf", template=PLAIN)
    again = {"model": "wolf", "from": "Wolf", "system": "x", "stream": False}
    assert post(here.server, "/api/create", again).status == 200
    wolves = [
        m["name"] for m in get(here.server, "/api/tags").body["models"] if m["name"].lower() == "wolf:latest"
    ]
    assert wolves == ["Wolf:latest"]
    request: Json = {"method": "DELETE", "path": "/api/delete", "json": {"model": "WOLF"}}
    assert here.server.send(request).status == 200
    assert here.chat("Wolf", "x").status == 404


# case B137
@pytest.mark.parametrize("name", ["ann/tiny:1", "host.example:5000/ann/tiny:1", "hf.co/Ann/Tiny-GGUF:Q4_K_M"])
def test_names_with_namespace_host_and_port_are_names(here: Place, name: str) -> None:
    assert here.chat(name, "x").status == 404
    base = here.model("templated", template=PLAIN)
    assert post(here.server, "/api/copy", {"source": base, "destination": name}).status == 200
    assert here.chat(name, "x").status == 200
    assert name in [model["name"] for model in get(here.server, "/api/tags").body["models"]]
    here.forget(name)


# case B137
@pytest.mark.parametrize("name", ["a:b:c", "a//b", "ann/tiny:", "../x", "a b"])
@pytest.mark.parametrize("path", ["/api/chat", "/api/show", "/api/copy", "/api/create"])
def test_what_is_no_name_is_refused_with_a_reason(here: Place, path: str, name: str) -> None:
    base = here.model("templated", template=PLAIN)
    body = {"model": name, "source": base, "destination": name, "from": base, "stream": False}
    answer = post(here.server, path, body)
    assert answer.status in (400, 404), answer
    assert answer.body["error"]
