"""The registry of one model: requests with redirects, challenges and errors taken care of.

Credentials go to the registry itself, and the token of Hugging Face to its hosts; wherever a redirect leads,
they do not follow. Source: ``store`` §6.3, §6.6, §7.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from email.utils import parsedate_to_datetime
from typing import Any

import aiohttp
from yarl import URL

from orchestrator.domain.names import ModelName
from orchestrator.registry.addresses import authority, pointed_to
from orchestrator.registry.auth import Challenge, Credentials, Password
from orchestrator.registry.errors import (
    AccessDenied,
    BadAnswer,
    FileMissing,
    InsecureName,
    RealmMismatch,
    RegistryError,
    RegistryRefused,
    TokenRefused,
    Unreachable,
)
from orchestrator.registry.key import Identity
from orchestrator.registry.settings import HF_HOSTS, RegistrySettings
from orchestrator.registry.transport import ANSWER_TIMEOUT_S, Transport

_SMALL_LIMIT_BYTES = 64 << 10
_ERROR_LIMIT_BYTES = 4096

_TOKEN_TIMEOUT_S = 30.0

_MOST_REDIRECTS = 10
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_SAFE_METHODS = frozenset({"GET", "HEAD"})


@dataclass(frozen=True, slots=True)
class _Request:
    """What is asked for, and what answers will do."""

    method: str
    target: str | URL
    headers: Mapping[str, str]
    data: Any
    accept: Collection[int]
    timeout_s: float | None


class RegistryClient:
    """The registry that one model lives in, for one operation: a token, once had, serves to its end."""

    def __init__(
        self,
        transport: Transport,
        settings: RegistrySettings,
        identity: Identity,
        name: ModelName,
        *,
        insecure: bool = False,
    ) -> None:
        """Raises ``InsecureName`` for a name with ``http://`` in front, unless ``insecure``."""
        if name.scheme != "https" and not insecure:
            raise InsecureName(name.scheme)
        self.name = name
        self._transport = transport
        self._insecure = insecure
        given = settings.base_url(name, insecure=insecure)
        self._base = given.with_user(None)
        self._hf_token = settings.hf_token if name.host.lower() in HF_HOSTS else ""
        self._authorization = f"Bearer {self._hf_token}" if self._hf_token else ""
        self._credentials = Credentials(
            identity,
            host=authority(self._base),
            password=Password.of_url(given),
            docker_config=settings.docker_config,
        )
        self._scheme_settled = not insecure or self._base.scheme != "http"

    @property
    def repository(self) -> str:
        """The path of the model below the registry's root: ``v2/namespace/model``."""
        return f"v2/{self.name.namespace_model}"

    def url(self, target: str | URL) -> URL:
        """The whole address of a path below the registry's root; an address that is whole stays as it is."""
        if isinstance(target, URL):
            return target
        if "://" in target:
            return URL(target, encoded=True)
        return self._base / target if "?" not in target else self._base.join(URL(target, encoded=True))

    def is_own(self, url: URL) -> bool:
        """Whether the registry itself is at this address: only then are credentials sent."""
        return url.origin() == self._base.origin()

    def is_near(self, response: aiohttp.ClientResponse) -> bool | None:
        """See ``Transport.is_near``."""
        return self._transport.is_near(response)

    @asynccontextmanager
    async def request(
        self,
        method: str,
        target: str | URL,
        *,
        headers: Mapping[str, str] | None = None,
        data: Any = None,
        accept: Collection[int] = (200,),
        timeout_s: float | None = ANSWER_TIMEOUT_S,
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """The answer to a request, whose status is one of ``accept``; its ``url`` is where redirects led.

        A challenge is answered once. Redirects of ``GET`` and ``HEAD`` are followed, unless accepted.
        ``data`` is bytes, or a function that gives what to send, since it may be asked for again.
        ``timeout_s`` is until the answer begins. Raises ``RegistryError``.
        """
        async with AsyncExitStack() as stack:
            yield await self._reach(stack, _Request(method, target, headers or {}, data, accept, timeout_s))

    async def read(self, response: aiohttp.ClientResponse, *, limit_bytes: int = _SMALL_LIMIT_BYTES) -> bytes:
        """The body, which must not be longer than the limit. Raises ``BadAnswer``."""
        stated = response.content_length or 0
        body = b"" if stated > limit_bytes else await self.beginning(response, limit_bytes=limit_bytes + 1)
        if max(stated, len(body)) > limit_bytes:
            raise BadAnswer(f"the answer of {response.url.host} is longer than {limit_bytes} bytes")
        return body

    async def beginning(self, response: aiohttp.ClientResponse, *, limit_bytes: int) -> bytes:
        """Up to ``limit_bytes`` of the body."""
        body = bytearray()
        async with asyncio.timeout(ANSWER_TIMEOUT_S):
            while len(body) < limit_bytes:
                piece = await response.content.read(limit_bytes - len(body))
                if not piece:
                    break
                body += piece
        return bytes(body)

    async def _reach(self, stack: AsyncExitStack, request: _Request) -> aiohttp.ClientResponse:
        """Send, and go where the answers lead, until one is accepted; ``stack`` closes it."""
        challenged = False
        redirects = 0
        while True:
            attempt = await stack.enter_async_context(AsyncExitStack())
            response = await self._send(attempt, request)
            if response.status in request.accept:
                return response
            if response.status == 401 and self._knows(response.url):
                if challenged or not self.is_own(response.url):
                    raise AccessDenied
                challenged = True
                challenge = Challenge.parse(response.headers.get("WWW-Authenticate", ""))
                await attempt.aclose()
                await self._answer(challenge)
            elif response.status in _REDIRECTS and request.method in _SAFE_METHODS:
                redirects += 1
                request = replace(request, target=self._next(response, redirects))
                await attempt.aclose()
            else:
                raise await self._refusal(response)

    async def _send(self, stack: AsyncExitStack, request: _Request) -> aiohttp.ClientResponse:
        """One exchange. An insecure registry may turn out to speak TLS, with any certificate."""
        if self._scheme_settled or not self.is_own(self.url(request.target)):
            return await self._exchange(stack, request)
        try:
            response = await self._exchange(stack, request)
            self._scheme_settled = response.status != 400
            if self._scheme_settled:
                return response
            failure = await self._refusal(response)
            if "https" not in str(failure).lower():
                raise failure
        except (Unreachable, BadAnswer) as error:
            if isinstance(error, Unreachable) and not error.connected:
                raise
            failure = error
        plain, self._base = self._base, self._base.with_scheme("https")
        try:
            response = await self._exchange(stack, request)
        except RegistryError:
            self._base = plain
            raise failure from None
        self._scheme_settled = True
        return response

    async def _exchange(self, stack: AsyncExitStack, request: _Request) -> aiohttp.ClientResponse:
        url = self.url(request.target)
        exchange = self._transport.exchange(
            request.method,
            url,
            headers=dict(request.headers) | self._credential(url),
            data=request.data() if callable(request.data) else request.data,
            verify=not (self._insecure and self.is_own(url)),
            timeout_s=request.timeout_s,
        )
        return await stack.enter_async_context(exchange)

    def _credential(self, url: URL) -> dict[str, str]:
        if self.is_own(url):
            return {"Authorization": self._authorization} if self._authorization else {}
        if self._hf_token and self._knows(url):
            return {"Authorization": f"Bearer {self._hf_token}"}
        return {}

    def _knows(self, url: URL) -> bool:
        """Whether this place may ask who we are: the registry, or the other host of Hugging Face."""
        is_hf = self.name.host.lower() in HF_HOSTS and url.host in HF_HOSTS and url.scheme == "https"
        return is_hf or self.is_own(url)

    async def _answer(self, challenge: Challenge) -> None:
        try:
            self._authorization = await self._credentials.answer(challenge, self._base, self._fetch_token)
        except RealmMismatch as error:
            if self.name.host.lower() not in HF_HOSTS:
                raise
            raise AccessDenied from error  # it asks for HF_TOKEN, in a way that nothing can answer

    async def _fetch_token(self, url: URL, headers: Mapping[str, str]) -> tuple[int, bytes]:
        try:
            async with self._transport.exchange(
                "GET", url, headers=headers, verify=not self._insecure, timeout_s=_TOKEN_TIMEOUT_S
            ) as response:
                return response.status, await self.read(response)
        except BadAnswer as error:
            raise TokenRefused(f"token endpoint: {error}") from error

    def _next(self, response: aiohttp.ClientResponse, redirects: int) -> URL:
        """Where a redirect leads. Raises ``BadAnswer``."""
        if redirects > _MOST_REDIRECTS:
            raise BadAnswer(f"maximum redirects exceeded ({_MOST_REDIRECTS}) for directURL")
        url = pointed_to(response, response.headers.get("Location", ""), what="redirect")
        if response.url.scheme == "https" and url.scheme == "http" and not self._insecure:
            raise BadAnswer(f"redirect from https to plain http://{url.authority} refused")
        if (
            self._base.scheme == "http"
            and self.is_own(response.url)
            and _is_same_host_with_tls(url, self._base)
        ):
            self._base = self._base.with_scheme("https").with_port(url.explicit_port)
        return url.with_user(None).with_fragment(None)

    async def _refusal(self, response: aiohttp.ClientResponse) -> RegistryError:
        text = (await self.beginning(response, limit_bytes=_ERROR_LIMIT_BYTES)).decode(errors="replace")
        if response.content_type == "text/html":
            text = response.reason or "an HTML page"
        if response.status == 404:
            return FileMissing(text)
        return RegistryRefused(response.status, text, retry_after_s=retry_after(response.headers))


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait that an answer asks for; ``None`` if it does not, or not in a form we know."""
    value = headers.get("Retry-After", "").strip()
    if re.fullmatch(r"[0-9]{1,9}", value):
        return float(value)
    try:
        return max(parsedate_to_datetime(value).timestamp() - time.time(), 0.0)
    except (ValueError, TypeError, OverflowError):
        return None


def _is_same_host_with_tls(url: URL, plain: URL) -> bool:
    return url.scheme == "https" and url.host == plain.host
