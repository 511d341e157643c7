"""Whether a model can be quantized to what was asked for. Source: ``modelfile`` §5.4."""

from __future__ import annotations

from orchestrator.create.errors import CreateFailed, QuantizerMissing
from orchestrator.create.parts import Part
from orchestrator.create.plan import CreatePlan
from orchestrator.files.gguf import GgufHeader
from orchestrator.store.wire import MediaType

ACCEPTED = {
    "F32": "F32", "F16": "F16", "BF16": "BF16", "Q8_0": "Q8_0",
    "Q4_K_S": "Q4_K_S", "Q4_K_M": "Q4_K_M", "Q4_K": "Q4_K_M",
}  # fmt: skip
UNQUANTIZED = frozenset({"F32", "F16", "BF16"})


def check_quantization(plan: CreatePlan, part: Part) -> None:
    """Raises ``CreateFailed`` if ``part`` is to be quantized and that cannot be done."""
    if part.header is None:
        return
    if part.media_type == MediaType.MODEL and plan.quantize:
        have = _type_of(part.header)
        refusal = "quantization is only supported for F16, BF16 and F32 models"
        _check(have, plan.quantize, refusal)
    if part.media_type == MediaType.DRAFT and plan.draft_quantize:
        have = _type_of(part.header)
        refusal = f"draft quantization requires an unquantized draft model, got {have}"
        _check(have, plan.draft_quantize, refusal)


def _check(have: str, wanted: str, refusal: str) -> None:
    target = ACCEPTED.get(wanted)
    if target is None:
        raise CreateFailed(
            f"unsupported quantization type {wanted} - supported types are F32, F16, Q4_K_S, Q4_K_M, Q8_0"
        )
    if have not in UNQUANTIZED:
        raise CreateFailed(refusal)
    if have != target:
        raise QuantizerMissing(target)


def _type_of(header: GgufHeader) -> str:
    """The file type; F32, which has the number of "not given", is told by the key's being there."""
    if header.config.get("general.file_type") == 0:
        return "F32"
    return header.file_type_name
