"""The errors of talking to a registry.

::

    BadRequest
    └── InsecureName           a name with ``http://`` that was not allowed to be insecure
    RegistryError              a registry, or the way to it, failed; ``temporary`` if it may work again
    ├── Unreachable            no connection: refused, no such host, deaf proxy
    │   └── TlsFailed          it does not speak TLS, or has a certificate nobody here knows
    ├── RegistryRefused        answered with an error status; carries it
    │   └── FileMissing        404
    ├── AccessDenied           it wants credentials that we do not have
    ├── TokenRefused           no token could be had
    │   └── RealmMismatch      the challenge points to another host
    ├── BadAnswer              an answer that is none: HTML, wrong range, endless manifest
    │   └── Garbled            not even HTTP; another connection may do better
    ├── Interrupted            a body ended early, or stopped coming
    ├── RangesIgnored          all of a blob comes, whatever part is asked for (``source``)
    ├── SizeMismatch           what is sent has not the size the manifest states
    ├── BlobMismatch           what was sent has not its digest
    ├── UnsupportedModel       nothing here can run it (``manifest``)
    ├── UploadRefused          a part of a blob is not taken (``outgoing``)
    ├── NotRefetched           no registry has what is damaged here (``repair``)
    ├── PullStopped            the daemon stops
    ├── RetriesExhausted       the last of several attempts failed too
    └── ManifestNotPulled      pulling stopped at the manifest

Texts that clients of Ollama compare are Ollama's. Source: ``store`` §6-8.
"""

from __future__ import annotations

from orchestrator.domain.digests import Digest
from orchestrator.errors import BadRequest, OrchestratorError


class InsecureName(BadRequest):
    """A name with ``http://`` in front, without leave to be insecure."""

    hint = "pass --insecure if the registry has no https"

    def __init__(self, scheme: str) -> None:
        super().__init__(f"insecure protocol {scheme}")


class RegistryError(OrchestratorError):
    """A registry, or the way to it, failed."""

    temporary = False
    """The same request may succeed later."""
    retry_after_s: float | None = None
    """How long the registry asks to wait."""


class Unreachable(RegistryError):
    """No connection could be made, or it broke before there was an answer."""

    temporary = True
    hint = "check the name and the network; proxies are set by HTTPS_PROXY, certificates by SSL_CERT_FILE"

    def __init__(
        self, method: str, url: str, reason: str, *, temporary: bool = True, connected: bool = False
    ) -> None:
        """``connected``: somebody was there, but did not answer."""
        super().__init__(f'{method.capitalize()} "{url}": {reason}')
        self.temporary, self.connected = temporary, connected


class TlsFailed(Unreachable):
    """What listens there does not speak TLS, or shows a certificate that nobody here vouches for."""

    hint = (
        'if the registry has no https, or a certificate of its own, pass --insecure ("insecure": true in '
        "requests); an authority of your own is named by SSL_CERT_FILE"
    )

    def __init__(self, method: str, url: str, reason: str) -> None:
        super().__init__(method, url, f"tls: {reason}", temporary=False)


class RegistryRefused(RegistryError):
    """The answer is an error: ``status`` and what the registry wrote to it."""

    _TEMPORARY = frozenset({408, 425, 429, 500, 502, 503, 504})

    def __init__(self, status: int, body: str, *, retry_after_s: float | None = None) -> None:
        text = f"{status}: {body}"
        if status == 429:
            wait = f"in {retry_after_s:.0f} s" if retry_after_s else "later"
            text = f"{status}: {body or 'too many requests'} (try again {wait})"
            self.hint = "the registry limits requests; signing in may give a higher limit"
        super().__init__(text)
        self.status, self.body = status, body
        self.retry_after_s = retry_after_s
        self.temporary = status in self._TEMPORARY


class FileMissing(RegistryRefused):
    """There is no such manifest or blob."""

    hint = "check the spelling of the model and of the tag"

    def __init__(self, body: str = "") -> None:
        super().__init__(404, body)
        self.args = ("file does not exist",)


class AccessDenied(RegistryError):
    """The credentials we have, if any, are not enough."""

    hint = (
        "add the key in ~/.ollama/id_ed25519.pub to your account there, "
        "or sign in with `docker login`; Hugging Face takes HF_TOKEN"
    )

    def __init__(self) -> None:
        super().__init__("unauthorized: access denied")


class TokenRefused(RegistryError):
    """The token endpoint gave no token."""


class RealmMismatch(TokenRefused):
    """The challenge sends us to another host; nothing is told to that one."""

    def __init__(self, realm_host: str, registry_host: str) -> None:
        super().__init__(f'realm host "{realm_host}" does not match original host "{registry_host}"')
        self.realm_host, self.registry_host = realm_host, registry_host


class BadAnswer(RegistryError):
    """An answer that a registry would not give."""

    hint = "what answers is no registry, or a proxy or sign-in page stands before it"


class Garbled(BadAnswer):
    """What came is no HTTP: perhaps the rest of an answer that was longer than it said."""

    temporary = True


class Interrupted(RegistryError):
    """The body ended early, or stopped coming."""

    temporary = True


class SizeMismatch(RegistryError):
    """The registry sends something of another size than the manifest states."""

    hint = "the model in the registry is damaged, or something on the way changes what it sends"

    def __init__(self, digest: Digest, *, stated_bytes: int, sent_bytes: int) -> None:
        super().__init__(
            f"size mismatch: {digest} has {stated_bytes} bytes in the manifest, the registry has {sent_bytes}"
        )
        self.stated_bytes, self.sent_bytes = stated_bytes, sent_bytes


class BlobMismatch(RegistryError):
    """Content does not have its digest; it has been thrown away."""

    hint = "pull again: the file is fetched anew; if that fails too, the registry's copy is damaged"

    def __init__(self, wanted: Digest, got: Digest) -> None:
        super().__init__(f"digest mismatch, file must be downloaded again: want {wanted}, got {got}")
        self.wanted, self.got = wanted, got


class PullStopped(RegistryError):
    """The daemon stops in the middle of a download."""

    hint = "what was fetched is kept: pull again to go on from there"

    def __init__(self) -> None:
        super().__init__("the server is stopping; pull again later to go on from here")


class RetriesExhausted(RegistryError):
    """Several attempts came to nothing; the text is of the last one."""

    hint = "what was fetched is kept: pull again to go on from there"

    def __init__(self, last: RegistryError) -> None:
        super().__init__(f"max retries exceeded: {last}")
        self.last = last


class ManifestNotPulled(RegistryError):
    """The manifest could not be had; the text tells why."""

    def __init__(self, reason: RegistryError) -> None:
        super().__init__(f"pull model manifest: {reason}")
        self.reason = reason
        self.hint = reason.hint
