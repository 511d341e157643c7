"""The file of a vision tower: what those of all families have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from orchestrator.compat.draft import Draft, joined
from orchestrator.compat.plan import Computed, Operation, PlannedTensor
from orchestrator.compat.source import Source
from orchestrator.files.gguf import TensorInfo

HALF = ([0.5] * 3, [0.5] * 3)
CLIP = ([0.48145466, 0.4578275, 0.40821073], [0.26862954, 0.26130258, 0.27577711])
"""Mean and deviation of pixels."""

_COPIED_UINTS = (
    *("block_count", "embedding_length", "feed_forward_length", "attention.head_count", "image_size"),
    *("patch_size", "num_channels", "spatial_merge_size"),
)
_PATCHES = ("v.patch_embd.weight", "v.patch_embd.weight.1")
FRAME_NAMES: Mapping[str, str] = {f"v.patch_embd_{frame}.weight": name for frame, name in enumerate(_PATCHES)}
"""Published names of the convolutions of two frames → those of the engine."""


def tower(source: Source, kind: str, *, prefixes: tuple[str, ...] = ("v.", "mm.")) -> Draft:
    """A draft with the keys and tensors of the tower in ``source``.

    ``kind`` is the name of the projector; empty leaves it to the caller, for files of several towers.
    """
    draft = Draft(source)
    draft.clear_metadata("clip")
    draft.set("general.type", "str", "mmproj")
    draft.set("clip.has_vision_encoder", "bool", True)
    if kind:
        draft.set("clip.projector_type", "str", kind)
    for name in _COPIED_UINTS:
        copy_uint(draft, f"vision.{name}", f"clip.vision.{name}")
    copy_float(draft, "vision.attention.layer_norm_epsilon", "clip.vision.attention.layer_norm_epsilon")
    for name in ("image_mean", "image_std"):
        copy_floats(draft, f"vision.{name}", f"clip.vision.{name}")
    copy_uint(draft, "embedding_length", "clip.vision.projection_dim")
    draft.keep(lambda name: name.startswith(prefixes))
    return draft


def copy_uint(draft: Draft, key: str, to: str, *, default: int | None = None) -> None:
    """Take over an integer of the source; without one, ``default`` if there is none in the draft yet."""
    value = draft.source.config.uint(key, default=-1)
    if value >= 0:
        draft.set(to, "u32", value)
    elif default is not None:
        draft.set_if_absent(to, "u32", default)


def copy_float(draft: Draft, key: str, to: str, *, default: float | None = None) -> None:
    """As ``copy_uint``, for a number."""
    value = draft.source.config.get(key)
    if isinstance(value, int | float) and not isinstance(value, bool):
        draft.set(to, "f32", float(value))
    elif default is not None:
        draft.set_if_absent(to, "f32", default)


def copy_floats(draft: Draft, key: str, to: str) -> None:
    """Take over an array of numbers, if it is there."""
    value = draft.source.config.get(key)
    if isinstance(value, tuple) and value:
        draft.set(to, "arr:f32", value)


def set_pixels(draft: Draft, statistics: tuple[list[float], list[float]]) -> None:
    """Mean and deviation of pixels, where the model does not say."""
    for name, value in zip(("image_mean", "image_std"), statistics, strict=True):
        draft.set_if_absent(f"clip.vision.{name}", "arr:f32", value)


def activate(draft: Draft, name: str) -> None:
    """Name the activation function: ``gelu`` or ``silu``."""
    draft.set(f"clip.use_{name}", "bool", True)


def rename_all(draft: Draft, names: Mapping[str, str]) -> None:
    """Rename by each pair in turn."""
    for old, new in names.items():
        draft.rename(old, new)


def promote_patches(draft: Draft) -> None:
    """Convolutions of patches are read in F32 by every back end."""
    draft.promote(*_PATCHES)


def join_attention(draft: Draft) -> None:
    """Stack query, key and value of each block (T1); as F32 where their types differ."""
    for name in [name for name in draft.tensors if ".attn_q." in name]:
        parts = [name.replace(".attn_q.", f".attn_{letter}.") for letter in "qkv"]
        if all(map(draft.get, parts)):
            draft.replace(parts, stacked(draft, name.replace(".attn_q.", ".attn_qkv."), parts))


def stacked(draft: Draft, name: str, parts: Sequence[str]) -> PlannedTensor:
    """Tensors one above the other, along their outermost axis."""
    stored = [draft.stored(part) for part in parts]
    shape = (*stored[0].shape[:-1], sum(tensor.shape[-1] for tensor in stored))
    if len({tensor.type for tensor in stored}) == 1:
        return joined(name, stored, shape)
    return PlannedTensor(name, shape, "F32", Computed(Operation.PROMOTE, tuple(stored)))


def split_frames(draft: Draft, name: str) -> None:
    """The convolution over two frames as one for each (T2)."""
    stored = draft.stored(name)
    channels = draft.source.config.uint("vision.num_channels") or 3
    draft.replace([name], _frame(stored, 0, channels))
    draft.add(_frame(stored, 1, channels))


def _frame(stored: TensorInfo, number: int, channels: int) -> PlannedTensor:
    width, height = stored.shape[:2]
    shape = (width, height, channels, stored.elements // (2 * width * height * channels))
    arguments = {"number": number, "channels": channels}
    return PlannedTensor(_PATCHES[number], shape, "F32", Computed(Operation.FRAME, (stored,), arguments))
