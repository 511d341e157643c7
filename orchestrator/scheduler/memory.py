"""What a model will need. Source: ``scheduler`` §7.1, §3.2, §5.1.

The prediction is pessimistic for models with sliding windows or recurrent layers.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass

from orchestrator.domain.devices import Device
from orchestrator.domain.loads import LoadSpec, ModelFiles
from orchestrator.runners.llama.launch import BATCH_SURCHARGES
from orchestrator.units import GIB

logger = logging.getLogger(__name__)


_KV_BYTES = {
    "f32": 4.0,
    "f16": 2.0,
    "bf16": 2.0,
    "q8_0": 34 / 32,
    "q5_1": 24 / 32,
    "q5_0": 22 / 32,
    "q4_1": 20 / 32,
    "q4_0": 18 / 32,
    "iq4_nl": 18 / 32,
}
"""Bytes per element of the KV cache types: block size over elements per block."""

_ONE_SLOT_FAMILIES = frozenset({
    "mllama", "qwen3vl", "qwen3vlmoe", "qwen35", "qwen35moe", "qwen3next", "lfm2", "lfm2moe",
    "nemotron_h", "nemotron_h_moe", "nemotron_h_omni",
})  # fmt: skip

_TIERS = ((47 * GIB, 262144), (23 * GIB, 32768))
_SMALLEST_TIER = 4096


@dataclass(frozen=True, slots=True)
class Prediction:
    """Bytes that a model will need."""

    weights_bytes: int
    """Weights, projector, adapters and draft: what mmap can leave on disk."""
    kv_bytes: int

    @property
    def total_bytes(self) -> int:
        """All of it resident."""
        return self.weights_bytes + self.kv_bytes


def predict(spec: LoadSpec, *, slots: int, kv_type: str = "", extra_bytes: int = 0) -> Prediction:
    """What ``spec`` needs with so many slots. ``extra_bytes`` is the size of adapters and draft files."""
    facts = spec.files.facts
    return Prediction(
        weights_bytes=facts.size_bytes + facts.projector_bytes + extra_bytes,
        kv_bytes=kv_bytes(spec, slots=slots, kv_type=kv_type),
    )


def kv_bytes(spec: LoadSpec, *, slots: int, kv_type: str = "") -> int:
    """Keys and values of every layer for the whole context of every slot; embedding models keep f16."""
    facts = spec.files.facts
    if facts.head_count_max == 0:
        return 0
    head_size = facts.embedding_length // facts.head_count_max
    elements = 2 * facts.block_count * max(facts.head_count_kv_min, 1) * head_size
    element_bytes = 2.0 if facts.pooling_type is not None else _KV_BYTES.get(kv_type.lower(), 2.0)
    return int(elements * total_context(spec, slots=slots) * element_bytes)


def total_context(spec: LoadSpec, *, slots: int) -> int:
    """Tokens of context over all slots, each within what the model was trained for."""
    return spec.window * slots


def batch_surcharge(batch: int) -> int:
    """What large batches need beyond the prediction, for models that generate."""
    return next((extra for least, extra in BATCH_SURCHARGES.items() if batch >= least), 0)


def slots_of(files: ModelFiles, wanted: int) -> int:
    """How many slots a runner gets when the operator wants so many per model."""
    if wanted <= 1 or "completion" not in files.capabilities:
        return 1
    if files.facts.architecture in _ONE_SLOT_FAMILIES or files.family in _ONE_SLOT_FAMILIES:
        logger.warning(
            "the model's family allows one slot only", extra={"model": files.name, "wanted": wanted}
        )
        return 1
    return wanted


def context_tier(devices: Iterable[Device], *, overhead_bytes: int = 0) -> int:
    """The default ``num_ctx`` of a machine with these GPUs; ``overhead_bytes`` is set aside on each."""
    total = sum(max(device.total_bytes - overhead_bytes, 0) for device in devices)
    return next((context for least, context in _TIERS if total >= least), _SMALLEST_TIER)


def lower_tier(num_ctx: int) -> int | None:
    """The next smaller automatic window to try after memory ran out; ``None`` when there is none."""
    for _, context in _TIERS[1:]:
        if num_ctx > context:
            return context
    return _SMALLEST_TIER if num_ctx > _SMALLEST_TIER else None
