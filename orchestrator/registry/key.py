"""The ed25519 key that identifies this machine's user to a registry.

It is the file Ollama uses, in the form OpenSSH uses; an existing one is never touched.
Source: ``store`` §7.3.
"""

from __future__ import annotations

import base64
import os
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.errors import OrchestratorError, reason_of

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

PRIVATE_NAME = "id_ed25519"
PUBLIC_NAME = "id_ed25519.pub"


def ensure_key(folder: Path) -> str | None:
    """Make the key in ``folder`` unless it is there; gives the public line if new. Raises ``OSError``."""
    private = folder / PRIVATE_NAME
    if private.exists():
        return None
    from cryptography.hazmat.primitives import serialization as form  # only needed once in a lifetime
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    key = Ed25519PrivateKey.generate()
    secret = key.private_bytes(form.Encoding.PEM, form.PrivateFormat.OpenSSH, form.NoEncryption())
    public = key.public_key().public_bytes(form.Encoding.OpenSSH, form.PublicFormat.OpenSSH) + b"\n"
    folder.mkdir(mode=0o755, parents=True, exist_ok=True)
    try:
        _write_new(private, secret, 0o600)
    except FileExistsError:
        return None  # another daemon was quicker; its key is as good
    _write_new(folder / PUBLIC_NAME, public, 0o644, replace=True)
    return public.decode().strip()


def _write_new(path: Path, content: bytes, mode: int, *, replace: bool = False) -> None:
    """Write a file so that it appears whole, with its mode, or not at all."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            os.fsync(file.fileno())
        if replace:
            temporary.replace(path)
        else:
            os.link(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


class UnusableKey(OrchestratorError):
    """The key file is there, but no key can be read from it."""

    hint = "the key must be an ed25519 key in OpenSSH's form, without a passphrase"

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"key {path} cannot be used: {reason}")
        self.path = path


class Identity:
    """The key in use: who we are, and our signature. It is read when first needed."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / PRIVATE_NAME
        self._key: Ed25519PrivateKey | None = None

    def public_key(self) -> str:
        """The second field of the line in ``id_ed25519.pub``. Raises ``UnusableKey``; reads a file."""
        from cryptography.hazmat.primitives import serialization as form

        line = self._loaded().public_key().public_bytes(form.Encoding.OpenSSH, form.PublicFormat.OpenSSH)
        return line.decode().split(" ")[1]

    def authorization(self, signed: str) -> str:
        """The value of a header that proves that ``signed`` is ours. Raises ``UnusableKey``; reads a file."""
        signature = self._loaded().sign(signed.encode())
        return f"{self.public_key()}:{base64.b64encode(signature).decode()}"

    def _loaded(self) -> Ed25519PrivateKey:
        if self._key is None:
            self._key = _read_key(self._path)
        return self._key


def _read_key(path: Path) -> Ed25519PrivateKey:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_ssh_private_key

    try:
        ensure_key(path.parent)
        key = load_ssh_private_key(path.read_bytes(), password=None)
    except OSError as error:
        raise UnusableKey(path, reason_of(error)) from error
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise UnusableKey(path, str(error)) from error
    if not isinstance(key, Ed25519PrivateKey):
        raise UnusableKey(path, "it is a key of another kind")
    return key
