"""A model as one file: what is exported is imported byte for byte, and a hostile archive changes nothing."""

from __future__ import annotations

import hashlib
import io
import tarfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from orchestrator.domain.digests import Digest
from orchestrator.domain.names import ModelName
from orchestrator.store import tar
from orchestrator.store.archive import MOST_MANIFESTS_BYTES, Export, Import
from orchestrator.store.canonical import canonical_json
from orchestrator.store.errors import DamagedModel, DiskFull, ModelNotFound
from orchestrator.store.layout import StoreLayout
from orchestrator.store.manifests import LARGEST_MANIFEST_BYTES
from orchestrator.store.models import ModelStore
from orchestrator.store.wire import Layer, Manifest

OWL = ModelName.parse("example.org/zoo/owl:v1")
PARTS = (b'{"model_format":"gguf"}\n', b"weights" * 100_000, b"{{ .Prompt }}")


@pytest.fixture
def store(layout: StoreLayout) -> ModelStore:
    """A store with one model."""
    store = ModelStore(layout)
    config, *layers = (_stored(store, content) for content in (*PARTS, PARTS[1]))
    store.replace_now(OWL, Manifest(config=config, layers=tuple(layers)))
    return store


@pytest.fixture
def empty(tmp_path: Path) -> ModelStore:
    return ModelStore(StoreLayout(tmp_path / "other"))


def _stored(store: ModelStore, content: bytes) -> Layer:
    blob = store.blobs.put(content)
    return Layer(digest=str(blob.digest), size=blob.size_bytes)


def taken(store: ModelStore, content: bytes, *, piece_bytes: int = 10_000) -> list[ModelName]:
    """Import an archive, a piece at a time."""
    taking = Import(store)
    try:
        for start in range(0, len(content), piece_bytes):
            taking.feed(content[start : start + piece_bytes])
        taking.check()
        return list(taking.finish())
    finally:
        taking.close()


def packed(files: Mapping[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return out.getvalue()


def files_of(store: ModelStore) -> dict[str, bytes]:
    root = store.layout.root
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def blob_of(content: bytes) -> tuple[str, Layer]:
    digest = Digest(hashlib.sha256(content).hexdigest())
    return f"blobs/{digest.file_name}", Layer(digest=str(digest), size=len(content))


def manifest_of(*layers: Layer) -> bytes:
    return canonical_json(Manifest(layers=layers).to_json())


def test_what_was_exported_is_there_after_an_import(store: ModelStore, empty: ModelStore) -> None:
    export = Export(store, OWL)
    content = b"".join(export.pieces())
    assert len(content) == export.size_bytes
    assert taken(empty, content) == [OWL]
    assert files_of(empty) == files_of(store)


def test_an_archive_is_in_the_layout_of_the_store(store: ModelStore, tmp_path: Path) -> None:
    with tarfile.open(fileobj=io.BytesIO(b"".join(Export(store, OWL).pieces()))) as archive:
        assert archive.getnames()[0] == f"manifests/{OWL.path}"
        archive.extractall(tmp_path / "unpacked", filter="data")
    unpacked = ModelStore(StoreLayout(tmp_path / "unpacked"))
    assert files_of(unpacked) == files_of(store)


def test_an_archive_that_another_program_made_of_a_store_is_taken(
    store: ModelStore, empty: ModelStore
) -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as archive:
        archive.add(store.layout.root, arcname=".")
    assert taken(empty, out.getvalue()) == [OWL]
    assert files_of(empty) == files_of(store)


def test_several_models_may_come_at_once(empty: ModelStore) -> None:
    path, layer = blob_of(b"shared")
    manifest = manifest_of(layer)
    names = [ModelName.parse("a"), ModelName.parse("b")]
    assert (
        taken(empty, packed({path: b"shared"} | {f"manifests/{name.path}": manifest for name in names}))
        == names
    )


def test_a_model_of_that_name_is_replaced(store: ModelStore) -> None:
    path, layer = blob_of(b"new")
    taken(store, packed({f"manifests/{OWL.path}": manifest_of(layer), path: b"new"}))
    assert set(files_of(store)) == {f"manifests/{OWL.path}", path}


def test_names_are_found_in_any_case(store: ModelStore) -> None:
    path, layer = blob_of(b"new")
    shouted = ModelName.parse("EXAMPLE.org/Zoo/OWL:V1")
    assert taken(store, packed({f"manifests/{shouted.path}": manifest_of(layer), path: b"new"})) == [OWL]


def test_blobs_that_are_there_are_not_needed(store: ModelStore) -> None:
    manifest = store.layout.manifest(OWL).read_bytes()
    copy = ModelName.parse("copy")
    assert taken(store, packed({f"manifests/{copy.path}": manifest})) == [copy]


def test_a_damaged_blob_is_replaced_by_the_one_in_the_archive(store: ModelStore) -> None:
    content = b"".join(Export(store, OWL).pieces())
    before = files_of(store)
    store.layout.blob(Digest.parse(blob_of(PARTS[1])[1].digest)).write_bytes(b"x" * len(PARTS[1]))
    taken(store, content)
    assert files_of(store) == before


def test_blobs_that_no_model_uses_do_not_stay(empty: ModelStore) -> None:
    path, layer = blob_of(b"used")
    stray, _ = blob_of(b"stray")
    name = ModelName.parse("m")
    taken(empty, packed({stray: b"stray", f"manifests/{name.path}": manifest_of(layer), path: b"used"}))
    assert path in files_of(empty)
    assert stray not in files_of(empty)


GOOD_PATH, GOOD_LAYER = blob_of(b"good")
MANIFEST_PATH = "manifests/registry.ollama.ai/library/m/latest"
GOOD = {MANIFEST_PATH: manifest_of(GOOD_LAYER), GOOD_PATH: b"good"}


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        (GOOD | {"../../etc/passwd": b"x"}, "'../../etc/passwd' is no part of a model"),
        (GOOD | {"/etc/passwd": b"x"}, "'/etc/passwd' is no part of a model"),
        (GOOD | {"blobs/../x": b"x"}, "'blobs/../x' is no part of a model"),
        (GOOD | {"manifests/a/b/../c": b"{}"}, "'manifests/a/b/../c' is no part of a model"),
        (GOOD | {"manifests/a/b/c": b"{}"}, "'manifests/a/b/c' is no part of a model"),
        (GOOD | {"blobs/sha256-12": b"x"}, "'blobs/sha256-12' is no part of a model"),
        (GOOD | {GOOD_PATH: b"evil"}, f"the content of {GOOD_LAYER.digest} is not what its digest says"),
        (
            {MANIFEST_PATH: GOOD[MANIFEST_PATH]},
            f"{GOOD_LAYER.digest} of m:latest is missing, or not of the size",
        ),
        (GOOD | {MANIFEST_PATH: manifest_of(GOOD_LAYER.model_copy(update={"size": 5}))}, "not of the size"),
        (GOOD | {MANIFEST_PATH: b"<html>"}, "the manifest of m:latest is damaged"),
        (GOOD | {MANIFEST_PATH: b""}, "the manifest of m:latest is damaged: the file is empty"),
        (GOOD | {MANIFEST_PATH: manifest_of(Layer(digest="../../x", size=1))}, "has a digest that is none"),
        (
            GOOD | {MANIFEST_PATH: bytes(LARGEST_MANIFEST_BYTES + 1)},
            "the manifest of m:latest has 4194305 bytes",
        ),
        ({GOOD_PATH: b"good"}, "there is no model in it"),
    ],
)
def test_a_hostile_archive_changes_nothing(store: ModelStore, files: dict[str, bytes], reason: str) -> None:
    before = files_of(store)
    with pytest.raises(tar.ArchiveRefused) as caught:
        taken(store, packed(files))
    assert reason in str(caught.value)
    assert files_of(store) == before


