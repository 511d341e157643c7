"""A blocking client of the native API, for the command line."""

from __future__ import annotations

import json
import platform
import ssl
import sys
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from http import HTTPStatus
from types import TracebackType
from typing import Any, Self, TypeVar, cast
from urllib.parse import urlsplit

import httpx

import orchestrator
from orchestrator.client.errors import ApiError, ServerUnreachable, SignInNeeded, UnreadableReply
from orchestrator.client.shapes import shaped
from orchestrator.client.signing import SignedRequests
from orchestrator.client.wire import (
    ChatChunk,
    EmbedReply,
    GenerateChunk,
    ImportRecord,
    ModelCard,
    ModelSummary,
    Progress,
    PruneReply,
    RunningModel,
    User,
    VerifyRecord,
)
from orchestrator.domain.json_value import parse_json
from orchestrator.registry.key import Identity
from orchestrator.wire.json import MalformedJson, loads_all

T = TypeVar("T")

_PLAIN = "application/json"
_LINES = "application/x-ndjson"
_TAR = "application/x-tar"


class NativeClient:
    """One server, by its base URL. A context manager: leaving it closes the connections.

    With an ``identity`` every request is signed by it, with an ``api_key`` each shows that. ``proxy`` is the
    URL of one that stands before the server, ``trusting`` is what checks the server's certificate.
    Every call raises ``ServerUnreachable`` when no answer comes and ``ApiError`` when the answer is an error.
    Streams are generators; closing one (or leaving its loop) hangs up, which cancels the work at the server.
    """

    def __init__(
        self,
        base_url: str,
        identity: Identity | None = None,
        *,
        api_key: str = "",
        proxy: str | None = None,
        trusting: ssl.SSLContext | None = None,
    ) -> None:
        """Raises ``ServerUnreachable`` when the proxy cannot be used."""
        self._http = httpx.Client(
            base_url=base_url,
            auth=SignedRequests(identity, below=urlsplit(base_url).path) if identity else None,
            timeout=None,  # loading a large model may take minutes before the first byte
            transport=_transport(proxy, trusting),
            headers={b"User-Agent": _user_agent().encode(), **_shown(api_key, signed=identity is not None)},
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._http.close()

    def heartbeat(self) -> None:
        """Return when the server is there."""
        self._call("HEAD", "/")

    def version(self) -> str:
        """The server's version."""
        return str(self._call("GET", "/api/version").get("version", ""))

    def models(self) -> list[ModelSummary]:
        """The models in the store, in the server's order."""
        return self._list("/api/tags", ModelSummary)

    def running(self) -> list[RunningModel]:
        """The models in memory, in the server's order."""
        return self._list("/api/ps", RunningModel)

    def show(
        self,
        model: str,
        *,
        verbose: bool = False,
        system: str = "",
        options: Mapping[str, Any] | None = None,
    ) -> ModelCard:
        """Everything about one model; ``verbose`` adds vocabularies and tensors.

        ``system`` and ``options`` stand for the model's own in its Modelfile.
        """
        request = {"model": model, "verbose": verbose}
        more = {"system": system, "options": options}
        given = {key: value for key, value in more.items() if value}
        return shaped(self._call("POST", "/api/show", request | given), ModelCard)

    def copy(self, source: str, destination: str) -> None:
        """Give a model a second name."""
        self._call("POST", "/api/copy", {"source": source, "destination": destination})

    def delete(self, model: str) -> None:
        """Remove a name and what only it used."""
        self._call("DELETE", "/api/delete", {"model": model})

    def embed(self, request: Mapping[str, Any]) -> EmbedReply:
        """Vectors of texts."""
        return shaped(self._call("POST", "/api/embed", request), EmbedReply)

    def generate(self, request: Mapping[str, Any]) -> Generator[GenerateChunk]:
        """The answer to a prompt, as it comes."""
        return self._stream(GenerateChunk, "/api/generate", request)

    def chat(self, request: Mapping[str, Any]) -> Generator[ChatChunk]:
        """The next turn of a conversation, as it comes."""
        return self._stream(ChatChunk, "/api/chat", request)

    def load(self, model: str, *, keep_alive: str | None = None, think: bool | str | None = None) -> None:
        """Bring a model into memory; a ``keep_alive`` of zero sends it away instead."""
        request = {"model": model, "keep_alive": keep_alive, "think": think}
        for _ in self.generate({key: value for key, value in request.items() if value is not None}):
            pass

    def create(self, request: Mapping[str, Any]) -> Generator[Progress]:
        """Make a model from uploaded blobs or another model."""
        return self._stream(Progress, "/api/create", request)

    def pull(self, model: str, *, insecure: bool) -> Generator[Progress]:
        """Fetch a model from its registry."""
        return self._stream(Progress, "/api/pull", {"model": model, "insecure": insecure})

    def push(self, model: str, *, insecure: bool) -> Generator[Progress]:
        """Send a model to its registry."""
        return self._stream(Progress, "/api/push", {"model": model, "insecure": insecure})

    def has_blob(self, digest: str) -> bool:
        """Whether the store already holds these bytes."""
        try:
            self._call("HEAD", f"/api/blobs/{digest}")
        except ApiError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                return False
            raise
        return True

    def upload_blob(self, digest: str, content: Iterable[bytes]) -> None:
        """Send bytes under their digest; the server checks that they belong together."""
        with _translated():
            reply = self._http.post(
                f"/api/blobs/{digest}", content=content, headers={"Content-Type": "application/octet-stream"}
            )
        _raise_for(reply, message=_error_text(reply.text))

    def prune(self, *, dry_run: bool) -> PruneReply:
        """Remove what nothing uses, or say what that would be."""
        return shaped(self._call("POST", "/api/prune", {"dry_run": dry_run}), PruneReply)

    def verify(self, model: str, *, repair: bool, insecure: bool) -> Generator[VerifyRecord]:
        """Read every blob again, of one model or (with an empty name) of all."""
        request = {"model": model, "repair": repair, "insecure": insecure}
        return self._stream(VerifyRecord, "/api/verify", request)

    @contextmanager
    def export(self, model: str) -> Iterator[tuple[int, Iterator[bytes]]]:
        """A model as one archive: its size, and its content as it comes.

        The content raises ``ServerUnreachable`` when it ends early.
        """
        with (
            _translated(),
            self._http.stream("POST", "/api/export", content=_encoded({"model": model})) as reply,
        ):
            if reply.is_error:
                reply.read()
                _raise_for(reply, message=_error_text(reply.text))
            yield int(reply.headers.get("Content-Length", 0)), _content(reply)

    def import_archive(self, content: Iterable[bytes]) -> Generator[ImportRecord]:
        """Send an archive; what the server says of it comes when all has been sent."""
        return self._stream(ImportRecord, "/api/import", content, _headers(_LINES, content=_TAR))

    def me(self) -> User:
        """The account signed in; raises ``SignInNeeded`` when there is none."""
        return shaped(self._call("POST", "/api/me"), User)

    def sign_out(self) -> None:
        """Forget the account."""
        self._call("POST", "/api/signout")

    def _call(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        with _translated():
            reply = self._http.request(method, path, content=_encoded(body), headers=_headers(_PLAIN))
        _raise_for(reply, message=_error_text(reply.text))
        return _record(reply.text) if reply.text.strip() else {}

    def _list(self, path: str, kind: type[T]) -> list[T]:
        """The models of an answer."""
        reply = self._call("GET", path)
        models = reply.get("models") or []
        if not isinstance(models, list) or not all(isinstance(model, dict) for model in models):
            raise UnreadableReply(str(reply))
        return [shaped(_without_nulls(model), kind) for model in models]

    def _stream(
        self,
        kind: type[T],
        path: str,
        body: Mapping[str, Any] | Iterable[bytes],
        headers: Mapping[str, str] | None = None,
    ) -> Generator[T]:
        content = _encoded(body) if isinstance(body, Mapping) else body
        with (
            _translated(),
            self._http.stream("POST", path, content=content, headers=headers or _headers(_LINES)) as reply,
        ):
            if reply.is_error:
                reply.read()
                status = f"{reply.status_code} {reply.reason_phrase}".strip()
                _raise_for(reply, message=": ".join(filter(None, (status, _error_text(reply.text)))))
            yield from _records(reply, kind)


def _records(reply: httpx.Response, kind: type[T]) -> Iterator[T]:
    """The lines of a stream as they come. Raises ``ApiError`` at one that tells of an error."""
    with closing(cast(Generator[str], reply.iter_lines())) as lines:
        for line in filter(None, lines):
            record = _record(line)
            if message := record.get("error"):
                raise ApiError(str(message), status=HTTPStatus.OK)
            yield shaped(record, kind)


def _transport(proxy: str | None, trusting: ssl.SSLContext | None) -> httpx.HTTPTransport:
    """What carries the requests, past the library's own idea of the environment."""
    try:
        return httpx.HTTPTransport(proxy=proxy, verify=trusting or ssl.create_default_context())
    except (ImportError, ValueError, httpx.InvalidURL) as error:
        raise ServerUnreachable(f"the proxy that is set cannot be used: {error}", refused=False) from error


def _content(reply: httpx.Response) -> Iterator[bytes]:
    with _translated():
        yield from reply.iter_bytes()


def _raise_for(reply: httpx.Response, *, message: str) -> None:
    if not reply.is_error:
        return
    if reply.status_code == HTTPStatus.UNAUTHORIZED and (url := _json_object(reply.text).get("signin_url")):
        raise SignInNeeded(message, url=str(url))
    raise ApiError(
        message or "something went wrong, please see the orch server logs for details",
        status=reply.status_code,
    )


def _error_text(body: str) -> str:
    """The error in a body: its ``error`` field, else the body itself."""
    return str(_json_object(body).get("error") or ("" if _json_object(body) else body.strip()))


def _record(text: str) -> dict[str, Any]:
    """One object of an answer; null is an empty one, and no member. Raises ``UnreadableReply``."""
    try:
        value = loads_all(text)
    except MalformedJson as error:
        raise UnreadableReply(text) from error
    if value is not None and not isinstance(value, dict):
        raise UnreadableReply(text)
    return _without_nulls(value or {})


def _without_nulls(members: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}


def _json_object(body: str) -> dict[str, Any]:
    try:
        value = parse_json(body)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _encoded(body: Mapping[str, Any] | None) -> bytes | None:
    return None if body is None else json.dumps(body, ensure_ascii=False).encode(errors="replace")


def _headers(accept: str, *, content: str = _PLAIN) -> dict[str, str]:
    return {"Content-Type": content, "Accept": accept}


def _shown(api_key: str, *, signed: bool) -> dict[bytes, bytes]:
    """The header that shows a key; a signature takes the place where most look for one."""
    if not api_key:
        return {}
    key = api_key.encode()
    return {b"X-Api-Key": key} if signed else {b"Authorization": b"Bearer " + key}


def _user_agent() -> str:
    system = f"{platform.machine()} {sys.platform}"
    return f"orch/{orchestrator.__version__} ({system}) Python/{platform.python_version()}"


@contextmanager
def _translated() -> Iterator[None]:
    """Turn the HTTP library's errors into ours."""
    try:
        yield
    except (httpx.TransportError, httpx.InvalidURL, UnicodeError) as error:
        reason = str(error) or type(error).__name__
        request = getattr(error, "_request", None)
        where = f'{request.method.capitalize()} "{request.url}": ' if request else ""
        raise ServerUnreachable(where + reason, refused=" refused" in reason) from error
