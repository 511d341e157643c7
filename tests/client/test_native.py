"""The client of the native API, against a small server that answers what it is told."""

from __future__ import annotations

import base64
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_ssh_public_key

from orchestrator.client.errors import ApiError, ServerUnreachable, SignInNeeded, UnreadableReply
from orchestrator.client.native import NativeClient
from orchestrator.registry.key import Identity, ensure_key
from tests.native_server import NativeServer, native_server


@pytest.fixture
def server() -> Iterator[NativeServer]:
    with native_server() as server:
        yield server


@pytest.fixture
def native(server: NativeServer) -> Iterator[NativeClient]:
    with NativeClient(server.url) as native:
        yield native


def test_a_heartbeat_is_a_head_request(native: NativeClient, server: NativeServer) -> None:
    native.heartbeat()
    (asked,) = server.requests
    assert (asked.method, asked.path, asked.body) == ("HEAD", "/", b"")
    assert asked.headers["User-Agent"].startswith("orch/")


def test_models_come_in_the_servers_order(native: NativeClient, server: NativeServer) -> None:
    server.says("GET /api/tags", {"models": [{"name": "b"}, {"name": "a"}]})
    assert [model["name"] for model in native.models()] == ["b", "a"]


def test_no_models_is_an_empty_list(native: NativeClient, server: NativeServer) -> None:
    server.says("GET /api/ps", {"models": None})
    assert native.running() == []


def test_show_names_the_model(native: NativeClient, server: NativeServer) -> None:
    server.says("POST /api/show", {"template": "x"})
    assert native.show("m", verbose=True) == {"template": "x"}
    assert server.asked("POST /api/show") == [{"model": "m", "verbose": True}]


def test_copy_names_both(native: NativeClient, server: NativeServer) -> None:
    server.says("POST /api/copy")
    native.copy("a", "b")
    assert server.asked("POST /api/copy") == [{"source": "a", "destination": "b"}]


def test_delete_names_the_model(native: NativeClient, server: NativeServer) -> None:
    server.says("DELETE /api/delete")
    native.delete("m")
    assert server.asked("DELETE /api/delete") == [{"model": "m"}]


def test_signing_out_bears_a_null(native: NativeClient, server: NativeServer) -> None:
    server.says("POST /api/signout", None)
    native.sign_out()
    assert server.asked("POST /api/signout") == [None]


def test_a_stream_gives_its_records(native: NativeClient, server: NativeServer) -> None:
    server.says("POST /api/generate", {"response": "a"}, b"", {"response": "b", "done": True})
    assert [chunk["response"] for chunk in native.generate({"model": "m"})] == ["a", "b"]
    assert server.requests[-1].headers["Accept"] == "application/x-ndjson"


def test_loading_says_only_what_was_asked_for(native: NativeClient, server: NativeServer) -> None:
    server.says("POST /api/generate", {"done": True})
    native.load("m", keep_alive="0s")
    assert server.asked("POST /api/generate") == [{"model": "m", "keep_alive": "0s"}]


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ({"error": "model 'm' not found"}, "model 'm' not found"),
        (b"bad gateway", "bad gateway"),
        (b"", "something went wrong, please see the orch server logs for details"),
        ({"other": 1}, "something went wrong, please see the orch server logs for details"),
    ],
)
def test_an_error_is_the_servers_text(
    native: NativeClient, server: NativeServer, body: object, text: str
) -> None:
    server.says("POST /api/show", body, status=404)
    with pytest.raises(ApiError) as caught:
        native.show("m")
    assert (str(caught.value), caught.value.status) == (text, 404)


def test_a_stream_that_does_not_begin_tells_the_status(native: NativeClient, server: NativeServer) -> None:
    server.says("POST /api/chat", {"error": "model 'm' not found"}, status=404)
    with pytest.raises(ApiError, match="^404 Not Found: model 'm' not found$"):
        next(native.chat({"model": "m"}))


def test_an_error_inside_a_stream_is_its_bare_text(native: NativeClient, server: NativeServer) -> None:
    server.says("POST /api/pull", {"status": "pulling manifest"}, {"error": "file does not exist"})
    events = native.pull("m", insecure=False)
    assert next(events)["status"] == "pulling manifest"
    with pytest.raises(ApiError, match="^file does not exist$"):
        next(events)


def test_a_missing_account_comes_with_the_place_to_sign_in(
    native: NativeClient, server: NativeServer
) -> None:
    server.says("POST /api/me", {"error": "unauthorized", "signin_url": "https://example.org/in"}, status=401)
    with pytest.raises(SignInNeeded) as caught:
        native.me()
    assert caught.value.url == "https://example.org/in"


@pytest.mark.parametrize(("status", "is_there"), [(200, True), (404, False)])
def test_a_blob_is_there_or_not(
    native: NativeClient, server: NativeServer, status: int, is_there: bool
) -> None:
    server.says("HEAD /api/blobs/sha256:00", status=status)
    assert native.has_blob("sha256:00") is is_there


def test_other_answers_about_a_blob_are_errors(native: NativeClient, server: NativeServer) -> None:
    server.says("HEAD /api/blobs/sha256:00", status=500)
    with pytest.raises(ApiError):
        native.has_blob("sha256:00")


def test_a_blob_is_sent_piece_by_piece(native: NativeClient, server: NativeServer) -> None:
    server.says("POST /api/blobs/sha256:00", status=201)
    native.upload_blob("sha256:00", iter([b"one", b"two"]))
    assert server.requests[-1].body == b"onetwo"


def test_a_blob_refused_is_an_error(native: NativeClient, server: NativeServer) -> None:
    server.says("POST /api/blobs/sha256:00", {"error": "digest mismatch"}, status=400)
    with pytest.raises(ApiError, match="^digest mismatch$"):
        native.upload_blob("sha256:00", iter([b"one"]))


