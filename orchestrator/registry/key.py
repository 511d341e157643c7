"""The ed25519 key that identifies this machine's user to a registry.

It is the file Ollama uses, in the form OpenSSH uses; an existing one is never touched.
Source: ``store`` §7.3.
"""

from __future__ import annotations

import os
from pathlib import Path

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
