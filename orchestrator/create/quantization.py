"""Which models get another type, and which type each of their tensors gets then. Source: ``modelfile`` §5.4.

llama.cpp's program does it all. Without it, types that need no mixture of others can be made by hand: their
rules are few, and the formats simple.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from orchestrator.create.errors import CreateFailed, QuantizerUnavailable
from orchestrator.create.parts import TOLD_BYTES, VALIDATING, VERIFYING, Part, Rewriting, is_multimodal
from orchestrator.create.plan import CreatePlan
from orchestrator.create.quantizer import Quantizer, QuantizerRun
from orchestrator.create.rewrite import GgufFile, can_be_rewritten, normal_form
from orchestrator.files.ggml import FILE_TYPE_NAMES, TENSOR_TYPES, packed_bytes
from orchestrator.files.gguf import GgufHeader, TensorInfo
from orchestrator.store.wire import MediaType

ACCEPTED = {
    "F32": "F32", "F16": "F16", "BF16": "BF16", "Q8_0": "Q8_0",
    "Q4_K_S": "Q4_K_S", "Q4_K_M": "Q4_K_M", "Q4_K": "Q4_K_M",
}  # fmt: skip
UNQUANTIZED = frozenset({"F32", "F16", "BF16"})
BY_HAND = frozenset({"F32", "F16", "BF16", "Q8_0"})

QUANTIZED_TOLD_BYTES = 64 << 20
"""Quantizing takes its time, so it is told of more often than copying."""

_OVERRIDES: Mapping[str, tuple[str, ...]] = {
    "qwen35": (r"^blk\.[0-9]+\.nextn\.eh_proj\.weight$=q8_0",),
    "qwen35moe": (r"^blk\.[0-9]+\.nextn\.eh_proj\.weight$=q8_0",),
    "gemma3n": (r"^per_layer_token_embd\.weight$=f16",),
    "deepseek2": (
        r"attn_k_b\.weight$=q8_0",
        r"attn_q_a\.weight$=q8_0",
        r"attn_q_b\.weight$=q8_0",
        r"attn_v_b\.weight$=q8_0",
        r"attn_kv_a_mqa\.weight$=q8_0",
    ),
    "glmocr": (r"^token_embd\.weight$=f16", r"^output\.weight$=f16"),
    "glm4": (r"^token_embd\.weight$=f16", r"^output\.weight$=f16"),
}

_KEPT_NAMES = frozenset({"position_embd.weight", "token_types.weight"})
_KEPT_PARTS = (
    "_norm.weight", "ffn_gate_inp.weight", "ffn_gate_tid2eid.weight", "altup", "laurel",
    "per_layer_model_proj", "ssm_conv1d", "shortconv.conv.weight", "indexer.k_proj.weight",
    "indexer.q_proj.weight",
    "time_mix_first.weight", "time_mix_w0.weight", "time_mix_w1.weight", "time_mix_w2.weight",
    "time_mix_v0.weight", "time_mix_v1.weight", "time_mix_v2.weight", "time_mix_a0.weight",
    "time_mix_a1.weight", "time_mix_a2.weight", "time_mix_g1.weight", "time_mix_g2.weight",
    "time_mix_decay_w1.weight", "time_mix_decay_w2.weight", "time_mix_lerp_fused.weight", "attn_rel_b.weight",
)  # fmt: skip
"""Of names of tensors that are small, or suffer: they keep their type."""

_LEAST_TYPES = {"Q4_K_S": ("Q4_K", "Q5_0"), "Q4_K_M": ("Q4_K", "Q5_0")}
"""Types that mix several → the smallest, then the one for rows that it does not fit."""
_LAST_RESORT = "F16"

_FILE_TYPES = {"F32": 0} | {name: code for code, name in FILE_TYPE_NAMES.items()}
_BLOCK_SIZES = {stored.name: stored.block_size for stored in TENSOR_TYPES.values()}


@dataclass(frozen=True, slots=True)
class Quantization:
    """A model's way from one type to another."""

    have: str
    target: str

    @property
    def status(self) -> str:
        """How it is told of."""
        return f"quantizing {self.have} model to {self.target}"

    def overrides(self, architecture: str) -> tuple[str, ...]:
        """``PATTERN=TYPE`` of the tensors for which the program's own choice is not good enough."""
        return _OVERRIDES.get(architecture, ()) if self.target in _LEAST_TYPES else ()

    def stored_type(self, tensor: TensorInfo) -> str:
        """The type that llama.cpp gives a tensor; of a mixture, the smallest it may give."""
        if not _may_change(tensor):
            return tensor.type
        row = tensor.shape[0]
        wanted = _LEAST_TYPES.get(self.target, (self.target,))
        return next((kind for kind in wanted if row % _BLOCK_SIZES[kind] == 0), _LAST_RESORT)


