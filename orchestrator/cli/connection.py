"""The server this command line talks to."""

from __future__ import annotations

import os
import ssl
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from orchestrator.cli.commands import PROGRAM
from orchestrator.client.errors import ServerUnreachable
from orchestrator.client.native import NativeClient
from orchestrator.config import Config
from orchestrator.errors import OrchestratorError
from orchestrator.registry.key import Identity

_SIGNED_HOST = "ollama.com"
"""It wants to know who asks; others do where ``OLLAMA_AUTH`` says so."""


class NoServer(OrchestratorError):
    """Nobody listens at the server's address."""

    def __init__(self) -> None:
        super().__init__(f"could not connect to {PROGRAM} server, run '{PROGRAM} serve' to start it")


def client() -> NativeClient:
    """A client of the server ``OLLAMA_HOST`` names; says so when that is no usable address."""
    config = Config.from_environ(os.environ)
    for problem in config.problems:
        if problem.variable == "OLLAMA_HOST":
            print(f"Warning: {problem}", file=sys.stderr)
    is_signed = config.auth or config.host.host == _SIGNED_HOST
    identity = Identity(config.home / ".ollama") if is_signed else None
    return NativeClient(
        config.client_url,
        identity,
        api_key=config.api_key,
        proxy=_proxy(config),
        trusting=_trusting(config),
    )


def _trusting(config: Config) -> ssl.SSLContext:
    """What checks the server's certificate, if it has one: reading all authorities takes its time."""
    if config.host.scheme != "https":
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    from orchestrator.registry.authorities import trusting

    return trusting(config.ssl_cert_file, config.ssl_cert_dir)


def _proxy(config: Config) -> str | None:
    """The proxy before the server, by the rules of Go: none stands before the own machine."""
    if not config.http_proxy and not config.https_proxy:
        return None
    from yarl import URL

    from orchestrator.registry.proxies import Proxies

    proxies = Proxies(config.http_proxy, config.https_proxy, config.no_proxy)
    try:
        proxy = proxies.of(URL(config.client_url))
    except ValueError as error:
        raise ServerUnreachable(f"the proxy that is set cannot be used: {error}", refused=False) from error
    return None if proxy is None else str(proxy)


@contextmanager
def server() -> Iterator[NativeClient]:
    """A client of a server that has just answered."""
    with client() as native:
        try:
            native.heartbeat()
        except ServerUnreachable as error:
            if error.refused:
                raise NoServer from error
            raise
        yield native
