"""Looking for damage in a store: every blob that a model uses is read and hashed again.

Nothing is changed here. What is found names the models that suffer from it, and where their parts can be
had again: the registries that the names of these models, and of those they were made from, point to.
"""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from orchestrator.domain.digests import Digest, InvalidDigest
from orchestrator.domain.names import InvalidName, ModelName
from orchestrator.errors import StoreError, reason_of
from orchestrator.store.errors import CorruptManifest, ModelNotFound
from orchestrator.store.layout import StoreLayout
from orchestrator.store.manifests import ManifestStore, StoredManifest

PIECE_BYTES = 1 << 20
TOLD_BYTES = 64 << 20
"""How much is hashed between two signs of life."""


class Problem(StrEnum):
    """What is wrong with a blob or a manifest."""

    MISSING = "missing"
    DAMAGED = "damaged"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True)
class UsedBlob:
    """A blob that models use."""

    digest: Digest
    size_bytes: int
    """As the manifest states it."""
    models: tuple[ModelName, ...]
    sources: tuple[ModelName, ...]
    """Names whose registry may have the blob, the likeliest first."""


@dataclass(frozen=True, slots=True)
class Damage:
    """Something that is not as it should be."""

    what: str
    """A digest, or the path of a manifest."""
    problem: Problem
    reason: str
    models: tuple[ModelName, ...]
    blob: UsedBlob | None = None
    """What has to be fetched again, if that helps."""


@dataclass(frozen=True, slots=True)
class Hashed:
    """So much of a blob has been read."""

    blob: UsedBlob
    done_bytes: int


@dataclass(slots=True)
class Inventory:
    """What has to be looked at: the blobs of some models, and what is wrong with the manifests already."""

    blobs: tuple[UsedBlob, ...] = ()
    damages: list[Damage] = field(default_factory=list)


def inventory(manifests: ManifestStore, only: ModelName | None = None) -> Inventory:
    """The blobs of all models, or of one. Raises ``ModelNotFound`` for a single one that is not there."""
    damages: list[Damage] = []
    stored = list(_read(manifests, [only] if only else manifests.names(), damages))
    if only is not None and not stored and not damages:
        raise ModelNotFound(only)
    return Inventory(tuple(_used(stored, damages)), damages)


def check(layout: StoreLayout, blob: UsedBlob) -> Generator[Hashed | Damage, None, None]:
    """Hash a blob again. The last thing given is the damage, or that all of it has been read."""
    path = layout.blob(blob.digest)
    hashing, done = hashlib.sha256(), 0
    try:
        with path.open("rb", buffering=0) as file:
            while piece := file.read(PIECE_BYTES):
                hashing.update(piece)
                done += len(piece)
                if done % TOLD_BYTES < len(piece):
                    yield Hashed(blob, done)
    except FileNotFoundError:
        yield _damage(blob, Problem.MISSING, "the file is not there")
    except OSError as error:
        yield _damage(blob, Problem.UNREADABLE, reason_of(error))
    else:
        right = hashing.hexdigest() == blob.digest.hex.lower()
        yield Hashed(blob, done) if right else _damage(blob, Problem.DAMAGED, _difference(blob, done))


def _difference(blob: UsedBlob, size_bytes: int) -> str:
    if size_bytes != blob.size_bytes:
        return f"it has {size_bytes} bytes instead of {blob.size_bytes}"
    return "its content is not what its digest says"


def _damage(blob: UsedBlob, problem: Problem, reason: str) -> Damage:
    return Damage(str(blob.digest), problem, reason, blob.models, blob)


def _read(
    manifests: ManifestStore, names: Iterable[ModelName], damages: list[Damage]
) -> Iterator[StoredManifest]:
    """The manifests that can be read; the others become damages."""
    for name in names:
        try:
            yield manifests.read(name)
        except ModelNotFound:
            continue
        except CorruptManifest as error:
            damages.append(Damage(_manifest(error.path), Problem.DAMAGED, error.reason, (name,)))
        except StoreError as error:
            damages.append(Damage(f"manifest of {name.short}", Problem.UNREADABLE, str(error), (name,)))


def _manifest(path: Path) -> str:
    return "manifest " + "/".join(path.parts[-4:])


def _used(stored: Iterable[StoredManifest], damages: list[Damage]) -> Iterator[UsedBlob]:
    """Every blob once, in the order of the models, with all that use it."""
    found: dict[str, UsedBlob] = {}
    for each in stored:
        for part in each.manifest.parts:
            try:
                digest = Digest.parse(part.digest)
            except InvalidDigest as error:
                where = f"manifest of {each.name.short}"
                damages.append(Damage(where, Problem.DAMAGED, f"{error}: {part.digest!r}", (each.name,)))
                continue
            known = found.get(digest.file_name, UsedBlob(digest, part.size, (), ()))
            found[digest.file_name] = UsedBlob(
                digest,
                known.size_bytes,
                _with(known.models, each.name),
                _with(_with(known.sources, each.name), _origin(part.from_)),
            )
    yield from found.values()


def _with(names: tuple[ModelName, ...], name: ModelName | None) -> tuple[ModelName, ...]:
    return names if name is None or name in names else (*names, name)


def _origin(text: str) -> ModelName | None:
    """The model a layer came from; it may also name a file."""
    try:
        return ModelName.parse(text) if text else None
    except InvalidName:
        return None
