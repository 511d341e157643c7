"""The key: made once, in OpenSSH's form, and what is signed with it."""

from __future__ import annotations

import base64
import stat
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization as form
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import load_ssh_public_key

from orchestrator.registry.key import Identity, UnusableKey, ensure_key


def test_a_key_is_made_once(tmp_path: Path) -> None:
    line = ensure_key(tmp_path)
    private, public = tmp_path / "id_ed25519", tmp_path / "id_ed25519.pub"
    assert line == public.read_text().strip()
    assert line is not None
    assert line.startswith("ssh-ed25519 ")
    assert stat.S_IMODE(private.stat().st_mode) == 0o600
    assert stat.S_IMODE(public.stat().st_mode) == 0o644
    before = private.read_bytes()
    assert ensure_key(tmp_path) is None
    assert private.read_bytes() == before


def test_signatures_are_those_of_the_public_key(tmp_path: Path) -> None:
    ensure_key(tmp_path)
    value = Identity(tmp_path).authorization("GET,https://x/,abc")
    public, _, signature = value.partition(":")
    assert public == (tmp_path / "id_ed25519.pub").read_text().split()[1]
    key = load_ssh_public_key(f"ssh-ed25519 {public}".encode())
    key.verify(base64.b64decode(signature), b"GET,https://x/,abc")  # type: ignore[call-arg]


def test_a_key_that_cannot_be_used_is_told(tmp_path: Path) -> None:
    file = tmp_path / "id_ed25519"
    file.write_text("no key")
    with pytest.raises(UnusableKey, match=str(file)):
        Identity(tmp_path).public_key()
    other = ec.generate_private_key(ec.SECP256R1())
    file.write_bytes(other.private_bytes(form.Encoding.PEM, form.PrivateFormat.OpenSSH, form.NoEncryption()))
    with pytest.raises(UnusableKey, match="another kind"):
        Identity(tmp_path).public_key()
    assert Identity(tmp_path)