def test_a_refused_connection_is_told_from_others() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    with NativeClient(f"http://127.0.0.1:{port}") as native, pytest.raises(ServerUnreachable) as caught:
        native.heartbeat()
    assert caught.value.refused
    assert str(caught.value).startswith(f'Head "http://127.0.0.1:{port}/": ')


def test_a_server_without_tls_is_not_a_refusal(server: NativeServer) -> None:
    url = server.url.replace("http:", "https:")
    with NativeClient(url) as native, pytest.raises(ServerUnreachable) as caught:
        native.heartbeat()
    assert not caught.value.refused


def test_a_path_of_the_base_url_is_kept(server: NativeServer) -> None:
    server.says("GET /below/api/version", {"version": "1"})
    with NativeClient(f"{server.url}/below") as native:
        assert native.version() == "1"


def test_pruning_can_be_tried(native: NativeClient, server: NativeServer) -> None:
    server.says("POST /api/prune", {"size": 0, "files": []})
    assert native.prune(dry_run=True) == {"size": 0, "files": []}
    assert server.asked("POST /api/prune") == [{"dry_run": True}]


def test_a_verification_is_a_stream(native: NativeClient, server: NativeServer) -> None:
    server.says("POST /api/verify", {"status": "verifying"}, {"status": "success", "damages": []})
    records = list(native.verify("m", repair=True, insecure=False))
    assert [record["status"] for record in records] == ["verifying", "success"]
    assert server.asked("POST /api/verify") == [{"model": "m", "repair": True, "insecure": False}]


def test_an_export_has_a_size_and_a_content(native: NativeClient, server: NativeServer) -> None:
    server.says("POST /api/export", b"tar")
    with native.export("m") as (size, content):
        assert (size, b"".join(content)) == (4, b"tar\n")


def test_a_failed_export_says_why(native: NativeClient, server: NativeServer) -> None:
    server.says("POST /api/export", {"error": "model 'm:latest' not found"}, status=404)
    with pytest.raises(ApiError, match="model 'm:latest' not found"), native.export("m"):
        pass


def test_an_import_sends_what_it_is_given(native: NativeClient, server: NativeServer) -> None:
    server.says("POST /api/import", {"status": "success", "models": ["m:latest"]})
    assert list(native.import_archive([b"a", b"b"])) == [{"status": "success", "models": ["m:latest"]}]
    assert server.requests[-1].body == b"ab"


@pytest.mark.parametrize("body", [b"<html>hi</html>", b'"x"', b"[]", b"5", b'{"a":'])
def test_an_answer_of_something_else_is_an_error(
    native: NativeClient, server: NativeServer, body: bytes
) -> None:
    for question in ("GET /api/tags", "POST /api/show", "POST /api/pull", "GET /api/version"):
        server.says(question, body)
    for ask in (
        native.models,
        lambda: native.show("m"),
        lambda: list(native.pull("m", insecure=False)),
        native.version,
    ):
        with pytest.raises(UnreadableReply, match="^unexpected answer: ") as caught:
            ask()
        assert str(caught.value).endswith(body.decode())


@pytest.mark.parametrize("models", [5, {"a": 1}, [1], "x"])
def test_models_that_are_none_are_an_error(
    native: NativeClient, server: NativeServer, models: object
) -> None:
    server.says("GET /api/ps", {"models": models})
    with pytest.raises(UnreadableReply):
        native.running()


@pytest.mark.parametrize("below", ["", "/owl", "/owl/"])
def test_a_signed_request_proves_method_path_and_time(
    server: NativeServer, tmp_path: Path, below: str
) -> None:
    ensure_key(tmp_path)
    public = load_ssh_public_key((tmp_path / "id_ed25519.pub").read_bytes())
    assert isinstance(public, Ed25519PublicKey)
    with NativeClient(server.url + below, Identity(tmp_path)) as native, pytest.raises(ApiError):
        native.show("m")
    (asked,) = server.requests
    path, _, now = asked.path.partition("?ts=")
    assert path == below.rstrip("/") + "/api/show"
    assert abs(int(now) - time.time()) < 60
    key, _, signature = asked.headers["Authorization"].partition(":")
    assert key in (tmp_path / "id_ed25519.pub").read_text()
    public.verify(base64.b64decode(signature), f"POST,/api/show?ts={now}".encode())


def test_a_key_is_shown_where_the_server_looks_for_one(server: NativeServer, tmp_path: Path) -> None:
    ensure_key(tmp_path)
    for identity in (None, Identity(tmp_path)):
        with NativeClient(server.url, identity, api_key="sécret") as native, pytest.raises(ApiError):
            native.show("m")
    alone, signed = (request.headers for request in server.requests)
    assert alone["Authorization"].encode("latin-1") == "Bearer sécret".encode()
    assert "x-api-key" not in {name.lower() for name in alone}
    assert signed["X-Api-Key"].encode("latin-1") == "sécret".encode()
    assert not signed["Authorization"].startswith("Bearer")


def test_members_that_are_null_are_absent(native: NativeClient, server: NativeServer) -> None:
    server.says("POST /api/show", {"license": None, "system": None, "template": "x"})
    assert native.show("m") == {"template": "x"}
    server.says("GET /api/tags", {"models": [{"name": None, "size": 1}]})
    assert native.models() == [{"size": 1}]


def test_halves_of_characters_are_replaced(native: NativeClient, server: NativeServer) -> None:
    """They could not be printed."""
    server.says("POST /api/generate", rb'{"response":"a\ud800b\ud83d\ude00"}')
    assert [chunk["response"] for chunk in native.generate({"model": "m"})] == ["a\ufffdb😀"]
