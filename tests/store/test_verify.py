"""Looking for damage: every used blob is looked at once, and what is wrong names who suffers from it."""

from __future__ import annotations

import pytest

from orchestrator.domain.digests import Digest
from orchestrator.domain.names import ModelName
from orchestrator.store.blobs import BlobStore
from orchestrator.store.errors import ModelNotFound
from orchestrator.store.layout import StoreLayout
from orchestrator.store.manifests import ManifestStore
from orchestrator.store.verify import TOLD_BYTES, Damage, Hashed, Problem, UsedBlob, check, inventory
from orchestrator.store.wire import Layer, Manifest

OWL, CAT = ModelName.parse("owl"), ModelName.parse("example.org/zoo/cat:v1")


@pytest.fixture
def blobs(layout: StoreLayout) -> BlobStore:
    return BlobStore(layout)


@pytest.fixture
def manifests(layout: StoreLayout) -> ManifestStore:
    return ManifestStore(layout)


def layer(blobs: BlobStore, content: bytes, origin: str = "") -> Layer:
    stored = blobs.put(content)
    return Layer(digest=str(stored.digest), size=stored.size_bytes, from_=origin)


def found(layout: StoreLayout, blob: UsedBlob) -> Damage:
    (*_, last) = check(layout, blob)
    assert isinstance(last, Damage)
    return last


def test_a_shared_blob_is_looked_at_once_and_knows_its_models(
    blobs: BlobStore, manifests: ManifestStore
) -> None:
    shared, own = layer(blobs, b"shared"), layer(blobs, b"own", origin="cat-of-old:v3")
    manifests.write(OWL, Manifest(config=shared, layers=(own,)))
    manifests.write(CAT, Manifest(config=shared))
    models = {str(blob.digest): set(blob.models) for blob in inventory(manifests).blobs}
    assert models == {shared.digest: {OWL, CAT}, own.digest: {OWL}}


def test_the_likeliest_source_of_a_blob_is_the_model_then_what_it_was_made_from(
    blobs: BlobStore, manifests: ManifestStore
) -> None:
    manifests.write(
        OWL, Manifest(layers=(layer(blobs, b"x", origin="mice"), layer(blobs, b"y", origin="/a/file")))
    )
    of_a_model, of_a_file = inventory(manifests, OWL).blobs
    assert of_a_model.sources == (OWL, ModelName.parse("mice"))
    assert of_a_file.sources == (OWL,)


def test_one_model_alone_can_be_looked_at(blobs: BlobStore, manifests: ManifestStore) -> None:
    manifests.write(OWL, Manifest(layers=(layer(blobs, b"owl"),)))
    manifests.write(CAT, Manifest(layers=(layer(blobs, b"cat"),)))
    assert [blob.models for blob in inventory(manifests, CAT).blobs] == [(CAT,)]
    with pytest.raises(ModelNotFound):
        inventory(manifests, ModelName.parse("dog"))


def test_a_manifest_that_cannot_be_read_is_a_damage(manifests: ManifestStore) -> None:
    manifests.write_bytes(OWL, b"{")
    manifests.write(CAT, Manifest(layers=(Layer(digest="sha256:nonsense"),)))
    one, other = sorted(inventory(manifests).damages, key=lambda damage: damage.what)
    assert (one.what, one.models) == ("manifest of example.org/zoo/cat:v1", (CAT,))
    assert (other.what, other.models) == ("manifest registry.ollama.ai/library/owl/latest", (OWL,))


def test_a_good_blob_is_read_to_its_end(layout: StoreLayout, blobs: BlobStore) -> None:
    stored = blobs.put(bytes(TOLD_BYTES + 5))
    blob = UsedBlob(stored.digest, stored.size_bytes, (OWL,), (OWL,))
    assert list(check(layout, blob)) == [Hashed(blob, TOLD_BYTES), Hashed(blob, TOLD_BYTES + 5)]


@pytest.mark.parametrize(
    ("content", "problem", "reason"),
    [
        (None, Problem.MISSING, "the file is not there"),
        (b"abd", Problem.DAMAGED, "its content is not what its digest says"),
        (b"ab", Problem.DAMAGED, "it has 2 bytes instead of 3"),
    ],
)
def test_a_damaged_blob_tells_what_is_wrong(
    layout: StoreLayout, blobs: BlobStore, content: bytes | None, problem: Problem, reason: str
) -> None:
    stored = blobs.put(b"abc")
    path = layout.blob(stored.digest)
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    blob = UsedBlob(stored.digest, 3, (OWL,), (OWL,))
    assert found(layout, blob) == Damage(str(stored.digest), problem, reason, (OWL,), blob)


def test_what_cannot_be_read_is_told_too(layout: StoreLayout) -> None:
    digest = Digest("a" * 64)
    layout.blob(digest).mkdir(parents=True)
    assert found(layout, UsedBlob(digest, 1, (OWL,), ())).problem is Problem.UNREADABLE
