"""The body of a create request."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

from orchestrator.domain.options import InvalidParameter
from orchestrator.errors import OrchestratorError
from orchestrator.modelfile.errors import InvalidModelfile
from orchestrator.modelfile.hashing import file_digests
from orchestrator.modelfile.parser import parse_modelfile
from orchestrator.modelfile.plan import Creation, plan_creation
from orchestrator.modelfile.request import create_request, request_names
from tests.golden_records import Record, cases, matches
from tests.modelfile.test_parser import source_of

PARSED = [
    case
    for case in [*cases("modelfile/parse.jsonl"), *cases("modelfile/files.jsonl")]
    if "out" in case.values[0]
]


@pytest.mark.parametrize("record", PARSED)
def test_a_request_is_built_as_recorded(record: Record, tmp_path: Path) -> None:
    lay_out(record, tmp_path)
    result = request_result(source_of(record), tmp_path)
    if "request_encode_error" in record["out"] and "request_error" in result:
        return  # refused before it is encoded, which is as good
    assert matches(requested(record), {"out": result}, masks(tmp_path))


def requested(record: Record) -> Record:
    """The record as far as the request goes."""
    kept = dict(record)
    for result in (kept, kept.get("also", {})):
        if "out" in result:
            result["out"] = {
                key: value for key, value in result["out"].items() if key not in ("commands", "printed")
            }
    return kept


def masks(directory: Path) -> dict[str, str]:
    return {"<DIR>": str(directory), "<HOME>": str(Path.home())}


def lay_out(record: Record, directory: Path) -> None:
    for name, content in record["in"].get("files", {}).items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(content))
    for name, target in record["in"].get("links", {}).items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(target)


def request_result(source: bytes, directory: Path) -> dict[str, Any]:
    """The request in its recorded form: files under their full paths instead of their names."""
    modelfile = parse_modelfile(source)
    try:
        plan = plan_creation(modelfile, directory)
    except (OrchestratorError, OSError) as error:
        return {"request_error": str(error)}
    digests = file_digests((*plan.files, *plan.adapters, *plan.draft_files))
    request = create_request(plan, digests)
    for member, paths in (
        ("files", plan.files),
        ("adapters", plan.adapters),
        ("draft_files", plan.draft_files),
    ):
        if paths:
            request[member] = {
                str(path).replace(str(directory), "<DIR>"): str(digests[path]) for path in paths
            }
    result: dict[str, Any] = {"request": request}
    if plan.warnings:
        result["stdout"] = "".join(f"{line}\n" for line in plan.warnings)
    return result


def plan_of(text: str, directory: Path) -> Creation:
    return plan_creation(parse_modelfile(text), directory)


def test_a_file_next_to_the_modelfile_shadows_a_model_of_its_name(tmp_path: Path) -> None:
    assert plan_of("FROM owlet\n", tmp_path).base == "owlet"
    (tmp_path / "owlet").write_bytes(b"GGUF")
    plan = plan_of("FROM owlet\n", tmp_path)
    assert (plan.base, plan.files) == ("", (tmp_path / "owlet",))


def test_a_quoted_path_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "my model.gguf").write_bytes(b"GGUF")
    assert plan_of('FROM "./my model.gguf"', tmp_path).files == (tmp_path / "my model.gguf",)


def test_a_name_too_long_for_a_path_is_a_name(tmp_path: Path) -> None:
    assert plan_of(f"FROM {'x' * 5000}", tmp_path).base == "x" * 5000


@pytest.mark.parametrize("name", ["adapter_model.safetensors", "adapters.safetensors"])
def test_the_usual_names_of_adapters_are_found(tmp_path: Path, name: str) -> None:
    (tmp_path / "lora").mkdir()
    for file in (name, "adapter_config.json"):
        (tmp_path / "lora" / file).write_text("{}")
    plan = plan_of("FROM owlet\nADAPTER lora", tmp_path)
    assert [path.name for path in plan.adapters] == ["adapter_config.json", name]
    with pytest.raises(InvalidModelfile, match="no Modelfile or safetensors files found"):
        plan_of("FROM lora", tmp_path)


def test_a_linked_directory_is_inside_itself(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "model.safetensors").write_bytes(b"x")
    (tmp_path / "link").symlink_to("real")
    assert plan_of("FROM link", tmp_path).files == (tmp_path / "real" / "model.safetensors",)


def test_a_missing_adapter_is_an_error_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        plan_of("FROM owlet\nADAPTER missing.gguf", tmp_path)


def test_a_draft_is_another_file_than_the_model(tmp_path: Path) -> None:
    (tmp_path / "a.gguf").write_bytes(b"GGUF")
    (tmp_path / "b.gguf").symlink_to("a.gguf")
    with pytest.raises(InvalidModelfile, match="^DRAFT must not reference the same local path as FROM: "):
        plan_of("FROM a.gguf\nDRAFT b.gguf", tmp_path)


def test_a_draft_that_is_not_there_is_missing_also_under_the_name_of_the_model(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        plan_of("FROM owlet\nDRAFT owlet", tmp_path)


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("ADAPTER missing.gguf", "PARAMETER flavour sweet"),
        ("PARAMETER flavour sweet", "DRAFT missing.gguf"),
        ("DRAFT missing.gguf", "REQUIRES soon"),
        ("REQUIRES soon", "FROM ~nobody-here/m.gguf"),
        ("FROM ~nobody-here/m.gguf", "ADAPTER missing.gguf"),
    ],
)
def test_of_several_mistakes_the_first_in_the_file_is_told(tmp_path: Path, first: str, then: str) -> None:
    told = []
    for text in (first, f"{first}\n{then}", f"{then}\n{first}"):
        with pytest.raises((InvalidModelfile, InvalidParameter, OSError)) as error:
            plan_of(f"FROM owlet\n{text}", tmp_path)
        told.append(str(error.value))
    assert told[0] == told[1] != told[2]


@pytest.mark.parametrize("text", ["FROM .", "FROM owlet\nDRAFT .", "FROM owlet\nADAPTER ./circle"])
def test_links_in_a_circle_are_an_error_of_the_system(tmp_path: Path, text: str) -> None:
    for name in ("model.safetensors", "circle"):
        (tmp_path / name).symlink_to(name)
    with pytest.raises(OSError, match="symbolic links"):
        plan_of(text, tmp_path)


def test_a_circle_that_is_no_file_hides_no_draft(tmp_path: Path) -> None:
    (tmp_path / "circle").symlink_to("circle")
    (tmp_path / "draft.gguf").write_bytes(b"GGUF")
    plan = plan_of("FROM ./circle\nDRAFT draft.gguf", tmp_path)
    assert (plan.base, plan.draft_files) == ("./circle", (tmp_path / "draft.gguf",))


def test_paths_are_told_without_dots(tmp_path: Path) -> None:
    """Files above the Modelfile have names that a server takes, which are without dots."""
    (tmp_path / "here").mkdir()
    for name in ("a.gguf", "here/b.gguf"):
        (tmp_path / name).write_bytes(b"GGUF")
    plan = plan_of("FROM ../a.gguf\nFROM ./b.gguf", tmp_path / "here")
    assert list(request_names(plan.files).values()) == ["a.gguf", "here/b.gguf"]


@pytest.mark.parametrize("version", ["1", "v1.2", "0.14.0-rc.1+b7", "10.20.30"])
def test_a_version_may_be_shortened(tmp_path: Path, version: str) -> None:
    assert plan_of(f"FROM owlet\nREQUIRES {version}", tmp_path).requires == version.removeprefix("v")


@pytest.mark.parametrize("version", ["01", "1.", "1-rc", "1.2.3-01", "V1", "1.2.3+", "1.2.3-a..b", "vv1"])
def test_a_wrong_version_is_refused(tmp_path: Path, version: str) -> None:
    with pytest.raises(InvalidModelfile, match="^requires must be a valid semver"):
        plan_of(f"FROM owlet\nREQUIRES {version}", tmp_path)


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        ([], []),
        (["/a/b/c.gguf"], ["c.gguf"]),
        (["/a/b/x.json", "/a/b/2_Dense/x.json"], ["x.json", "2_Dense/x.json"]),
        (["/a/b/x.gguf", "/a/c/y.gguf"], ["b/x.gguf", "c/y.gguf"]),
    ],
)
def test_files_are_named_below_the_folder_they_share(paths: list[str], names: list[str]) -> None:
    assert list(request_names([Path(path) for path in paths]).values()) == names
