"""``orch list`` and ``orch ps``."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.cli.conftest import Orch
from tests.native_server import NativeServer

DIGEST = "0123456789abcdef" * 4


def in_time(**delta: float) -> str:
    return (datetime.now(UTC) + timedelta(**delta)).isoformat()


def model(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "digest": DIGEST, "size": 98_000_000, "modified_at": in_time(hours=-3)} | more


def running(**more: Any) -> dict[str, Any]:
    base = {"name": "m:latest", "digest": DIGEST, "size": 100, "size_vram": 0, "context_length": 4096}
    return base | {"expires_at": in_time(seconds=290)} | more


def test_models_are_listed_in_the_servers_order(orch: Orch, server: NativeServer) -> None:
    server.says("GET /api/tags", {"models": [model("beta:latest"), model("alpha:latest")]})
    assert orch("list").out == (
        "NAME            ID              SIZE     MODIFIED    \n"
        "beta:latest     0123456789ab    98 MB    3 hours ago    \n"
        "alpha:latest    0123456789ab    98 MB    3 hours ago    \n"
    )


def test_a_prefix_in_any_case_chooses_models(orch: Orch, server: NativeServer) -> None:
    server.says("GET /api/tags", {"models": [model("beta:latest"), model("alpha:latest")]})
    assert [line.split()[0] for line in orch("ls", "AL", "ignored").out.splitlines()] == [
        "NAME",
        "alpha:latest",
    ]


def test_a_remote_model_has_no_size(orch: Orch, server: NativeServer) -> None:
    server.says("GET /api/tags", {"models": [model("m", remote_model="far")]})
    assert orch("list").out.splitlines()[1].split()[2] == "-"


@pytest.mark.parametrize(
    ("more", "processor"),
    [
        ({"size_vram": 0}, "100% CPU"),
        ({"size_vram": 100}, "100% GPU"),
        ({"size_vram": 52}, "48%/52% CPU/GPU"),
        ({"size": 8, "size_vram": 7}, "13%/87% CPU/GPU"),
        ({"size": 1000, "size_vram": 999}, "0%/100% CPU/GPU"),
        ({"size_vram": 101}, "Unknown"),
        ({"size": 0, "size_vram": 0}, "100% CPU"),
        ({"size": 0, "size_vram": 1}, "Unknown"),
    ],
)
def test_the_processor_tells_where_the_bytes_are(
    orch: Orch, server: NativeServer, more: dict[str, int], processor: str
) -> None:
    server.says("GET /api/ps", {"models": [running(**more)]})
    assert f"    {processor}    " in orch("ps").out


@pytest.mark.parametrize(
    ("left", "until"),
    [
        ({"seconds": 290}, "4 minutes from now"),
        ({"seconds": -2}, "Stopping..."),
        ({"days": 365 * 292}, "Forever"),
    ],
)
def test_until_tells_when_a_model_leaves(
    orch: Orch, server: NativeServer, left: dict[str, int], until: str
) -> None:
    server.says("GET /api/ps", {"models": [running(expires_at=in_time(**left))]})
    assert orch("ps").out.splitlines()[1].rstrip().endswith(f"4096       {until}")


def test_the_prefix_of_running_models_minds_the_case(orch: Orch, server: NativeServer) -> None:
    server.says("GET /api/ps", {"models": [running()]})
    assert len(orch("ps", "M").out.splitlines()) == 1
    assert len(orch("ps", "m").out.splitlines()) == 2


@pytest.mark.parametrize("entry", [{}, {"modified_at": "yesterday", "expires_at": "soon"}])
def test_a_server_of_another_kind_may_tell_less(
    orch: Orch, server: NativeServer, entry: dict[str, Any]
) -> None:
    for route in ("GET /api/tags", "GET /api/ps"):
        server.says(route, {"models": [{"name": "m", **entry}]})
    assert orch("list").out.splitlines()[1].split() == ["m", "0", "B", "Never"]
    assert orch("ps").out.splitlines()[1].split() == ["m", "0", "B", "100%", "CPU", "0", "Never"]
