"""Names of models: the grammar, the renderings and the source selectors."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.names import (
    DEFAULT_PARTS,
    InvalidName,
    InvalidReference,
    ModelName,
    ModelReference,
    NameParts,
    Source,
)
from tests.golden_records import Record, cases

PART = st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,20}", fullmatch=True)


@pytest.mark.parametrize("record", cases("names/parse.jsonl"))
def test_a_name_is_parsed_as_recorded(record: Record) -> None:
    text, out = record["in"], record["out"]
    assert asdict(NameParts.split(text)) == out["bare"]
    if not out["valid"]:
        with pytest.raises(InvalidName, match=r"^invalid model name$"):
            ModelName.parse(text)
        return
    name = ModelName.parse(text)
    assert asdict(name) == out["full"]
    assert name.full == out["string"]
    assert name.short == out["shortest"]
    assert name.namespace_model == out["namespace_model"]
    assert str(name.path) == out["filepath"]
    assert name.base_url == out["base_url"]


@pytest.mark.parametrize("record", cases("names/parse.jsonl"))
def test_a_source_selector_is_read_as_recorded(record: Record) -> None:
    out = record["out"]
    if "ref_error" in out:
        with pytest.raises(InvalidReference) as refused:
            ModelReference.parse(record["in"])
        assert str(refused.value) == out["ref_error"]
        return
    reference = ModelReference.parse(record["in"])
    assert {"base": reference.base, "source": reference.source} == out["ref"]
    assert _is_valid(reference.base) == out["ref_valid"]
    assert reference.pull_name == out["pull_name"]
    assert (reference.source is Source.CLOUD) == out["pull_cloud"]


@pytest.mark.parametrize("record", cases("names/equal.jsonl"))
def test_names_are_compared_without_case_as_recorded(record: Record) -> None:
    one, other = (NameParts.split(text).merge(DEFAULT_PARTS) for text in record["in"])
    assert one.same_as(other) == record["out"]["equal_fold"]


@pytest.mark.parametrize("record", cases("names/merge.jsonl"))
def test_missing_parts_are_filled_in_as_recorded(record: Record) -> None:
    text, defaults = record["in"]
    merged = NameParts.split(text).merge(NameParts.split(defaults))
    assert asdict(merged) == record["out"]["merged"]
    assert str(merged) == record["out"]["string"]
    assert (merged.invalid_part is None) == record["out"]["valid"]


@pytest.mark.parametrize("record", cases("names/filepath.jsonl"))
def test_a_path_names_a_model_as_recorded(record: Record) -> None:
    out = record["out"]
    name = ModelName.from_path(record["in"])
    if not out["valid"]:
        assert name is None
        return
    assert name is not None
    assert asdict(name) | {"scheme": ""} == out["name"]
    assert name.short == out["shortest"]


@given(host=PART, namespace=PART, model=PART, tag=PART)
def test_every_rendering_is_parsed_back(host: str, namespace: str, model: str, tag: str) -> None:
    name = ModelName(host, namespace, model, tag)
    assert ModelName.parse(name.full) == name
    assert ModelName.parse(name.short).same_as(name)
    assert ModelName.from_path(name.path) == name


@given(st.text(max_size=60))
def test_any_text_is_a_name_or_refused(text: str) -> None:
    assert _is_valid(text) == (NameParts.split(text).merge(DEFAULT_PARTS).invalid_part is None)


@pytest.mark.parametrize("text", ["ann/tiny:1", "host.example:5000/ann/tiny:1", "hf.co/Ann/Tiny-GGUF:Q4_K_M"])
def test_namespaces_and_hosts_survive(text: str) -> None:
    assert ModelName.parse(text).short == text


def test_a_refused_name_says_which_part_is_wrong() -> None:
    with pytest.raises(InvalidName) as refused:
        ModelName.parse("a:b:c")
    assert (refused.value.part, refused.value.value) == ("model", "a:b")
    assert "the model is 'a:b' in 'a:b:c'" in str(refused.value.advice)


@pytest.mark.parametrize("name", ["x" * 10**6, "@" * 10**6, "a/" * 10**5])
def test_of_an_immense_name_a_part_is_shown(name: str) -> None:
    with pytest.raises(InvalidName) as refused:
        ModelName.parse(name)
    assert len(str(refused.value.advice)) < 500


def test_an_impossible_name_cannot_be_built() -> None:
    with pytest.raises(InvalidName):
        ModelName("h", "n", "..", "t")


def test_the_scheme_is_not_part_of_the_identity() -> None:
    plain, secure = ModelName.parse("http://h/n/m"), ModelName.parse("https://h/n/m")
    assert plain == secure
    assert plain.base_url != secure.base_url


@pytest.mark.parametrize(
    ("one", "other", "same"), [("Fox", "fox", True), ("Fox", "FOX:latest", True), ("fox", "foxes", False)]
)
def test_case_does_not_tell_models_apart(one: Any, other: Any, same: bool) -> None:
    assert ModelName.parse(one).same_as(ModelName.parse(other)) is same


def _is_valid(text: str) -> bool:
    try:
        ModelName.parse(text)
    except InvalidName:
        return False
    return True
