"""Paths and methods to handlers."""

from __future__ import annotations

import pytest
from aiohttp import web

from orchestrator.api.routing import Route, Router, cleaned


async def one(_: web.Request) -> web.Response:
    return web.Response()


async def two(_: web.Request) -> web.Response:
    return web.Response()


ROUTER = Router(
    [
        Route("HEAD", "/api/tags", one),
        Route("GET", "/api/tags", one),
        Route("POST", "/api/blobs/{digest}", one),
        Route("HEAD", "/api/blobs/{digest}", two),
        Route("GET", "/v1/models", one),
        Route("GET", "/v1/models/{model*}", two),
    ]
)


def test_a_path_leads_to_its_methods() -> None:
    target = ROUTER.find("/api/tags")
    assert target is not None
    assert target.allow == "HEAD, GET"
    assert target.handlers["GET"] is one


def test_a_segment_in_braces_is_the_parameter() -> None:
    target = ROUTER.find("/api/blobs/sha256:12")
    assert target is not None
    assert (target.path, target.parameter, target.allow) == ("/api/blobs/{digest}", "sha256:12", "POST, HEAD")


def test_a_starred_parameter_takes_the_rest() -> None:
    target = ROUTER.find("/v1/models/library/owlet:1b")
    assert target is not None
    assert target.parameter == "library/owlet:1b"


@pytest.mark.parametrize(
    "path", ["/", "/api", "/api/tag", "/api/tags/", "/api/blobs/", "/api/blobs/a/b", "/API/tags"]
)
def test_other_paths_lead_nowhere(path: str) -> None:
    assert ROUTER.find(path) is None


@pytest.mark.parametrize(
    ("method", "path", "where"),
    [
        ("GET", "/api/tags/", "/api/tags"),
        ("PUT", "/api/tags/", None),
        ("GET", "/api/tags", None),
        ("GET", "/", None),
        ("GET", "/v1/models/", "/v1/models"),
        ("POST", "/api/blobs/x/", "/api/blobs/x"),
    ],
)
def test_a_slash_too_many_is_taken_off_where_that_leads_somewhere(
    method: str, path: str, where: str | None
) -> None:
    assert ROUTER.redirect(method, path) == where


@pytest.mark.parametrize(
    ("path", "clean"),
    [
        ("/api/tags", "/api/tags"),
        ("//api/tags", "/api/tags"),
        ("/api//tags", "/api/tags"),
        ("/api/./tags", "/api/tags"),
        ("/api/x/../tags", "/api/tags"),
        ("/../api/tags", "/api/tags"),
        ("/api/tags//", "/api/tags/"),
        ("/api/.hidden", "/api/.hidden"),
        ("//", "/"),
        ("/", "/"),
    ],
)
def test_a_path_is_cleaned_of_empty_segments_and_dots(path: str, clean: str) -> None:
    assert cleaned(path) == clean