def quantization_of(plan: CreatePlan, part: Part) -> Quantization | None:
    """What ``plan`` wants done to the numbers of ``part``, if anything.

    Raises ``CreateFailed`` when that is something else than can be done.
    """
    header = part.header
    if header is None:
        return None
    have = _type_of(header)
    if part.media_type == MediaType.MODEL:
        wanted = plan.quantize or _implied(part, have)
        refusal = "quantization is only supported for F16, BF16 and F32 models"
    elif part.media_type == MediaType.DRAFT:
        wanted = plan.draft_quantize
        refusal = f"draft quantization requires an unquantized draft model, got {have}"
    else:
        return None
    if not wanted:
        return None
    target = ACCEPTED.get(wanted)
    if target is None:
        raise CreateFailed(
            f"unsupported quantization type {wanted} - supported types are F32, F16, Q4_K_S, Q4_K_M, Q8_0"
        )
    if have not in UNQUANTIZED:
        raise CreateFailed(refusal)
    return Quantization(have, target) if have != target else None


def check_by_hand(quantization: Quantization, part: Part) -> None:
    """Raises ``QuantizerUnavailable`` for what cannot be done without the program."""
    if quantization.target not in BY_HAND:
        raise QuantizerUnavailable(
            f"quantizing to {quantization.target} needs the native engine, which brings it; "
            "the embedded engine can make F32, F16, BF16 and Q8_0"
        )
    if part.header is None or not can_be_rewritten(part.header):
        raise QuantizerUnavailable("this file cannot be quantized without it")


def by_hand(quantization: Quantization, part: Part) -> Rewriting:
    """How a model gets its new type without the program."""
    image = normal_form(
        part.files, file_type=_FILE_TYPES[quantization.target], stored_type=quantization.stored_type
    )
    return Rewriting(image, during=quantization.status, after=VERIFYING, told_bytes=QUANTIZED_TOLD_BYTES)


def by_program(
    quantizer: Quantizer, part: Part, quantization: Quantization | None, source: Path, target: Path
) -> QuantizerRun:
    """How the program writes ``target``: a copy of ``source``, which checks it, or one of another type."""
    run = QuantizerRun(
        quantizer=quantizer,
        source=source,
        target=target,
        status=VALIDATING,
        total_bytes=part.size_bytes,
        needed_bytes=least_bytes(part, quantization),
        told_bytes=TOLD_BYTES,
    )
    if quantization is None:
        return run
    return replace(
        run,
        type=quantization.target,
        overrides=quantization.overrides(part.files[0].header.config.architecture),
        status=quantization.status,
        told_bytes=QUANTIZED_TOLD_BYTES,
    )


def least_bytes(part: Part, quantization: Quantization | None) -> int:
    """The room that the tensors of a model take at least when it has been written anew."""
    return sum(
        packed_bytes(quantization.stored_type(tensor), tensor.elements) if quantization else tensor.size_bytes
        for file in part.files
        for tensor in file.header.tensors
    )


def left_out(part: Part, written: GgufFile) -> list[tuple[GgufFile, TensorInfo]]:
    """The tensors for pictures and sound that are not in what the program has written."""
    names = {tensor.name for tensor in written.header.tensors}
    return [
        (file, tensor)
        for file in part.files
        for tensor in file.header.tensors
        if is_multimodal(tensor) and tensor.name not in names
    ]


def _implied(part: Part, have: str) -> str:
    """The type for weights that were in FP8 before they were converted, if nobody wants another."""
    if not part.imported or part.header is None or have not in UNQUANTIZED:
        return ""
    return "Q8_0" if part.header.config.string("source_quantization") == "hf_fp8" else ""


def _type_of(header: GgufHeader) -> str:
    """The file type; F32, which has the number of "not given", is told by the key's being there."""
    if header.config.get("general.file_type") == 0:
        return "F32"
    return header.file_type_name


def _may_change(tensor: TensorInfo) -> bool:
    """Whether quantizing a model changes this tensor: a matrix of weights that is not better left alone."""
    is_matrix = any(size > 1 for size in tensor.shape[1:])
    return (
        is_matrix
        and tensor.name.endswith("weight")
        and tensor.name not in _KEPT_NAMES
        and not any(part in tensor.name for part in _KEPT_PARTS)
        and not is_multimodal(tensor)
    )
