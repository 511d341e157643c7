"""Manifests: names in any case, whole files, and broken ones that do no harm."""

from __future__ import annotations

import hashlib
import logging
import stat
from pathlib import Path

import pytest

from orchestrator.domain.names import ModelName
from orchestrator.errors import StoreError
from orchestrator.store.errors import CorruptManifest, ModelNotFound
from orchestrator.store.layout import StoreLayout
from orchestrator.store.manifests import LARGEST_MANIFEST_BYTES, ManifestStore
from orchestrator.store.wire import Layer, Manifest, MediaType

FOX = ModelName.parse("Fox")
MANIFEST = Manifest(layers=(Layer(media_type=MediaType.MODEL, digest=f"sha256:{'a' * 64}", size=5),))


@pytest.fixture
def manifests(layout: StoreLayout) -> ManifestStore:
    return ManifestStore(layout)


def test_a_manifest_is_read_as_it_was_written(manifests: ManifestStore, layout: StoreLayout) -> None:
    manifests.write(FOX, MANIFEST)
    stored = manifests.read(FOX)
    content = layout.manifest(FOX).read_bytes()
    assert stored.manifest == MANIFEST
    assert stored.digest == hashlib.sha256(content).hexdigest()
    assert stored.size_bytes == 5
    assert stat.S_IMODE(layout.manifest(FOX).stat().st_mode) == 0o644
    assert layout.manifest(FOX).relative_to(layout.root).as_posix() == (
        "manifests/registry.ollama.ai/library/Fox/latest"
    )


def test_nothing_but_the_manifest_stays_behind(manifests: ManifestStore, layout: StoreLayout) -> None:
    manifests.write(FOX, MANIFEST)
    manifests.write(FOX, MANIFEST)
    assert [path for path in layout.manifests.rglob("*") if path.is_file()] == [layout.manifest(FOX)]


def test_bytes_of_a_registry_are_kept_as_they_came(manifests: ManifestStore, layout: StoreLayout) -> None:
    content = b'{ "layers": [],\n "schemaVersion": 2 }'
    manifests.write_bytes(FOX, content)
    assert layout.manifest(FOX).read_bytes() == content
    assert manifests.read(FOX).digest == hashlib.sha256(content).hexdigest()


@pytest.mark.parametrize(
    "asked", ["fox", "FOX:latest", "library/FOX", "REGISTRY.ollama.AI/Library/fOx:LATEST"]
)
def test_one_rule_of_case_for_every_spelling(manifests: ManifestStore, asked: str) -> None:
    manifests.write(FOX, MANIFEST)
    assert manifests.canonical(ModelName.parse(asked)) == FOX


def test_a_new_name_adopts_the_spelling_of_parts_that_exist(manifests: ManifestStore) -> None:
    manifests.write(ModelName.parse("Barn/Owl:Q4"), MANIFEST)
    assert manifests.canonical(ModelName.parse("barn/owl:q8")).short == "Barn/Owl:q8"
    assert manifests.canonical(ModelName.parse("barn/mouse:q4")).short == "Barn/mouse:Q4"


def test_a_whole_name_goes_before_parts_of_others(manifests: ManifestStore) -> None:
    manifests.write(ModelName.parse("a/Foo:x"), MANIFEST)
    manifests.write(ModelName.parse("b/foo:y"), MANIFEST)
    assert manifests.canonical(ModelName.parse("B/FOO:Y")).short == "b/foo:y"


def test_what_matches_nothing_stays_as_typed(manifests: ManifestStore) -> None:
    assert manifests.canonical(FOX) == FOX


def test_a_copy_has_the_same_digest(manifests: ManifestStore) -> None:
    manifests.write(FOX, MANIFEST)
    vixen = ModelName.parse("vixen")
    manifests.copy(FOX, vixen)
    assert manifests.read(vixen).digest == manifests.read(FOX).digest


@pytest.mark.parametrize("name", ["absent", "Fox/latest", "registry.ollama.ai/library/Fox"])
def test_an_absent_model_is_not_found(manifests: ManifestStore, name: str) -> None:
    manifests.write(FOX, MANIFEST)
    absent = ModelName.parse(name) if name == "absent" else ModelName("registry.ollama.ai", "x", "y", "z")
    with pytest.raises(ModelNotFound, match=f"^model '{absent.short}' not found$"):
        manifests.read(absent)
    with pytest.raises(ModelNotFound):
        manifests.copy(absent, FOX)
    with pytest.raises(ModelNotFound):
        manifests.delete(absent)


def test_deleting_removes_directories_that_are_empty_then(
    manifests: ManifestStore, layout: StoreLayout
) -> None:
    manifests.write(FOX, MANIFEST)
    manifests.write(ModelName.parse("barn/owl"), MANIFEST)
    manifests.delete(FOX)
    assert not (layout.manifests / "registry.ollama.ai" / "library").exists()
    assert [stored.name.short for stored in manifests.list()] == ["barn/owl:latest"]
    manifests.delete(ModelName.parse("barn/owl"))
    assert list(layout.manifests.iterdir()) == []


