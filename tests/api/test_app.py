"""What stands between a connection and a handler."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from io import BytesIO

import pytest
from aiohttp import web
from yarl import URL

from orchestrator.api.origins import Origins
from orchestrator.api.routing import Route
from orchestrator.api.state import AppState
from orchestrator.errors import QueueFull
from tests.api.conftest import Client, serving
from tests.http_replay.transport import Server

TEXT = "text/plain"


def raw(path: str) -> URL:
    """A path that is sent exactly as it is written."""
    return URL(path, encoded=True)


async def test_head_of_the_root_is_the_probe_clients_use(client: Client) -> None:
    async with client.head("/") as reply:
        assert reply.status == 200
        assert reply.headers["Content-Type"] == "text/plain; charset=utf-8"
        assert await reply.read() == b""


async def test_replies_carry_no_server_header(client: Client) -> None:
    async with client.get("/") as reply:
        assert "Server" not in reply.headers
        assert await reply.text() == "Ollama is running"


@pytest.mark.parametrize("path", ["/nope", "/api", "/api/", "/API/TAGS", "/api/version%00", "/v1/nothing"])
async def test_an_unknown_path_is_not_found(client: Client, path: str) -> None:
    async with client.get(raw(path)) as reply:
        assert (reply.status, reply.headers["Content-Type"]) == (404, TEXT)
        assert await reply.text() == "404 page not found"


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("POST", "/", {"HEAD", "GET"}),
        ("HEAD", "/api/ps", {"GET"}),
        ("GET", "/api/chat", {"POST"}),
        ("DELETE", "/api/blobs/x", {"HEAD", "POST"}),
        ("TRACE", "/api/tags", {"HEAD", "GET"}),
        ("OPTIONS", "/api/tags", {"HEAD", "GET"}),
    ],
)
async def test_a_wrong_method_is_told_the_right_ones(
    client: Client, method: str, path: str, allow: set[str]
) -> None:
    async with client.request(method, path) as reply:
        assert (reply.status, reply.headers["Content-Type"]) == (405, TEXT)
        assert set(reply.headers["Allow"].split(", ")) == allow
        assert await reply.text() == ("" if method == "HEAD" else "405 method not allowed")


@pytest.mark.parametrize(
    ("method", "path", "status", "location"),
    [
        ("GET", "/api/tags/", 301, "/api/tags"),
        ("GET", "/api/tags/?a=b&c=%20", 301, "/api/tags?a=b&c=%20"),
        ("POST", "/api/generate/", 307, "/api/generate"),
        ("HEAD", "/api/tags/", 307, "/api/tags"),
        ("GET", "//api/tags", 307, "/api/tags"),
        ("POST", "/api//chat", 307, "/api/chat"),
        ("GET", "/api/./x/../tags", 307, "/api/tags"),
        ("GET", "/api%2F%2Ftags", 307, "/api/tags"),
    ],
)
async def test_a_path_written_oddly_is_redirected(
    client: Client, method: str, path: str, status: int, location: str
) -> None:
    request = {"method": method, "path": path, "headers": {"Origin": "http://localhost"}}
    answer = await asyncio.to_thread(Server(client.host, client.port or 0).send, request)
    assert (answer.status, answer.headers["location"]) == (status, location)
    assert "access-control-allow-origin" not in answer.headers


async def test_a_slash_too_many_without_such_a_method_is_not_found(client: Client) -> None:
    async with client.put("/api/tags/", allow_redirects=False) as reply:
        assert reply.status == 404


async def test_an_escaped_slash_is_a_slash(client: Client) -> None:
    async with client.get(raw("/api%2Ftags")) as reply:
        assert reply.status == 200


@pytest.mark.parametrize(
    ("target", "status"),
    [
        ("http://localhost:11434/api/version", 200),
        ("HTTP://127.0.0.1/api/version?x=http://a/b", 200),
        ("http://me@localhost/api/version", 200),
        ("http://localhost", 200),
        ("http://localhost?x", 200),
        ("http://evil.example/api/version", 403),
        ("http://localhost/api/nothing", 404),
        ("http://localhost/api//version", 307),
        ("/http://localhost/api/version", 307),
    ],
)
async def test_who_speaks_as_to_a_proxy_is_understood(client: Client, target: str, status: int) -> None:
    host, port = client.server.host, client.server.port
    assert port is not None
    reader, writer = await asyncio.open_connection(host, port)
    writer.write(f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode())
    reply = await reader.read()
    writer.close()
    await writer.wait_closed()
    assert reply.split(b" ")[1] == str(status).encode()
    if status == 307:
        assert b"Location: /api/version" in reply or b"Location: /http:/localhost/api/version" in reply


async def test_a_malformed_escape_is_refused(client: Client) -> None:
    async with client.get(raw("/%zz")) as reply:
        assert reply.status == 400


async def test_a_listed_origin_reads_that_it_may_call(client: Client) -> None:
    async with client.get("/api/version", headers={"Origin": "http://localhost:3000"}) as reply:
        assert reply.status == 200
        assert reply.headers["Access-Control-Allow-Origin"] == "http://localhost:3000"
        assert reply.headers["Vary"] == "Origin"


@pytest.mark.parametrize("path", ["/api/chat", "/nope"])
async def test_a_preflight_is_answered_whatever_the_path(client: Client, path: str) -> None:
    async with client.options(path, headers={"Origin": "http://localhost"}) as reply:
        assert reply.status == 204
        assert "POST" in reply.headers["Access-Control-Allow-Methods"]
        assert "Access-Control-Request-Headers" in reply.headers["Vary"]
        assert "Content-Type" not in reply.headers


@pytest.mark.parametrize("method", ["GET", "OPTIONS"])
async def test_another_origin_is_refused_and_the_log_names_the_setting(
    client: Client, method: str, caplog: pytest.LogCaptureFixture
) -> None:
    headers = {"Origin": "abc"}
    async with client.request(method, "/nope", headers=headers, skip_auto_headers=["Accept"]) as reply:
        assert (reply.status, await reply.read()) == (403, b"")
        assert "Access-Control-Allow-Origin" not in reply.headers
    assert "OLLAMA_ORIGINS" in caplog.text


async def test_who_accepts_text_is_told_which_setting_allows_an_origin(client: Client) -> None:  # case B153
    async with client.get("/nope", headers={"Origin": "abc"}) as reply:
        assert (reply.status, await reply.json()) == (
            403,
            {"error": "origin 'abc' is not allowed; add it to OLLAMA_ORIGINS to allow it"},
        )


async def test_the_daemons_own_pages_need_no_permission(client: Client) -> None:
    origin = f"http://{client.host}:{client.port}"
    async with client.get("/api/version", headers={"Origin": origin}) as reply:
        assert reply.status == 200
        assert "Access-Control-Allow-Origin" not in reply.headers


async def test_when_everyone_may_call_the_star_is_sent(state: AppState) -> None:
    everyone = replace(state, origins=Origins.parse(["*"]))
    async with serving(everyone) as client, client.get("/nope", headers={"Origin": "null"}) as reply:
        assert (reply.status, reply.headers["Access-Control-Allow-Origin"]) == (404, "*")
        assert "Vary" not in reply.headers


@pytest.mark.parametrize("path", ["/api/version", "/nope"])
async def test_a_foreign_host_is_refused(client: Client, path: str) -> None:
    headers = {"Host": "evil.example"}
    async with client.get(path, headers=headers, skip_auto_headers=["Accept"]) as reply:
        assert (reply.status, await reply.read()) == (403, b"")
    async with client.get(path, headers=headers) as reply:
        assert reply.status == 403
        assert "OLLAMA_HOST" in (await reply.json())["error"]


async def test_a_refused_host_with_a_good_origin_keeps_its_headers(client: Client) -> None:
    headers = {"Host": "evil.example", "Origin": "http://localhost"}
    async with client.get("/api/version", headers=headers) as reply:
        assert reply.status == 403
        assert reply.headers["Access-Control-Allow-Origin"] == "http://localhost"


async def test_hosts_do_not_matter_beyond_loopback(state: AppState) -> None:
    anywhere, headers = replace(state, check_hosts=False), {"Host": "evil.example"}
    async with serving(anywhere) as client, client.get("/api/version", headers=headers) as reply:
        assert reply.status == 200


async def test_options_to_a_local_name_are_answered_at_once(client: Client) -> None:
    async with client.options("/api/version", headers={"Host": "localhost"}) as reply:
        assert reply.status == 204
        assert "Access-Control-Allow-Origin" not in reply.headers


async def test_an_error_we_know_is_a_reply(state: AppState) -> None:
    async def full(_: web.Request) -> web.Response:
        raise QueueFull

    async with serving(state, Route("GET", "/full", full)) as client, client.get("/full") as reply:
        assert reply.status == 503
        assert await reply.json() == {
            "error": "server busy, please try again.  maximum pending requests exceeded"
        }


async def test_a_fault_of_ours_is_a_500_without_a_body_and_a_trace_in_the_log(
    state: AppState, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(_: web.Request) -> web.Response:
        raise ZeroDivisionError

    async with serving(state, Route("GET", "/broken", broken)) as client, client.get("/broken") as reply:
        assert (reply.status, await reply.read()) == (500, b"")
    assert "ZeroDivisionError" in caplog.text


async def test_a_body_beyond_the_limit_is_refused_in_words(client: Client) -> None:
    body = BytesIO(b'{"model":"' + b"x" * (1 << 20) + b'"}')
    async with client.post("/api/show", data=body) as reply:
        assert reply.status == 413
        assert "ORCH_MAX_BODY" in (await reply.json())["error"]


async def test_without_a_limit_any_body_is_read(state: AppState) -> None:
    unlimited, body = replace(state, max_body_bytes=0), BytesIO(b'{"model":"' + b"x" * (3 << 20) + b'"}')
    async with serving(unlimited) as client, client.post("/api/show", data=body) as reply:
        assert (reply.status, (await reply.json())["error"]) == (400, "invalid model name")


async def test_each_request_is_logged_and_counted(
    client: Client, state: AppState, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, logger="orchestrator.api"):
        async with client.get("/api/tags"), client.get("/nope"), client.get("/api/version"):
            pass
    lines = [vars(record) for record in caplog.records if record.getMessage() == "request"]
    seen = {(line["method"], line["path"], line["status"], line["client"]) for line in lines}
    assert seen == {("GET", "/api/tags", 200, "127.0.0.1"), ("GET", "/nope", 404, "127.0.0.1")}
    exposition = state.metrics.exposition().decode()
    assert 'route="/api/tags"' in exposition
    assert 'route="other"' in exposition
    assert "/nope" not in exposition
