"""Clients that send too much, too slowly, or leave."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

from orchestrator.api.app import make_server
from orchestrator.api.bodies import pieces, read_body
from orchestrator.api.routing import Route
from orchestrator.api.state import AppState
from tests.api.conftest import serving

HEAD = b"POST /slow HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n"

Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@asynccontextmanager
async def connected(state: AppState, *routes: Route, **options: Any) -> AsyncIterator[Connection]:
    """A bare connection to a server made as the daemon makes it."""
    runner = web.ServerRunner(make_server(state, routes, **options))
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        reader, writer = await asyncio.open_connection(*runner.addresses[0][:2])
        try:
            yield reader, writer
        finally:
            writer.close()
            await writer.wait_closed()
    finally:
        await runner.cleanup()


async def test_a_body_that_does_not_arrive_is_given_up(state: AppState) -> None:
    async def slow(request: web.Request) -> web.Response:
        return web.Response(body=await read_body(request, patience_s=0.01))

    async with connected(state, Route("POST", "/slow", slow), lingering_time=0) as (reader, writer):
        writer.write(HEAD + b"half")
        assert (await reader.readline()).startswith(b"HTTP/1.1 408 ")
        assert b"did not arrive" in await reader.read()


async def test_an_upload_is_given_up_when_no_piece_comes(state: AppState) -> None:
    arrived = bytearray()

    async def slow(request: web.Request) -> web.Response:
        nonlocal arrived
        async for piece in pieces(request, patience_s=0.05):
            arrived += piece
        return web.Response()

    async with connected(state, Route("POST", "/slow", slow), lingering_time=0) as (reader, writer):
        writer.write(HEAD + b"half")
        assert (await reader.readline()).startswith(b"HTTP/1.1 408 ")
    assert arrived == b"half"


async def test_pieces_are_the_whole_body(state: AppState) -> None:
    async def echo(request: web.Request) -> web.Response:
        return web.Response(body=b"".join([piece async for piece in pieces(request)]))

    async with serving(state, Route("POST", "/echo", echo)) as client:
        async with client.post("/echo", data=b"x" * 300_000) as reply:
            assert await reply.read() == b"x" * 300_000
        async with client.post("/echo") as reply:
            assert await reply.read() == b""


async def test_a_connection_without_a_request_is_closed(state: AppState) -> None:
    async with connected(state, keepalive_timeout=0.05) as (reader, writer):
        writer.write(b"GET / HTTP/1.1\r\nHost: loc")  # the rest of the headers never comes
        assert await reader.read() == b""


async def test_a_client_that_leaves_ends_its_handler(
    state: AppState, caplog: pytest.LogCaptureFixture
) -> None:
    entered, cancelled = asyncio.Event(), asyncio.Event()

    async def endless(_: web.Request) -> web.Response:
        entered.set()
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            cancelled.set()
            raise
        return web.Response()

    with caplog.at_level(logging.INFO, logger="orchestrator.api"):
        async with connected(state, Route("GET", "/endless", endless)) as (_, writer):
            writer.write(b"GET /endless HTTP/1.1\r\nHost: localhost\r\n\r\n")
            await entered.wait()
            writer.close()
            await cancelled.wait()
    statuses = [vars(record)["status"] for record in caplog.records if record.getMessage() == "request"]
    assert statuses == [499]


@pytest.mark.parametrize("length", [8_000, 100_000])
async def test_a_long_header_is_read(state: AppState, length: int) -> None:
    async with connected(state) as (reader, writer):
        writer.write(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nCookie: " + b"x" * length + b"\r\n\r\n")
        assert (await reader.readline()).startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize(
    "request_line",
    [b"GET * HTTP/1.1", b"BREW /api/tags HTTP/1.1", b"GET / HTTP/9.9", b"\x16\x03\x01\x02", b"hello"],
)
async def test_what_is_no_http_is_one_line_of_the_log(
    state: AppState, request_line: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        async with connected(state) as (reader, writer):
            writer.write(request_line + b"\r\nHost: localhost\r\nContent-Length: x\r\n\r\n")
            assert b" 400 " in await reader.readline()
    lines = [record for record in caplog.records if "no HTTP" in record.getMessage()]
    assert all(record.levelno <= logging.INFO and record.exc_info is None for record in lines)
    assert not [record for record in caplog.records if record.levelno > logging.INFO]


async def test_a_client_that_waits_before_it_sends_its_body_is_told_to_go_on(state: AppState) -> None:
    async def echo(request: web.Request) -> web.Response:
        return web.Response(body=await read_body(request))

    head = HEAD.replace(b"/slow", b"/echo").replace(b"10", b"5\r\nExpect: 100-Continue")
    async with connected(state, Route("POST", "/echo", echo)) as (reader, writer):
        writer.write(head)
        assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        writer.write(b"hello")
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200 OK\r\n")
        assert await reader.readexactly(5) == b"hello"


async def test_who_waits_is_refused_before_anything_was_sent(state: AppState) -> None:
    head = HEAD.replace(b"10", b"5\r\nExpect: 100-continue")
    async with connected(state) as (reader, writer):
        writer.write(head)
        assert (await reader.readline()).startswith(b"HTTP/1.1 404 ")


async def test_an_expectation_that_nobody_meets_is_refused(state: AppState) -> None:
    async def never(_: web.Request) -> web.Response:
        raise AssertionError("refused requests reach no handler")

    head = HEAD.replace(b"10", b"0\r\nExpect: miracles")
    async with connected(state, Route("POST", "/slow", never)) as (reader, writer):
        writer.write(head)
        assert (await reader.readline()).startswith(b"HTTP/1.1 417 ")
        assert b"unknown expectation: miracles" in await reader.readuntil(b"miracles")


async def test_replies_to_what_is_no_http_carry_no_server_header(state: AppState) -> None:
    async with connected(state) as (reader, writer):
        writer.write(b"nonsense\r\n\r\n")
        reply = await reader.read()
    assert reply.startswith((b"HTTP/1.1 400 ", b"HTTP/1.0 400 "))
    assert b"\r\nServer:" not in reply
