"""One HTTP exchange with a registry, or with where its files are: proxies, certificates, errors in words.

Redirects are not followed here and no credentials are known; ``client`` does that.
"""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from ipaddress import ip_address
from typing import Any

import aiohttp
from yarl import URL

from orchestrator.registry.authorities import trusting
from orchestrator.registry.errors import (
    BadAnswer,
    Garbled,
    Interrupted,
    RegistryError,
    TlsFailed,
    Unreachable,
)
from orchestrator.registry.settings import RegistrySettings, user_agent

CONNECT_TIMEOUT_S = 30.0

ANSWER_TIMEOUT_S = 60.0
"""How long an answer may take to begin."""

_STREAM_BUFFER_BYTES = 32 << 10
"""What is read ahead of each body; twice as much before the connection is told to wait."""


class Transport:
    """Connections to registries and to where their files are, until they are closed."""

    def __init__(self, settings: RegistrySettings) -> None:
        self._settings = settings
        self._trusting: ssl.SSLContext | None = None
        self._session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        """End all connections."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    @asynccontextmanager
    async def exchange(
        self,
        method: str,
        url: URL,
        *,
        headers: Mapping[str, str],
        data: Any = None,
        verify: bool = True,
        timeout_s: float | None = ANSWER_TIMEOUT_S,
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """Send one request; what of the answer is not read is thrown away, with its connection.

        ``timeout_s`` is until the answer begins, the sending of ``data`` included. Raises ``Unreachable`` or
        ``BadAnswer``, also in the place of what goes wrong while the block reads.
        """
        context = await self._context(url, verify=verify)
        try:
            async with asyncio.timeout(timeout_s):
                response = await self._open_session().request(
                    method,
                    url,
                    headers=headers,
                    data=data,
                    allow_redirects=False,
                    proxy=self._proxy(url),
                    ssl=context,
                )
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise _translated(error, method, url) from error
        try:
            yield response
        except (aiohttp.ClientError, OSError) as error:
            raise _broken(error) from error
        finally:
            if response.content.at_eof():
                response.release()
            else:
                response.close()

    def _open_session(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0),
                cookie_jar=aiohttp.DummyCookieJar(),
                headers={"User-Agent": user_agent(), "Accept-Encoding": "identity"},
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT_S),
                read_bufsize=_STREAM_BUFFER_BYTES,
                auto_decompress=False,
            )
        return self._session

    def is_near(self, response: aiohttp.ClientResponse) -> bool | None:
        """Whether an answer comes from this machine or its network; ``None`` if that cannot be told."""
        connection = response.connection
        if connection is None or connection.transport is None:
            return None  # it has been read already
        peer = connection.transport.get_extra_info("peername")
        if not isinstance(peer, tuple) or self._proxy(response.url) is not None:
            return False
        return ip_address(str(peer[0]).partition("%")[0]).is_private

    def _proxy(self, url: URL) -> URL | None:
        try:
            proxy = self._settings.proxies.of(url)
            if proxy is not None and proxy.scheme not in ("http", "https"):
                raise ValueError(proxy.scheme)
            return proxy
        except ValueError as error:
            raise Unreachable(
                "Get", str(url), "proxyconnect: only http and https proxies can be used", temporary=False
            ) from error

    async def _context(self, url: URL, *, verify: bool) -> ssl.SSLContext | bool:
        if url.scheme != "https":
            return True
        if not verify:
            return False
        if self._trusting is None:
            self._trusting = await asyncio.to_thread(
                trusting, self._settings.ca_file, self._settings.ca_directory
            )
        return self._trusting


def _translated(error: Exception, method: str, url: URL) -> RegistryError:
    """Why there was no answer, in the words of Go, which users of Ollama search for."""
    text = str(url.with_user(None))
    match error:
        case TimeoutError():
            return Unreachable(method, text, "timeout awaiting response headers", connected=True)
        case aiohttp.ClientHttpProxyError():
            return Unreachable(
                method, text, f"proxyconnect: the proxy answered {error.status} {error.message}"
            )
        case aiohttp.ClientProxyConnectionError():
            return Unreachable(method, text, f"proxyconnect tcp: {_dial(error)}")
        case aiohttp.ClientConnectorCertificateError() | aiohttp.ClientConnectorSSLError():
            return TlsFailed(method, text, _tls(error))
        case aiohttp.ClientConnectorDNSError():
            return Unreachable(method, text, f"dial tcp: lookup {error.host}: no such host")
        case aiohttp.ClientConnectorError():
            return Unreachable(method, text, _dial(error))
        case aiohttp.ServerDisconnectedError():
            return Unreachable(method, text, "EOF", connected=True)
        case aiohttp.ClientResponseError():
            return Garbled(f'{method.capitalize()} "{text}": malformed HTTP response')
        case aiohttp.InvalidURL() | ValueError():
            return BadAnswer(f'{method.capitalize()} "{text}": malformed address')
        case OSError():
            reason = (error.strerror or str(error) or "connection lost").lower()
            return Unreachable(method, text, f"read: {reason}", connected=True)
        case _:
            return Unreachable(method, text, str(error) or type(error).__name__, connected=True)


def _dial(error: aiohttp.ClientConnectorError) -> str:
    cause = error.os_error
    reason = cause.strerror or str(cause)
    if isinstance(cause, TimeoutError):
        reason = "i/o timeout"
    elif cause.errno and reason.startswith("Connect call failed"):
        reason = os.strerror(cause.errno)
    return f"dial tcp {_authority(error)}: connect: {reason.lower()}"


def _authority(error: aiohttp.ClientConnectorError) -> str:
    host = f"[{error.host}]" if ":" in error.host else error.host
    return f"{host}:{error.port}"


def _tls(error: Exception) -> str:
    cause = error.__cause__ if error.__cause__ is not None else error
    if isinstance(cause, ssl.SSLCertVerificationError):
        return f"failed to verify certificate: {cause.verify_message}"
    if isinstance(cause, ssl.SSLError) and cause.reason in ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE"):
        return "first record does not look like a TLS handshake"
    return str(cause)


def _broken(error: Exception) -> RegistryError:
    """Why a body ended."""
    match error:
        case TimeoutError():
            return Interrupted("timeout while reading the answer")
        case ConnectionResetError():
            return Interrupted("connection reset by peer")
        case aiohttp.ClientPayloadError() | aiohttp.ServerDisconnectedError():
            return Interrupted("unexpected EOF")
        case _:
            return Interrupted(str(error) or type(error).__name__)
