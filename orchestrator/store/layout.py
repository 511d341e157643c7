"""Where things are in a model store.

::

    <root>/manifests/<host>/<namespace>/<model>/<tag>    one JSON manifest per name
    <root>/blobs/sha256-<64 hex>                         immutable content
    <root>/views/sha256-<64 hex>/                        what engines read instead of a blob

Source: ``store`` §1.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from orchestrator.domain.digests import Digest
from orchestrator.domain.names import ModelName
from orchestrator.errors import StoreError
from orchestrator.store.errors import disk_error

DIRECTORY_MODE = 0o755
FILE_MODE = 0o644
CONVERSION_PREFIX = "ollama-safetensors"
"""Of the directories directly in the store in which models are converted."""
VIEWS = "views"


@dataclass(frozen=True, slots=True)
class StoreLayout:
    """The paths of the store at ``root``, which is ``OLLAMA_MODELS``."""

    root: Path

    @property
    def manifests(self) -> Path:
        return self.root / "manifests"

    @property
    def blobs(self) -> Path:
        return self.root / "blobs"

    @property
    def views(self) -> Path:
        return self.root / VIEWS

    def manifest(self, name: ModelName) -> Path:
        return self.manifests / name.path

    def blob(self, digest: Digest) -> Path:
        return self.blobs / digest.file_name


def views_of(blob: Path) -> Path:
    """Where the views of a blob are, if there are any: they go with it."""
    return blob.parent.parent / VIEWS / blob.name


def make_directory(path: Path) -> None:
    """Create ``path`` and what is missing above it. Raises ``StoreError``."""
    try:
        path.mkdir(mode=DIRECTORY_MODE, parents=True, exist_ok=True)
    except OSError as error:
        failed = Path(error.filename) if isinstance(error.filename, str) else path
        reason = disk_error("mkdir", failed, error)
        raise StoreError(f"{reason}: ensure path elements are traversable") from error
