"""Proving to a registry who we are: reading its challenge, and getting the token it asks for.

Source: ``store`` §7.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import re
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl, urlencode

from yarl import URL

from orchestrator.domain.json_value import parse_json
from orchestrator.registry.addresses import authority
from orchestrator.registry.errors import AccessDenied, BadAnswer, RealmMismatch, TokenRefused
from orchestrator.registry.key import Identity, UnusableKey

_EMPTY_BODY = "ZTNiMGM0NDI5OGZjMWMxNDlhZmJmNGM4OTk2ZmI5MjQyN2FlNDFlNDY0OWI5MzRjYTQ5NTk5MWI3ODUyYjg1NQ=="
"""Base64 of the hex SHA-256 of no bytes: part of what is signed."""

_FIELD = re.compile(r'([A-Za-z_]+)="(.*?)"(?=\s*(?:,|$))', re.DOTALL)
_TOKEN = re.compile(r"[\x21-\x7e]+")
_REFUSALS = frozenset({400, 401, 403})

Fetch = Callable[[URL, Mapping[str, str]], Awaitable[tuple[int, bytes]]]
"""Gets a small document: status and body, whatever the status."""


@dataclass(frozen=True, slots=True)
class Challenge:
    """What ``WWW-Authenticate`` asks for; empty when there was none."""

    scheme: str = ""
    realm: str = ""
    service: str = ""
    scope: str = ""

    @classmethod
    def parse(cls, header: str) -> Challenge:
        """Read a header. A value ends at a quotation mark that a comma or the end follows."""
        scheme, _, rest = header.strip().partition(" ")
        fields = {name.lower(): value for name, value in _FIELD.findall(rest)}
        return cls(
            scheme.lower(), fields.get("realm", ""), fields.get("service", ""), fields.get("scope", "")
        )

    def token_url(self, *, now_s: int, nonce: str) -> str:
        """The address of the token, exactly as it is sent and signed."""
        endpoint, _, own = self.realm.partition("?")
        query = parse_qsl(own, keep_blank_values=True) + [("scope", item) for item in self.scope.split()]
        query += [("nonce", nonce), ("service", self.service), ("ts", str(now_s))]
        return f"{endpoint}?{urlencode(sorted(query, key=lambda field: field[0]))}"


@dataclass(frozen=True, slots=True)
class Password:
    """A user and a password, for registries with accounts of their own."""

    user: str
    password: str

    @classmethod
    def of_url(cls, url: URL) -> Password | None:
        return cls(url.user, url.password or "") if url.user else None

    @property
    def authorization(self) -> str:
        return "Basic " + base64.b64encode(f"{self.user}:{self.password}".encode()).decode()


class Credentials:
    """What we can show to one registry."""

    def __init__(
        self, identity: Identity, *, host: str, password: Password | None, docker_config: Path | None
    ) -> None:
        """``host`` is with its port, as users write it; ``password`` goes before that of ``docker login``."""
        self._identity = identity
        self._host = host
        self._password = password
        self._docker_config = docker_config

    async def answer(self, challenge: Challenge, registry: URL, fetch: Fetch) -> str:
        """The value of ``Authorization`` that satisfies the challenge.

        Raises ``AccessDenied``, ``TokenRefused`` and what ``fetch`` raises.
        """
        password = self._password
        if password is None and self._docker_config is not None:
            password = await asyncio.to_thread(docker_password, self._docker_config, self._host)
        if challenge.scheme == "basic":
            if password is None:
                raise AccessDenied
            return password.authorization
        _check_realm(challenge.realm, registry)
        return f"Bearer {await self._token(challenge, password, fetch)}"

    async def _token(self, challenge: Challenge, password: Password | None, fetch: Fetch) -> str:
        url = challenge.token_url(now_s=int(time.time()), nonce=secrets.token_urlsafe(16))
        if password is not None:
            status, body = await fetch(URL(url, encoded=True), {"Authorization": password.authorization})
            return _token_in(status, body)
        try:
            signature = await asyncio.to_thread(self._identity.authorization, f"GET,{url},{_EMPTY_BODY}")
        except UnusableKey as error:
            raise TokenRefused(str(error)) from error
        status, body = await fetch(URL(url, encoded=True), {"Authorization": signature})
        if status in _REFUSALS:
            # registries of others do not know our kind of signature, but may give strangers a token
            strangers_status, strangers_body = await fetch(URL(url, encoded=True), {})
            if strangers_status == 200:
                status, body = strangers_status, strangers_body
        return _token_in(status, body)


def _check_realm(realm: str, registry: URL) -> None:
    """Nothing that could be used as a credential goes to another host. Raises ``TokenRefused``."""
    try:
        url = URL(realm)
        host = authority(url)
    except ValueError as error:
        raise BadAnswer(f"malformed realm {realm[:100]!r} in a challenge") from error
    if host != authority(registry):
        raise RealmMismatch(host, authority(registry))
    if registry.scheme == "https" and url.scheme != "https":
        raise TokenRefused(f"realm {realm!r} is not encrypted, but the registry is")


def _token_in(status: int, body: bytes) -> str:
    if status >= 400:
        text = body.decode(errors="replace").strip()
        if status == 401 and not text:
            raise AccessDenied
        raise TokenRefused(f"{status}: {text}" if text else str(status))
    try:
        answer = parse_json(body)
    except ValueError:
        answer = None
    token = (answer.get("token") or answer.get("access_token")) if isinstance(answer, dict) else None
    if status != 200 or not isinstance(token, str) or not _TOKEN.fullmatch(token):
        raise TokenRefused("the token endpoint answered with something that is no token")
    return token


def docker_password(config: Path, host: str) -> Password | None:
    """The password that ``docker login`` has kept for a host; ``None`` if it has not, or not in the file."""
    try:
        entries = parse_json(config.read_bytes())["auths"]
        entry = next(entries[key] for key in entries if _docker_host(key) == host.lower())
        user, colon, password = base64.b64decode(entry["auth"], validate=True).decode().partition(":")
    except (OSError, ValueError, KeyError, TypeError, StopIteration, binascii.Error):
        return None
    return Password(user, password) if colon else None


def _docker_host(key: str) -> str:
    """The host of an entry, which is named by a host or by a URL."""
    address = key.lower().partition("://")[2] if "://" in key else key.lower()
    return address.partition("/")[0]