BROKEN = {
    b"": "the file is empty",
    b'{"layers":[': "no JSON: EOF while parsing a list at line 1 column 11",
    b"owl": "no JSON: expected value at line 1 column 1",
    b"[]": "expected an object, got a list",
    b'{"layers":{"a":1}}': "layers: expected a list, got an object",
    b'{"layers":[{"size":"many"}]}': "layers[0].size: expected a whole number, got a string",
    b'{"layers":[{"size":1.5}]}': "layers[0].size: expected a whole number, got the number 1.5",
    b'{"layers":[{"digest":5}]}': "layers[0].digest: expected a string, got the number 5",
    b'{"layers":[7]}': "layers[0]: expected an object, got the number 7",
    b'{"schemaVersion":[]}': "schemaVersion: expected a whole number, got a list",
    b'{"config":"sha256:x"}': "config: expected an object, got a string",
}


@pytest.mark.parametrize(("content", "why"), BROKEN.items())
def test_a_broken_manifest_is_skipped_and_kept_until_deleted(
    manifests: ManifestStore, layout: StoreLayout, caplog: pytest.LogCaptureFixture, content: bytes, why: str
) -> None:
    owl = ModelName.parse("owl")
    manifests.write(owl, MANIFEST)
    manifests.write_bytes(FOX, content)
    with pytest.raises(CorruptManifest) as caught:
        manifests.read(FOX)
    assert str(caught.value) == f"invalid manifest {layout.manifest(FOX)}: {why}"
    with pytest.raises(CorruptManifest):
        manifests.check()
    with caplog.at_level(logging.WARNING):
        assert [stored.name for stored in manifests.list()] == [owl]
    assert [record.message for record in caplog.records] == ["manifest skipped"]
    assert manifests.digests_in_use() == {f"sha256:{'a' * 64}"}
    assert layout.manifest(FOX).exists()
    caplog.clear()
    manifests.delete(manifests.canonical(ModelName.parse("FOX")))
    manifests.check()
    assert [stored.name for stored in manifests.list()] == [owl]
    assert caplog.records == []


def test_a_file_too_large_for_a_manifest_is_not_read(manifests: ManifestStore, layout: StoreLayout) -> None:
    manifests.write(FOX, MANIFEST)
    with layout.manifest(FOX).open("r+b") as file:
        file.truncate(LARGEST_MANIFEST_BYTES + 1)
    for read in (
        lambda: manifests.read(FOX),
        lambda: manifests.copy(FOX, ModelName.parse("owl")),
        manifests.check,
    ):
        with pytest.raises(CorruptManifest, match=f"it has {LARGEST_MANIFEST_BYTES + 1} bytes"):
            read()
    assert manifests.list() == []
    manifests.delete(FOX)


def test_files_that_name_no_model_are_passed_over(manifests: ManifestStore, layout: StoreLayout) -> None:
    manifests.write(FOX, MANIFEST)
    stray = layout.manifest(FOX).with_name(".DS_Store")
    stray.write_bytes(b"x")
    (layout.manifests / "registry.ollama.ai" / "README").write_bytes(b"x")
    layout.manifest(FOX).with_name("folder").mkdir()
    assert list(manifests.names()) == [FOX]
    assert [stored.name for stored in manifests.list()] == [FOX]
    with pytest.raises(CorruptManifest, match="names no model"):
        manifests.check()


def test_a_store_without_manifests_is_empty(manifests: ManifestStore) -> None:
    assert manifests.list() == []
    manifests.check()
    manifests.remove_empty_directories()


def test_linked_directories_are_followed_but_not_removed(
    manifests: ManifestStore, layout: StoreLayout, tmp_path: Path
) -> None:
    (tmp_path / "elsewhere").mkdir()
    layout.manifests.mkdir(parents=True)
    (layout.manifests / "registry.ollama.ai").symlink_to(tmp_path / "elsewhere")
    manifests.write(FOX, MANIFEST)
    assert [stored.name for stored in manifests.list()] == [FOX]
    manifests.delete(FOX)
    assert (layout.manifests / "registry.ollama.ai").is_symlink()
    assert manifests.list() == []


def test_a_linked_directory_on_another_disk_can_be_written(
    manifests: ManifestStore, layout: StoreLayout, small_disk: Path
) -> None:
    layout.manifests.mkdir(parents=True)
    (layout.manifests / "registry.ollama.ai").symlink_to(small_disk)
    manifests.write(FOX, MANIFEST)
    assert manifests.read(FOX).manifest == MANIFEST
    assert [path.name for path in small_disk.rglob("*") if path.is_file()] == ["latest"]


def test_a_full_disk_leaves_the_old_manifest(small_disk: Path) -> None:
    manifests = ManifestStore(StoreLayout(small_disk))
    manifests.write(FOX, MANIFEST)
    with pytest.raises(StoreError, match="no space left on device"):
        manifests.write_bytes(FOX, bytes(1 << 20))
    assert manifests.read(FOX).manifest == MANIFEST
    assert len([path for path in small_disk.rglob("*") if path.is_file()]) == 1
