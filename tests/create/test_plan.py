"""Create requests: what is refused before anything is done."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.create.errors import CreateRefused
from orchestrator.create.plan import (
    CreateRequest,
    ExistingModel,
    RemoteModel,
    UploadedFiles,
    licenses_of,
    plan_create,
)
from orchestrator.domain.digests import InvalidDigest
from orchestrator.domain.names import InvalidName, ModelName

DIGEST = f"sha256:{'0' * 64}"


@pytest.mark.parametrize(
    ("request_", "base"),
    [
        (CreateRequest(model="m", base="owl:1"), ExistingModel(ModelName.parse("owl:1"))),
        (CreateRequest(model="m", base="owl:local"), ExistingModel(ModelName.parse("owl"))),
        (CreateRequest(model="m", base="owl:cloud"), RemoteModel("https://ollama.com:443", "owl")),
        (CreateRequest(model="m", base="owl:1-cloud"), RemoteModel("https://ollama.com:443", "owl:1")),
        (CreateRequest(model="m", base="owl", remote_host="h"), RemoteModel("http://h:11434", "owl")),
        (CreateRequest(model="m", files={"a": DIGEST}), UploadedFiles({"a": DIGEST})),
        (CreateRequest(model="m", files={}), UploadedFiles({})),
        (CreateRequest(model="m", base="owl", files={"a": DIGEST}), ExistingModel(ModelName.parse("owl"))),
    ],
)
def test_the_base_is_told_apart(request_: CreateRequest, base: object) -> None:
    assert plan_create(request_).base == base


def test_types_of_quantization_are_upper_case() -> None:
    plan = plan_create(
        CreateRequest(
            model="m", base="owl", quantize="q4_k_m", draft_files={"d": DIGEST}, draft_quantize="f16"
        )
    )
    assert (plan.quantize, plan.draft_quantize) == ("Q4_K_M", "F16")


@pytest.mark.parametrize("name", ["/a.gguf", "../a", "./a", "a//b", "", "a/", "a/../b"])
@pytest.mark.parametrize("field", ["files", "adapters", "draft_files"])
def test_names_that_lead_elsewhere_are_refused(name: str, field: str) -> None:
    files: dict[str, Any] = {field: {name: DIGEST}}
    with pytest.raises(CreateRefused, match="^file path must be relative$"):
        plan_create(CreateRequest(model="m", base="owl", **files))


@pytest.mark.parametrize("name", ["a.gguf", "sub/a.gguf", "a\\b", "..a"])
def test_names_inside_are_taken(name: str) -> None:
    plan_create(CreateRequest(model="m", files={name: DIGEST}))


def test_a_file_without_a_digest_is_refused() -> None:
    with pytest.raises(InvalidDigest, match="^invalid digest format$"):
        plan_create(CreateRequest(model="m", adapters={"a": ""}, base="owl"))


@pytest.mark.parametrize(
    "request_",
    [
        CreateRequest(model="", base="owl"),
        CreateRequest(model="a b", base="owl"),
        CreateRequest(model="m", base="a b"),
        CreateRequest(model="m", base="a:cloud:local"),
        CreateRequest(model="m", base="  "),
    ],
)
def test_bad_names_are_refused(request_: CreateRequest) -> None:
    with pytest.raises(InvalidName, match="^invalid model name$"):
        plan_create(request_)


@pytest.mark.parametrize(
    ("request_", "text"),
    [
        (CreateRequest(model="m"), "neither 'from' or 'files' was specified"),
        (
            CreateRequest(model="m", base="o", draft_quantize="q8_0"),
            "--draft-quantize requires a DRAFT model",
        ),
        (
            CreateRequest(model="m", base="o:cloud", draft_files={"d": DIGEST}),
            "DRAFT cannot be used with remote models",
        ),
        (CreateRequest(model="m", base="o", remote_host="http://[::1"), "bad remote"),
        (
            CreateRequest(model="m", base="o", info={"base_name": 1}),
            'info field "base_name" must be a string',
        ),
        (
            CreateRequest(model="m", base="o", info={"context_length": "1"}),
            'info field "context_length" must be a number',
        ),
        (
            CreateRequest(model="m", base="o", info={"context_length": True}),
            'info field "context_length" must be a number',
        ),
        (
            CreateRequest(model="m", base="o", info={"embedding_length": -1}),
            'info field "embedding_length" must be a non-negative integer',
        ),
    ],
)
def test_requests_that_contradict_themselves_are_refused(request_: CreateRequest, text: str) -> None:
    with pytest.raises(CreateRefused) as refused:
        plan_create(request_)
    assert str(refused.value) == text


def test_overrides_are_read_and_what_is_unknown_passed_over() -> None:
    info = {"capabilities": ["vision", 5], "model_family": "f", "context_length": 7.0, "zzz": 1}
    overrides = plan_create(CreateRequest(model="m", base="o", info=info)).overrides
    assert overrides.capabilities == ("vision",)
    assert (overrides.model_family, overrides.context_length) == ("f", 7)


def test_capabilities_that_are_no_list_are_passed_over() -> None:
    request = CreateRequest(model="m", base="o", info={"capabilities": "vision"})
    assert plan_create(request).overrides.capabilities == ()


@pytest.mark.parametrize(
    ("value", "texts"), [(None, ()), ("", ()), ("a", ("a",)), (["a", ""], ("a", "")), ([], ())]
)
def test_licenses_are_one_text_or_several(value: Any, texts: tuple[str, ...]) -> None:
    assert licenses_of(value) == texts


@pytest.mark.parametrize("value", [5, ["a", 1], {"a": "b"}, True])
def test_licenses_of_another_kind_are_refused(value: Any) -> None:
    with pytest.raises(TypeError):
        licenses_of(value)
