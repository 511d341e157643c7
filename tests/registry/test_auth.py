"""Challenges, the address of a token, passwords of ``docker login``."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest
from yarl import URL

from orchestrator.registry.auth import Challenge, Credentials, Password, docker_password
from orchestrator.registry.errors import AccessDenied, BadAnswer, RealmMismatch, RegistryError, TokenRefused
from orchestrator.registry.key import Identity

REGISTRY = URL("https://r.example:5000")


@pytest.mark.parametrize(
    ("header", "challenge"),
    [
        ("", Challenge()),
        (
            'Bearer realm="https://x/token",service="reg",scope="repository:a/b:pull,push"',
            Challenge("bearer", "https://x/token", "reg", "repository:a/b:pull,push"),
        ),
        ('bearer realm="https://x/t" , service="a"b"', Challenge("bearer", "https://x/t", 'a"b')),
        ('Basic realm="Registry Realm"', Challenge("basic", "Registry Realm")),
        ("Bearer", Challenge("bearer")),
        ("Bearer realm=unquoted", Challenge("bearer")),
    ],
)
def test_challenges_are_read(header: str, challenge: Challenge) -> None:
    assert Challenge.parse(header) == challenge


def test_the_address_of_a_token_is_sorted_and_escaped() -> None:
    challenge = Challenge("bearer", "https://x/t?z=1&a=2", "my reg", "repository:a/b:pull repository:c:push")
    assert challenge.token_url(now_s=7, nonce="N_-") == (
        "https://x/t?a=2&nonce=N_-&scope=repository%3Aa%2Fb%3Apull&scope=repository%3Ac%3Apush"
        "&service=my+reg&ts=7&z=1"
    )


@pytest.mark.parametrize(
    ("realm", "kind"),
    [
        ("", RealmMismatch),
        ("https://other.example/t", RealmMismatch),
        ("https://r.example/t", RealmMismatch),
        ("https://r.example:5000@evil.example/t", RealmMismatch),
        ("http://r.example:5000/t", TokenRefused),
        ("https://[/", BadAnswer),
    ],
)
async def test_nothing_is_signed_for_another_realm(
    tmp_path: Path, realm: str, kind: type[RegistryError]
) -> None:
    credentials = Credentials(Identity(tmp_path), host="r.example:5000", password=None, docker_config=None)
    with pytest.raises(kind):
        await credentials.answer(Challenge("bearer", realm), REGISTRY, _never)
    assert not (tmp_path / "id_ed25519").exists()


async def test_basic_without_a_password_is_denied(tmp_path: Path) -> None:
    credentials = Credentials(Identity(tmp_path), host="r.example:5000", password=None, docker_config=None)
    with pytest.raises(AccessDenied):
        await credentials.answer(Challenge("basic", "x"), REGISTRY, _never)


async def _never(url: URL, headers: object) -> tuple[int, bytes]:
    raise AssertionError(url)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b'{"auths":5}',
        b'{"auths":{"r":{}}}',
        b'{"auths":{"r":{"auth":"***"}}}',
        b'{"auths":{"r":{"auth":"YQ=="}}}',
        b'{"auths":{"r":{"auth":5}}}',
    ],
)
def test_files_of_docker_that_help_nothing_are_passed_over(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "config.json"
    file.write_bytes(content)
    assert docker_password(file, "r") is None
    assert docker_password(tmp_path / "none", "r") is None


def test_a_password_may_have_colons(tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    entry = {"auth": base64.b64encode(b"u:p:q").decode()}
    file.write_text(json.dumps({"auths": {"https://R.example:5000/v2/": entry}}))
    assert docker_password(file, "r.example:5000") == Password("u", "p:q")
    assert docker_password(file, "r.example") is None
