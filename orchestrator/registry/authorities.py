"""The authorities by which certificates of others are checked."""

from __future__ import annotations

import ssl
from pathlib import Path

from orchestrator.errors import reason_of
from orchestrator.registry.errors import RegistryError


def trusting(ca_file: Path | None, ca_directory: Path | None) -> ssl.SSLContext:
    """What checks certificates: by the authorities given, else by the system's. Raises ``RegistryError``."""
    try:
        context = ssl.create_default_context(cafile=ca_file, capath=ca_directory)
    except OSError as error:
        raise RegistryError(f"SSL_CERT_FILE={ca_file}: {reason_of(error)}") from error
    if ca_file is None and ca_directory is None and not _system_has_authorities(context):
        import certifi  # there is no other list on this system

        context.load_verify_locations(certifi.where())
    return context


def _system_has_authorities(context: ssl.SSLContext) -> bool:
    directory = Path(ssl.get_default_verify_paths().openssl_capath)
    return bool(context.cert_store_stats()["x509_ca"]) or (directory.is_dir() and any(directory.iterdir()))
