"""Web pages that call: who may, and what the others are told."""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest

from integration.cases.place import Place, place


@pytest.fixture(scope="module")
def open_place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A daemon with a list of origins."""
    origins = "https://ui.example,http://10.0.0.5:*,chrome-extension://abc"
    with place(tmp_path_factory.mktemp("origins"), {"OLLAMA_ORIGINS": origins}) as here:
        yield here


def visit(here: Place, origin: str) -> tuple[int, str]:
    """Status and body for a page of ``origin``."""
    headers = {"Origin": origin, "Accept": "application/json"}
    request = urllib.request.Request(f"http://{here.server.address}/api/tags", headers=headers)
    try:
        with urllib.request.urlopen(request) as reply:
            return reply.status, reply.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


# case B153
@pytest.mark.parametrize(
    "origin", ["abc", "null", "http://evil.example", "moz-extension://x", "http://localhost:1@evil.example"]
)
def test_a_page_that_may_not_call_is_told_which_setting_decides(open_place: Place, origin: str) -> None:
    status, body = visit(open_place, origin)
    assert status == 403
    assert "OLLAMA_ORIGINS" in body


# case B153
@pytest.mark.parametrize(
    "origin",
    [
        "http://localhost",
        "https://localhost:3000",
        "http://127.0.0.1:8080",
        "https://ui.example",
        "http://10.0.0.5:1234",
        "chrome-extension://abc",
        "app://obsidian.md",
    ],
)
def test_pages_of_this_machine_and_listed_ones_may_call(open_place: Place, origin: str) -> None:
    assert visit(open_place, origin)[0] == 200


# case B153
def test_the_daemons_own_pages_may_call(open_place: Place) -> None:
    assert visit(open_place, f"http://{open_place.server.address}")[0] == 200
