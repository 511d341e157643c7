"""Digests of the files a Modelfile names."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from orchestrator.domain.digests import Digest


def file_digest(path: Path) -> Digest:
    """SHA-256 of the file. Raises ``OSError``."""
    with path.open("rb") as file:
        return Digest(hashlib.file_digest(file, "sha256").hexdigest())


def file_digests(paths: Iterable[Path]) -> dict[Path, Digest]:
    """SHA-256 of every file, several at a time. Raises the first ``OSError``."""
    distinct = list(dict.fromkeys(paths))
    workers = min(len(distinct), max((os.cpu_count() or 2) - 1, 1))
    if not distinct:
        return {}
    with ThreadPoolExecutor(workers, thread_name_prefix="hashing") as pool:
        return dict(zip(distinct, pool.map(file_digest, distinct), strict=True))
