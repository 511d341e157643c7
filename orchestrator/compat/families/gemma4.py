"""Gemma 4: towers for images and sound in the file, gates and ups of experts apart."""

from __future__ import annotations

from orchestrator.compat.draft import Draft
from orchestrator.compat.errors import CannotTranslate
from orchestrator.compat.families.base import Family
from orchestrator.compat.plan import Computed, FilePlan, Operation, PlannedTensor, Stretch
from orchestrator.compat.source import Source
from orchestrator.compat.tower import copy_float, copy_uint, promote_patches, set_pixels, tower
from orchestrator.files.gguf import TensorInfo

_TOWERS = ("a.", "v.", "mm.", "model.vision_tower.")
_TOKENIZER = "tokenizer.ggml.model"
_SOUND_PROJECTION = "mm.a.input_projection.weight"
_WIDEST = 8192
_PIXELS = ([0.0] * 3, [1.0] * 3)


def _is_private(source: Source) -> bool:
    return source.has_tensors(*_TOWERS) or source.config.string(_TOKENIZER) == "llama"


def _text(source: Source) -> FilePlan:
    draft = Draft(source)
    if source.config.string(_TOKENIZER) == "llama":
        draft.set(_TOKENIZER, "str", "gemma4")
    draft.hide(*_TOWERS)
    for block in source.block_numbers():
        _join_experts(draft, f"blk.{block}.")
    draft.rename("ffn_gate_inp.per_expert_scale", "ffn_down_exps.scale")
    return draft.plan()


def _join_experts(draft: Draft, block: str) -> None:
    """Gate and up of each expert in one tensor (T4), unless they are scaled one by one, or of two types."""
    gate, up = draft.get(f"{block}ffn_gate_exps.weight"), draft.get(f"{block}ffn_up_exps.weight")
    companions = (
        f"{block}ffn_{part}_exps.{scale}" for part in ("gate", "up") for scale in ("scale", "input_scale")
    )
    if gate is None or up is None or any(map(draft.get, companions)):
        return
    if (gate.type, gate.shape) != (up.type, up.shape) or len(gate.shape) != 3:
        return
    width, rows, experts = gate.shape
    halves = draft.stored(gate.name), draft.stored(up.name)
    data = tuple(_expert(half, number, experts) for number in range(experts) for half in halves)
    name = f"{block}ffn_gate_up_exps.weight"
    draft.replace([gate.name, up.name], PlannedTensor(name, (width, 2 * rows, experts), gate.type, data))


def _expert(tensor: TensorInfo, number: int, experts: int) -> Stretch:
    size = tensor.size_bytes // experts
    return Stretch(tensor.offset + number * size, size)


def _projector(source: Source) -> FilePlan:
    draft = tower(source, "", prefixes=("v.", "mm.", "a."))
    draft.set("clip.vision.projector_type", "str", "gemma4v")
    set_pixels(draft, _PIXELS)
    draft.set_if_absent("clip.vision.image_size", "u32", 224)
    promote_patches(draft)
    if source.has_tensors("a."):
        _hear(draft)
    return draft.plan()


def _hear(draft: Draft) -> None:
    """Add the keys of the sound tower, and give its tensors the engine's names."""
    draft.set("clip.has_audio_encoder", "bool", True)
    draft.set("clip.audio.projector_type", "str", "gemma4a")
    for name in ("block_count", "embedding_length", "feed_forward_length", "attention.head_count"):
        copy_uint(draft, f"audio.{name}", f"clip.audio.{name}")
    copy_float(draft, "audio.attention.layer_norm_epsilon", "clip.audio.attention.layer_norm_epsilon")
    draft.set("clip.audio.num_mel_bins", "u32", 128)
    copy_uint(draft, "embedding_length", "clip.audio.projection_dim")
    draft.rename_each(_sound_name)
    if draft.get(_SOUND_PROJECTION) is None:
        _project_to_itself(draft)


def _project_to_itself(draft: Draft) -> None:
    """A projection that changes nothing, for towers as wide as the text: engines die without one."""
    width = draft.source.config.uint("embedding_length")
    if width > _WIDEST or draft.stored("a.pre_encode.out.weight").shape[-1:] != (width,):
        raise CannotTranslate(f'gemma4 model without tensor "{_SOUND_PROJECTION}"')
    data = Computed(Operation.IDENTITY, arguments={"side": width})
    draft.add(PlannedTensor(_SOUND_PROJECTION, (width, width), "F32", data))


def _sound_name(name: str) -> str:
    if name == "a.pre_encode.out.weight":
        return "a.input_projection.weight"
    if name.startswith("mm.a.fc."):
        return name.replace("mm.a.fc.", "a.pre_encode.out.")
    if name.startswith("a.blk."):
        number, _, part = name.removeprefix("a.blk.").partition(".")
        word, _, rest = part.partition(".")
        return f"a.blk.{number}.{_SOUND_PARTS.get(word, word)}.{rest}"
    return name


_SOUND_PARTS = {
    "ln1": "attn_pre_norm",
    "ln2": "attn_post_norm",
    "layer_pre_norm": "ln2",
    "linear_pos": "attn_k_rel",
}

FAMILIES = {"gemma4": (Family(fits=_is_private, text=_text, projector=_projector),)}
