"""``orch pull`` and ``orch push``: models from and to registries, by way of the server."""

from __future__ import annotations

import shlex
import sys
from contextlib import closing

from orchestrator.cli.account import ask_to_sign_in
from orchestrator.cli.commands import PROGRAM
from orchestrator.cli.connection import server
from orchestrator.cli.follow import follow
from orchestrator.cli.progress import Display
from orchestrator.client.errors import ApiError, SignInNeeded
from orchestrator.client.native import NativeClient
from orchestrator.client.wire import Progress
from orchestrator.domain.names import DEFAULT_HOST, InvalidName, ModelName
from orchestrator.errors import Forbidden

_TLS_FAILED = ": tls: "
"""In what the server says of a registry that has no https, or a certificate that nobody here knows."""
_ACCOUNT_HOSTS = (".ollama.ai", ".ollama.com")


def pull(model: str, *, insecure: bool = False) -> None:
    """Fetch a model."""
    with server() as native:
        fetch(native, model, insecure=insecure)


def push(model: str, *, insecure: bool = False) -> None:
    """Send a model; its registry may want an account first."""
    host = _host(model)
    with server() as native:
        if host.endswith(_ACCOUNT_HOSTS):
            try:
                native.me()
            except SignInNeeded as error:
                print("You need to be signed in to push models to ollama.com.\n")
                ask_to_sign_in(error.url)
                return
        _send(native, model, insecure=insecure)
    print(f"\nYou can find your model at:\n\n\t{_address(model, host)}")


def fetch(native: NativeClient, model: str, *, insecure: bool) -> None:
    """Have the server fetch a model, and show how far it is.

    Whoever interrupts it is told that nothing is lost.
    """
    try:
        with Display() as display, closing(native.pull(model, insecure=insecure)) as events:
            moving = (event for event in events if not event.get("digest") or event.get("completed"))
            follow(display, moving, label=_pulling)
    except KeyboardInterrupt:
        again = f"{PROGRAM} pull {'--insecure ' if insecure else ''}{shlex.quote(model)}"
        print(f"\nInterrupted. What was fetched is kept: `{again}` goes on from there.", file=sys.stderr)
        raise
    except ApiError as error:
        _advise(error, insecure=insecure)
        raise


def _send(native: NativeClient, model: str, *, insecure: bool) -> None:
    try:
        with Display() as display, closing(native.push(model, insecure=insecure)) as events:
            follow(display, events)
    except ApiError as error:
        if any(words in str(error) for words in ("access denied", "unauthorized")):
            raise Forbidden(
                "you are not authorized to push to this namespace, create the model under a namespace you own"
            ) from error
        _advise(error, insecure=insecure)
        raise


def _advise(error: ApiError, *, insecure: bool) -> None:
    """The server's words are Ollama's, and do not say what to do."""
    if _TLS_FAILED in str(error) and not insecure:
        error.hint = "if the registry has no https, or a certificate of its own, pass --insecure"


def _pulling(event: Progress) -> str:
    return f"pulling {event.get('digest', '').removeprefix('sha256:')[:12]}:"


def _host(model: str) -> str:
    try:
        return ModelName.parse(model).host
    except InvalidName:
        return DEFAULT_HOST


def _address(model: str, host: str) -> str:
    name = ModelName.parse(model)
    if host.endswith(_ACCOUNT_HOSTS):
        return f"https://ollama.com/{name.short.removesuffix(':latest')}"
    return name.full
