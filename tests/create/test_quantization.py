"""Which models are quantized, and the types their tensors get."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from orchestrator.create.errors import CreateFailed, QuantizerUnavailable
from orchestrator.create.parts import Part
from orchestrator.create.plan import CreatePlan, UploadedFiles
from orchestrator.create.quantization import (
    ACCEPTED,
    BY_HAND,
    Quantization,
    by_program,
    check_by_hand,
    least_bytes,
    left_out,
    quantization_of,
)
from orchestrator.create.quantizer import Quantizer
from orchestrator.create.rewrite import GgufFile
from orchestrator.domain.names import ModelName
from orchestrator.files.ggml import FILE_TYPE_NAMES, TENSOR_TYPES
from orchestrator.files.gguf import TensorInfo
from orchestrator.store.wire import Layer, MediaType
from tests.gguf_builder import Tensor, build_gguf
from tests.golden_records import Record, cases, records

WEIGHTS = Tensor("blk.0.attn_q.weight", (64, 32), "F16")
PLAN = CreatePlan(name=ModelName.parse("m"), base=UploadedFiles({}))
TYPES = {stored.name: stored for stored in TENSOR_TYPES.values()}
FILE_TYPES = {name: code for code, name in FILE_TYPE_NAMES.items()} | {"F32": 0}
REFUSAL = "quantization is only supported for F16, BF16 and F32 models"


def part(
    folder: Path,
    file_type: str = "F16",
    *tensors: Tensor,
    keys: Mapping[str, Any] | None = None,
    kind: MediaType = MediaType.MODEL,
    imported: bool = True,
) -> Part:
    path = folder / "model"
    metadata = {
        "general.architecture": "llama",
        "general.file_type": FILE_TYPES.get(file_type, 4),
        **(keys or {}),
    }
    path.write_bytes(build_gguf(metadata, tensors or (WEIGHTS,)))
    return Part(Layer(media_type=kind), files=(GgufFile.read(path),), imported=imported)


def wanting(quantize: str = "", draft_quantize: str = "") -> CreatePlan:
    return dataclasses.replace(PLAN, quantize=quantize, draft_quantize=draft_quantize)


@pytest.mark.parametrize("have", ["F16", "BF16", "F32"])
@pytest.mark.parametrize("wanted", sorted(ACCEPTED))
def test_models_in_floats_get_any_type(tmp_path: Path, have: str, wanted: str) -> None:
    found = quantization_of(wanting(quantize=wanted), part(tmp_path, have))
    target = "Q4_K_M" if wanted == "Q4_K" else wanted
    assert found == (None if have == target else Quantization(have, target))
    assert Quantization(have, target).status == f"quantizing {have} model to {target}"


def test_what_is_quantized_already_stays(tmp_path: Path) -> None:
    with pytest.raises(CreateFailed, match=f"^{REFUSAL}$"):
        quantization_of(wanting(quantize="Q8_0"), part(tmp_path, "Q4_K_M"))
    draft = part(tmp_path, "Q4_K_M", kind=MediaType.DRAFT)
    with pytest.raises(
        CreateFailed, match="^draft quantization requires an unquantized draft model, got Q4_K_M$"
    ):
        quantization_of(wanting(draft_quantize="Q8_0"), draft)


def test_each_kind_of_layer_has_its_own_wish(tmp_path: Path) -> None:
    plan = wanting(quantize="Q8_0", draft_quantize="F32")
    found = {kind: quantization_of(plan, part(tmp_path, kind=kind)) for kind in MediaType}
    assert {kind: change.target for kind, change in found.items() if change} == {
        MediaType.MODEL: "Q8_0",
        MediaType.DRAFT: "F32",
    }
    assert quantization_of(plan, Part(Layer(media_type=MediaType.SYSTEM))) is None


def test_weights_that_were_in_8_bit_floats_become_q8_0_on_import(tmp_path: Path) -> None:
    keys = {"llama.source_quantization": "hf_fp8"}
    assert quantization_of(PLAN, part(tmp_path, keys=keys)) == Quantization("F16", "Q8_0")
    assert quantization_of(PLAN, part(tmp_path, keys=keys, imported=False)) is None
    assert quantization_of(PLAN, part(tmp_path, "Q4_K_M", keys=keys)) is None
    assert quantization_of(wanting(quantize="F16"), part(tmp_path, keys=keys)) is None


@pytest.mark.parametrize(
    ("architecture", "first"),
    [
        ("qwen35", r"^blk\.[0-9]+\.nextn\.eh_proj\.weight$=q8_0"),
        ("qwen35moe", r"^blk\.[0-9]+\.nextn\.eh_proj\.weight$=q8_0"),
        ("gemma3n", r"^per_layer_token_embd\.weight$=f16"),
        ("deepseek2", r"attn_k_b\.weight$=q8_0"),
        ("glmocr", r"^token_embd\.weight$=f16"),
        ("glm4", r"^token_embd\.weight$=f16"),
        ("llama", None),
    ],
)
def test_some_families_need_better_types_in_small_mixtures(architecture: str, first: str | None) -> None:
    small = Quantization("F16", "Q4_K_S").overrides(architecture)
    assert small[:1] == ((first,) if first else ())
    assert Quantization("F16", "Q4_K_M").overrides(architecture) == small
    assert Quantization("F16", "Q8_0").overrides(architecture) == ()


def test_mixtures_need_the_program(tmp_path: Path) -> None:
    for target in BY_HAND:
        check_by_hand(Quantization("F16", target), part(tmp_path))
    with pytest.raises(QuantizerUnavailable) as refused:
        check_by_hand(Quantization("F16", "Q4_K_S"), part(tmp_path))
    assert str(refused.value).startswith("llama-quantize unavailable: quantizing to Q4_K_S needs the native")
    assert "ORCH_LLAMA_SERVER" in (refused.value.hint or "")


def test_files_in_the_other_byte_order_need_the_program(tmp_path: Path) -> None:
    path = tmp_path / "big"
    path.write_bytes(build_gguf({"general.architecture": "llama"}, [WEIGHTS], big_endian=True))
    big = Part(Layer(media_type=MediaType.MODEL), files=(GgufFile.read(path),), imported=True)
    with pytest.raises(QuantizerUnavailable, match="cannot be quantized without it"):
        check_by_hand(Quantization("F16", "Q8_0"), big)


def test_the_program_is_asked_for_a_copy_or_for_a_type(tmp_path: Path) -> None:
    model = part(tmp_path, keys={"general.architecture": "gemma3n"})
    quantizer, source, target = Quantizer.at(tmp_path / "q", {}), tmp_path / "in", tmp_path / "out"
    copy = by_program(quantizer, model, None, source, target)
    assert (copy.type, copy.overrides, copy.status) == ("COPY", (), "validating GGUF model")
    assert (copy.total_bytes, copy.needed_bytes) == (model.size_bytes, 64 * 32 * 2)
    smaller = by_program(quantizer, model, Quantization("F16", "Q4_K_M"), source, target)
    assert (smaller.type, smaller.status) == ("Q4_K_M", "quantizing F16 model to Q4_K_M")
    assert smaller.overrides == (r"^per_layer_token_embd\.weight$=f16",)
    assert smaller.needed_bytes == 64 * 32 // 32 * 22
    assert smaller.told_bytes < copy.told_bytes


def test_tensors_for_pictures_that_are_gone_are_found(tmp_path: Path) -> None:
    before = part(tmp_path, "F16", WEIGHTS, Tensor("v.a.weight", (4,)), Tensor("mm.b.weight", (4,)))
    path = tmp_path / "after"
    path.write_bytes(build_gguf({"general.architecture": "llama"}, [Tensor("mm.b.weight", (4,))]))
    assert [tensor.name for _, tensor in left_out(before, GgufFile.read(path))] == ["v.a.weight"]


# ---- recorded ----


def before(folder: str) -> tuple[str, list[TensorInfo]]:
    """File type and tensors of the model that a folder is converted to."""
    for record in records("convert/convert.jsonl"):
        if record["in"]["folder"] == folder:
            text = record["out"]["text"]
            have = text["metadata"]["general.file_type"]["value"]
            return FILE_TYPE_NAMES.get(have, "unknown"), [
                TensorInfo(tensor["name"], tuple(tensor["shape"]), tensor["type"], 0, 0)
                for tensor in text["tensors"]
            ]
    return "F16", list(wide_tensors(folder))


def wide_tensors(folder: str) -> Iterator[TensorInfo]:
    """Those of a folder that is only recorded here: asked for what it has, nothing has changed."""
    for record in records("convert/quantize.jsonl"):
        if record["in"] == {"folder": folder, "quantize": "f16"} and "out" in record:
            for name, kind in record["out"]["types"].items():
                yield TensorInfo(name, (512,) if kind == "F32" else (512, 512), kind, 0, 0)


def convertible() -> list[Any]:
    """The recorded cases, but the one that says no more than that the folder was not understood."""
    return [
        case
        for case in cases("convert/quantize.jsonl")
        if "out" in case.values[0] or "quantization" in case.values[0]["error"]
    ]


@pytest.mark.parametrize("record", convertible())
def test_types_and_refusals_are_the_recorded_ones(tmp_path: Path, record: Record) -> None:
    have, tensors = before(record["in"]["folder"])
    plan = wanting(quantize=record["in"]["quantize"].upper())
    if "out" not in record:
        with pytest.raises(CreateFailed) as refused:
            quantization_of(plan, part(tmp_path, have))
        assert str(refused.value) == record["error"]
        return
    change = quantization_of(plan, part(tmp_path, have))
    for tensor in tensors:
        ours = change.stored_type(tensor) if change else tensor.type
        recorded = record["out"]["types"][tensor.name]
        if change is None or change.target in BY_HAND or ours == tensor.type:
            assert (tensor.name, ours) == (tensor.name, recorded)
        else:
            assert packed(tensor, ours) <= packed(tensor, recorded)


def packed(tensor: TensorInfo, kind: str) -> int:
    return tensor.elements // TYPES[kind].block_size * TYPES[kind].block_bytes


def test_the_room_is_that_of_the_smallest_types(tmp_path: Path) -> None:
    model = part(tmp_path, "F16", WEIGHTS, Tensor("output_norm.weight", (64,), "F32"))
    assert least_bytes(model, None) == 64 * 32 * 2 + 64 * 4
    assert least_bytes(model, Quantization("F16", "Q8_0")) == 64 * 34 + 64 * 4
