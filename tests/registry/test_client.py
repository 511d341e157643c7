"""Ways to a registry: credentials that go to nobody else, proxies, certificates, mirrors, Hugging Face."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.domain.names import ModelName
from orchestrator.registry.client import RegistryClient, retry_after
from orchestrator.registry.errors import (
    AccessDenied,
    BadAnswer,
    FileMissing,
    InsecureName,
    RegistryError,
    RegistryRefused,
    TlsFailed,
    Unreachable,
)
from orchestrator.registry.key import Identity
from orchestrator.registry.proxies import Proxies
from orchestrator.registry.registries import Registries
from orchestrator.registry.settings import RegistrySettings
from tests.registry.certificates import Authority
from tests.registry.forward_proxy import ForwardProxy
from tests.registry.hostile import Registry, Reply, answers, cuts, redirects

CONTENT = b"content"
BASIC = "Basic " + base64.b64encode(b"ann:s3:cret").decode()


@asynccontextmanager
async def client(
    settings: RegistrySettings, name: str, *, insecure: bool = True
) -> AsyncIterator[RegistryClient]:
    async with Registries(settings).client(ModelName.parse(name), insecure=insecure) as made:
        yield made


async def manifest(settings: RegistrySettings, name: str, *, insecure: bool = True) -> bytes:
    async with (
        client(settings, name, insecure=insecure) as made,
        made.request("GET", f"{made.repository}/manifests/latest") as response,
    ):
        return await made.read(response)


async def test_a_name_with_http_needs_leave(settings: RegistrySettings, hostile: Registry) -> None:
    name = hostile.add("ns/m", CONTENT)
    with pytest.raises(InsecureName, match=r"^insecure protocol http$"):
        await manifest(settings, f"http://{name}", insecure=False)
    assert await manifest(settings, f"http://{name}")


async def test_registries_know_us_for_ollama(settings: RegistrySettings, hostile: Registry) -> None:
    await manifest(settings, hostile.add("ns/m", CONTENT))
    assert hostile.requests[0].headers["user-agent"].startswith("ollama/")


async def test_a_token_is_fetched_once_and_signed_for(settings: RegistrySettings, hostile: Registry) -> None:
    name = hostile.add("ns/m", CONTENT)
    hostile.token = "abc"
    async with client(settings, name) as made:
        for _ in range(3):
            async with made.request("GET", f"{made.repository}/manifests/latest"):
                pass
    (asked,) = hostile.asked("token")
    public, _, signature = asked.headers["authorization"].partition(":")
    assert public == await asyncio.to_thread(Identity(settings.key_folder).public_key)
    assert len(base64.b64decode(signature)) == 64
    assert asked.query["service"] == ["registry"]
    assert asked.query["scope"] == ["repository:ns/m:pull"]
    assert list(asked.query) == sorted(asked.query)


async def test_a_registry_of_others_may_give_a_token_to_strangers(
    settings: RegistrySettings, hostile: Registry
) -> None:
    name = hostile.add("ns/m", CONTENT)
    hostile.token = "abc"
    hostile.fail("token", answers(403))
    assert await manifest(settings, name)
    assert "authorization" not in hostile.asked("token")[1].headers


def docker_login(folder: Path, host: str) -> Path:
    file = folder / "config.json"
    file.write_text(json.dumps({"auths": {host: {"auth": BASIC.removeprefix("Basic ")}}}))
    return file


@pytest.mark.parametrize("form", ["{}", "https://{}/v1/", "http://{}"])
async def test_basic_passwords_are_those_of_docker_login(
    settings: RegistrySettings, hostile: Registry, tmp_path: Path, form: str
) -> None:
    name = hostile.add("ns/m", CONTENT)
    hostile.password = BASIC
    with pytest.raises(AccessDenied):
        await manifest(settings, name)
    config = docker_login(tmp_path, form.format(hostile.address))
    assert await manifest(replace(settings, docker_config=config), name)


async def test_a_password_is_shown_to_the_token_endpoint_too(
    settings: RegistrySettings, hostile: Registry, tmp_path: Path
) -> None:
    name = hostile.add("ns/m", CONTENT)
    hostile.token = "abc"
    config = docker_login(tmp_path, hostile.address)
    assert await manifest(replace(settings, docker_config=config), name)
    assert hostile.asked("token")[0].headers["authorization"] == BASIC


async def test_a_mirror_takes_the_place_of_the_default_registry(
    settings: RegistrySettings, hostile: Registry
) -> None:
    hostile.add("library/m", CONTENT)
    hostile.password = BASIC
    mirror = f"http://ann:s3:cret@{hostile.address}"
    assert await manifest(replace(settings, mirror=mirror), "m", insecure=False)
    assert all("ann" not in request.target for request in hostile.requests)


# case B134
async def test_the_token_of_hugging_face_goes_there_and_nowhere_else(
    settings: RegistrySettings, hostile: Registry
) -> None:
    hostile.add("ann/Tiny-GGUF", CONTENT)
    hostile.manifests["ann/Tiny-GGUF/Q4_K_M"] = hostile.manifests["ann/Tiny-GGUF/latest"]
    hostile.token = "hf_secret"
    hf = replace(settings, hf_token="hf_secret", hf_endpoint=f"http://{hostile.address}")
    async with Registry().serving() as elsewhere:
        elsewhere.blobs = hostile.blobs
        digest = next(iter(hostile.blobs))
        hostile.fail_always("blob", redirects(f"http://localhost:{elsewhere.port}/blobs/{digest}", 302))
        async with client(hf, "hf.co/ann/Tiny-GGUF:Q4_K_M", insecure=False) as made:
            async with made.request("GET", f"{made.repository}/manifests/Q4_K_M") as response:
                assert await made.read(response)
            async with made.request("GET", f"{made.repository}/blobs/{digest}") as response:
                assert await made.read(response) == hostile.blobs[digest]
        assert "authorization" not in elsewhere.requests[0].headers
        other = elsewhere.add("ns/m", CONTENT)
        assert await manifest(hf, other)
        assert not [request for request in elsewhere.requests if "authorization" in request.headers]
    assert not hostile.asked("token")


# case B134
async def test_a_private_model_of_hugging_face_asks_for_the_token(
    settings: RegistrySettings, hostile: Registry
) -> None:
    hostile.add("ann/tiny", CONTENT)
    hostile.fail_always("manifest", answers(401))
    with pytest.raises(AccessDenied) as caught:
        await manifest(replace(settings, hf_endpoint=f"http://{hostile.address}"), "hf.co/ann/tiny")
    assert "HF_TOKEN" in str(caught.value.hint)


# case B134
async def test_a_limit_on_requests_is_told_with_its_time(
    settings: RegistrySettings, hostile: Registry
) -> None:
    name = hostile.add("ns/m", CONTENT)
    hostile.fail_always("manifest", answers(429, b"slow down", Retry_After="3600"))
    with pytest.raises(RegistryRefused) as caught:
        await manifest(settings, name)
    assert caught.value.retry_after_s == 3600
    assert str(caught.value) == "429: slow down (try again in 3600 s)"


async def test_a_redirect_to_another_host_takes_no_credentials_along(
    settings: RegistrySettings, hostile: Registry
) -> None:
    name = hostile.add("ns/m", CONTENT)
    hostile.token = "abc"
    async with Registry().serving() as elsewhere:
        elsewhere.manifests = hostile.manifests
        there = f"http://localhost:{elsewhere.port}/v2/ns/m/manifests/latest"

        hostile.fail_always(
            "manifest", lambda _, reply: reply if reply.status == 401 else Reply(307, {"Location": there})
        )
        assert await manifest(settings, name)
        assert "authorization" not in elsewhere.requests[0].headers


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("127.0.0.1:9/ns/m", "dial tcp 127.0.0.1:9: connect: connection refused"),
        ("nowhere.invalid/ns/m", "dial tcp: lookup nowhere.invalid: no such host"),
    ],
)
async def test_why_there_is_no_way_is_told_as_go_tells_it(
    settings: RegistrySettings, name: str, text: str
) -> None:
    with pytest.raises(Unreachable) as caught:
        await manifest(settings, name, insecure=False)
    assert str(caught.value).startswith('Get "https://')
    assert str(caught.value).endswith(f'/v2/ns/m/manifests/latest": {text}')


async def test_https_to_a_server_without_it_is_told(settings: RegistrySettings, hostile: Registry) -> None:
    name = hostile.add("ns/m", CONTENT)
    with pytest.raises(TlsFailed, match="first record does not look like a TLS handshake") as caught:
        await manifest(settings, name, insecure=False)
    assert "--insecure" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (answers(404), FileMissing),
        (answers(500, b"x"), RegistryRefused),
        (cuts(0), RegistryError),
        (redirects("ftp://x/"), BadAnswer),
    ],
)
async def test_errors_are_translated(
    settings: RegistrySettings, hostile: Registry, fault: object, kind: type[RegistryError]
) -> None:
    name = hostile.add("ns/m", CONTENT)
    hostile.fail_always("manifest", fault)  # type: ignore[arg-type]
    with pytest.raises(kind):
        await manifest(settings, name)


# case B133
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_a_private_authority_is_trusted_when_it_is_named(
    settings: RegistrySettings, tmp_path: Path, host: str
) -> None:
    authority = Authority(tmp_path)
    async with Registry().serving(authority.server("127.0.0.1", "localhost")) as registry:
        registry.host = host
        name = registry.add("ns/m", CONTENT)
        with pytest.raises(Unreachable, match="failed to verify certificate"):
            await manifest(settings, name, insecure=False)
        assert await manifest(replace(settings, ca_file=authority.file), name, insecure=False)


async def test_a_file_without_authorities_is_told(settings: RegistrySettings, tmp_path: Path) -> None:
    with pytest.raises(RegistryError, match="SSL_CERT_FILE"):
        await manifest(replace(settings, ca_file=tmp_path / "none.pem"), "127.0.0.1:9/ns/m", insecure=False)


# case B133
async def test_insecure_means_any_certificate_or_none(settings: RegistrySettings, tmp_path: Path) -> None:
    context = Authority(tmp_path).server("other.example")
    async with Registry().serving(context) as registry:
        name = registry.add("ns/m", CONTENT)
        registry.token = "abc"
        registry.realm = f"https://{registry.address}/token"
        assert await manifest(settings, name)


async def test_a_registry_may_send_from_http_to_its_https(settings: RegistrySettings, tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    async with Registry().serving() as plain, Registry().serving(authority.server("127.0.0.1")) as secure:
        name = plain.add("ns/m", CONTENT)
        secure.add("ns/m", CONTENT)
        secure.token = "abc"
        secure.realm = f"https://{secure.address}/token"
        plain.fail_always(
            "manifest", redirects(lambda request: f"https://{secure.address}{request.path}", 301)
        )
        assert await manifest(settings, name)
        assert not [request for request in plain.requests if "authorization" in request.headers]


# case B133
async def test_plain_http_goes_through_the_proxy(settings: RegistrySettings, hostile: Registry) -> None:
    hostile.add("ns/m", CONTENT)
    async with ForwardProxy().serving() as proxy:
        proxied = replace(settings, proxies=Proxies(http=proxy.url.replace("//", "//ann:pw@")))
        assert await manifest(proxied, f"registry.test:{hostile.port}/ns/m")
        assert proxy.lines == [f"GET http://registry.test:{hostile.port}/v2/ns/m/manifests/latest HTTP/1.1"]
        assert len(proxy.passwords) == 1


# case B133
async def test_https_goes_through_the_proxy(settings: RegistrySettings, tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    async with (
        Registry().serving(authority.server("registry.test")) as registry,
        ForwardProxy().serving() as proxy,
    ):
        registry.add("ns/m", CONTENT)
        proxied = replace(settings, proxies=Proxies(https=proxy.url), ca_file=authority.file)
        assert await manifest(proxied, f"registry.test:{registry.port}/ns/m", insecure=False)
        assert proxy.lines == [f"CONNECT registry.test:{registry.port} HTTP/1.1"]


async def test_a_proxy_that_is_not_there_is_told(settings: RegistrySettings) -> None:
    proxied = replace(settings, proxies=Proxies(https="http://127.0.0.1:1"))
    with pytest.raises(
        Unreachable, match="proxyconnect tcp: dial tcp 127.0.0.1:1: connect: connection refused"
    ):
        await manifest(proxied, "m", insecure=False)


@pytest.mark.parametrize("proxy", ["socks5://127.0.0.1:1", "http://[::1"])
async def test_a_proxy_of_another_kind_is_told(settings: RegistrySettings, proxy: str) -> None:
    with pytest.raises(Unreachable, match="proxy"):
        await manifest(replace(settings, proxies=Proxies(https=proxy)), "m", insecure=False)


@pytest.mark.parametrize(("header", "seconds"), [("5", 5.0), ("", None), ("soon", None), ("-1", None)])
def test_retry_after_in_seconds(header: str, seconds: float | None) -> None:
    assert retry_after({"Retry-After": header}) == seconds


def test_retry_after_as_a_date() -> None:
    assert retry_after({"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}) == 0.0
    assert (retry_after({"Retry-After": "Wed, 21 Oct 2115 07:28:00 GMT"}) or 0) > 1e6