def test_more_models_than_memory_is_good_for_are_refused(empty: ModelStore) -> None:
    taking = Import(empty)
    content = bytes(LARGEST_MANIFEST_BYTES)
    for number in range(MOST_MANIFESTS_BYTES // LARGEST_MANIFEST_BYTES):
        path = f"manifests/a/b/c/{number}"
        taking.feed(tar.header(path, len(content), modified_s=0) + content)
    with pytest.raises(tar.ArchiveRefused, match="too many models"):
        taking.feed(tar.header("manifests/a/b/c/more", 1, modified_s=0))
    taking.close()


def test_the_names_of_models_count_too(empty: ModelStore) -> None:
    taking = Import(empty)
    content = bytes(LARGEST_MANIFEST_BYTES)
    for number in range(MOST_MANIFESTS_BYTES // LARGEST_MANIFEST_BYTES - 1):
        taking.feed(tar.header(f"manifests/a/b/large/{number}", len(content), modified_s=0) + content)
    for number in range(LARGEST_MANIFEST_BYTES // 512):
        taking.feed(tar.header(f"manifests/a/b/empty/{number}", 0, modified_s=0))
    with pytest.raises(tar.ArchiveRefused, match="too many models"):
        taking.feed(tar.header("manifests/a/b/empty/more", 0, modified_s=0))
    taking.close()


def test_the_same_model_twice_is_refused(empty: ModelStore) -> None:
    one = tar.header(MANIFEST_PATH, 0, modified_s=0)
    with pytest.raises(tar.ArchiveRefused, match="holds m:latest twice"):
        taken(empty, one + one + tar.END)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.999])
def test_an_archive_that_is_cut_off_changes_nothing(
    store: ModelStore, empty: ModelStore, share: float
) -> None:
    content = b"".join(Export(store, OWL).pieces())
    with pytest.raises(tar.ArchiveRefused, match="cut off"):
        taken(empty, content[: int((len(content) - 1024) * share)])
    assert not files_of(empty)


def test_an_import_that_is_given_up_leaves_nothing(store: ModelStore, empty: ModelStore) -> None:
    content = b"".join(Export(store, OWL).pieces())
    taking = Import(empty)
    taking.feed(content[: len(content) // 2])
    taking.close()
    assert not files_of(empty)


def test_a_blob_larger_than_the_disk_is_refused_at_once(small_disk: Path) -> None:
    store = ModelStore(StoreLayout(small_disk / "models"))
    taking = Import(store)
    with pytest.raises(DiskFull):
        taking.feed(tar.header(GOOD_PATH, 1 << 40, modified_s=0))
    taking.close()
    assert not files_of(store)


def test_a_model_that_is_not_there_cannot_be_exported(empty: ModelStore) -> None:
    with pytest.raises(ModelNotFound):
        Export(empty, OWL)


def test_a_model_whose_part_is_missing_is_not_exported(store: ModelStore) -> None:
    store.layout.blob(Digest.parse(blob_of(PARTS[1])[1].digest)).unlink()
    with pytest.raises(DamagedModel):
        Export(store, OWL)


@pytest.mark.parametrize("damaged", [b"w" * 700_000, b"short"])
def test_a_damaged_part_makes_no_complete_archive(store: ModelStore, damaged: bytes) -> None:
    export = Export(store, OWL)
    store.layout.blob(Digest.parse(blob_of(PARTS[1])[1].digest)).write_bytes(damaged)
    out: list[bytes] = []
    with pytest.raises(DamagedModel):
        out.extend(export.pieces())
    assert sum(map(len, out)) < export.size_bytes
