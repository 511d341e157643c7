"""Tiny vision towers as llama.cpp's own converter would write them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from tests.compat.stock import FF, E
from tests.compat.tiny import Model, numbers, tensor, tower
from tests.compat.tiny import random_tensor as random
from tests.gguf_builder import Tensor, Typed

V, V_FF, V_BLOCKS, PATCH = 64, 96, 2, 14
"""Of vision towers: width, feed-forward width, blocks, and side of a patch."""


def _vision(*, side: int, width: int = E, **more: Any) -> dict[str, Any]:
    keys = {
        "block_count": V_BLOCKS,
        "embedding_length": V,
        "feed_forward_length": V_FF,
        "attention.head_count": 2,
        "attention.layer_norm_epsilon": 1e-6,
        "image_size": side,
        "patch_size": PATCH,
        "projection_dim": width,
        **{key.replace("__", "."): value for key, value in more.items()},
    }
    return {f"clip.vision.{key}": value for key, value in keys.items()}


def _pixels(mean: list[float], deviation: list[float]) -> dict[str, Any]:
    return {"clip.vision.image_mean": mean, "clip.vision.image_std": deviation}


HALF = _pixels([0.5] * 3, [0.5] * 3)
CLIP = _pixels([0.48145466, 0.4578275, 0.40821073], [0.26862954, 0.26130258, 0.27577711])


def _tower_blocks(
    *parts: str, fused: bool = False, biases: bool = True, gate: bool = False, ln_bias: bool = True
) -> Iterator[Tensor]:
    """Blocks of a tower; matrices in half precision."""
    matrices = {"attn_qkv": (V, 3 * V)} if fused else {f"attn_{letter}": (V, V) for letter in "qkv"}
    matrices |= {"attn_out": (V, V), "ffn_up": (V, V_FF), "ffn_down": (V_FF, V)}
    if gate:
        matrices["ffn_gate"] = (V, V_FF)
    for number in range(V_BLOCKS):
        for name, shape in matrices.items():
            yield random(f"v.blk.{number}.{name}.weight", shape, "F16")
            if biases:
                yield random(f"v.blk.{number}.{name}.bias", shape[1:])
        for name in ("ln1", "ln2", *parts):
            yield random(f"v.blk.{number}.{name}.weight", (V,))
            if ln_bias:
                yield random(f"v.blk.{number}.{name}.bias", (V,))


def _pair(name: str, shape: tuple[int, ...], kind: str = "F32") -> Iterator[Tensor]:
    yield random(f"{name}.weight", shape, kind)
    yield random(f"{name}.bias", shape[-1:])


_PATCHES = ("v.patch_embd.weight", (PATCH, PATCH, 3, V))


def gemma3_tower() -> Model:
    side = 112
    return tower(
        "gemma3",
        _vision(side=side) | HALF | {"clip.use_gelu": True},
        [
            random(*_PATCHES),
            random("v.patch_embd.bias", (V,)),
            random("v.position_embd.weight", (V, (side // PATCH) ** 2)),
            *_pair("v.post_ln", (V,)),
            random("mm.input_projection.weight", (E, V), "F16"),
            random("mm.soft_emb_norm.weight", (V,)),
            *_tower_blocks(),
        ],
    )


def qwen25vl_tower() -> Model:
    keys = _vision(side=560, spatial_merge_size=2, n_wa_pattern=2, window_size=112)
    return tower(
        "qwen2.5vl_merger",
        keys | CLIP | {"clip.use_silu": True},
        [
            random(*_PATCHES),
            random("v.patch_embd.weight.1", _PATCHES[1]),
            random("v.post_ln.weight", (V,)),
            *_pair("mm.0", (4 * V, 4 * V), "F16"),
            *_pair("mm.2", (4 * V, E), "F16"),
            *_tower_blocks(gate=True, ln_bias=False),
        ],
    )


def _qwen3_tower(*, side: int, deep: bool) -> Model:
    keys = _vision(side=side, spatial_merge_size=2, num_channels=3)
    keys["clip.vision.is_deepstack_layers"] = Typed("arr:bool", [deep, False])
    merger: list[Tensor] = []
    if deep:
        merger = [
            *_pair("v.deepstack.0.norm", (4 * V,)),
            *_pair("v.deepstack.0.fc1", (4 * V, 4 * V), "F16"),
            *_pair("v.deepstack.0.fc2", (4 * V, E), "F16"),
        ]
    return tower(
        "qwen3vl_merger",
        keys | HALF | {"clip.use_gelu": True},
        [
            random(*_PATCHES),
            random("v.patch_embd.weight.1", _PATCHES[1]),
            random("v.patch_embd.bias", (V,)),
            random("v.position_embd.weight", (V, (side // PATCH) ** 2)),
            *_pair("v.post_ln", (V,)),
            *_pair("mm.0", (4 * V, 4 * V), "F16"),
            *_pair("mm.2", (4 * V, E), "F16"),
            *_tower_blocks(fused=True),
            *merger,
        ],
    )


def qwen35_tower() -> Model:
    return _qwen3_tower(side=112, deep=False)


def qwen3vl_tower() -> Model:
    keys = {
        "clip.vision.temporal_patch_size": 2,
        "clip.vision.rope.freq_base": 10000.0,
        "clip.vision.image_min_pixels": 65536,
        "clip.vision.image_max_pixels": 16777216,
    }
    return _qwen3_tower(side=112, deep=True).with_keys(keys)


def pixtral_tower() -> Model:
    pixels = _pixels([0.48145467, 0.4578275, 0.40821072], [0.26862955, 0.26130259, 0.2757771])
    keys = _vision(side=112, spatial_merge_size=2, attention__layer_norm_epsilon=1e-5)
    rest: dict[str, Any] = {"clip.use_silu": True, "clip.rope.freq_base": 10000.0}
    return tower(
        "pixtral",
        keys | pixels | rest,
        [
            random(*_PATCHES),
            random("v.pre_ln.weight", (V,)),
            random("mm.1.weight", (V, E), "F16"),
            random("mm.2.weight", (E, E), "F16"),
            random("mm.patch_merger.weight", (4 * V, V), "F16"),
            random("mm.input_norm.weight", (V,)),
            Tensor("v.token_embd.img_break", (E,)),
            *_tower_blocks(biases=False, ln_bias=False, gate=True),
        ],
    )


def llama4_tower() -> Model:
    side = 56
    keys = _vision(side=side, attention__layer_norm_epsilon=1e-5, projector__scale_factor=2)
    return tower(
        "llama4",
        keys | HALF | {"clip.use_gelu": True, "clip.vision.projector_type": "llama4"},
        [
            random("v.patch_embd.weight", (PATCH * PATCH * 3, V)),
            random("v.class_embd", (V,)),
            random("v.position_embd.weight", (V, (side // PATCH) ** 2 + 1)),
            *_pair("v.pre_ln", (V,)),
            *_pair("v.post_ln", (V,)),
            random("mm.model.mlp.1.weight", (4 * V, FF), "F16"),
            random("mm.model.mlp.2.weight", (FF, FF), "F16"),
            random("mm.model.fc.weight", (FF, E), "F16"),
            *_tower_blocks(),
        ],
    )


def gemma4_tower(*, hears: bool) -> Model:
    keys = _vision(side=224) | _pixels([0.0] * 3, [1.0] * 3)
    keys["clip.vision.projector_type"] = "gemma4v"
    tensors = [
        random(*_PATCHES),
        random("v.position_embd.weight", (V, 32, 2)),
        random("v.std_bias", (V,)),
        random("v.std_scale", (V,)),
        random("mm.input_projection.weight", (V, E), "F16"),
        *_tower_blocks("attn_post_norm", "ffn_post_norm", biases=False, ln_bias=False, gate=True),
        *_limits("v.blk.0.attn_q"),
    ]
    if hears:
        keys |= _SOUND_KEYS
        tensors += _sound_tensors()
    return tower("", keys, tensors)


MEL_BINS, _CHANNELS, _KERNEL, A_OUT = 128, 8, 5, 96
"""Of sound towers: lines of the spectrum and width of the kernel, both as the engine takes them for granted;
channels of the convolutions in front; and width between tower and projection."""
_SOUND_KEYS: Mapping[str, Any] = {
    "clip.has_audio_encoder": True,
    "clip.audio.block_count": V_BLOCKS,
    "clip.audio.embedding_length": V,
    "clip.audio.feed_forward_length": V_FF,
    "clip.audio.attention.head_count": 2,
    "clip.audio.attention.layer_norm_epsilon": 1e-6,
    "clip.audio.num_mel_bins": MEL_BINS,
    "clip.audio.projection_dim": E,
    "clip.audio.projector_type": "gemma4a",
}


def _limits(layer: str) -> Iterator[Tensor]:
    """What goes into a layer and comes out of it is cut at these."""
    for end, limit in (("input_min", -0.1), ("input_max", 0.1), ("output_min", -0.05), ("output_max", 0.05)):
        yield tensor(f"{layer}.{end}", np.array([limit]))


def _sound_tensors() -> Iterator[Tensor]:
    """A conformer, in front of it two convolutions that halve time and spectrum."""
    for number, channels in enumerate((1, _CHANNELS)):
        yield random(f"a.conv1d.{number}.weight", (3, 3, channels, _CHANNELS))
        yield random(f"a.conv1d.{number}.norm.weight", (_CHANNELS,))
    yield random("a.input_projection.weight", (_CHANNELS * MEL_BINS // 4, V), "F16")
    for number in range(V_BLOCKS):
        yield from _sound_block(f"a.blk.{number}")
    yield from _pair("a.pre_encode.out", (V, A_OUT), "F16")
    yield random("mm.a.input_projection.weight", (A_OUT, E), "F16")


def _sound_block(block: str) -> Iterator[Tensor]:
    matrices = {f"attn_{part}": (V, V) for part in ("q", "k", "v", "out", "k_rel")}
    matrices |= {"ffn_up": (V, V_FF), "ffn_down": (V_FF, V), "ffn_up_1": (V, V_FF), "ffn_down_1": (V_FF, V)}
    matrices |= {"conv_pw1": (V, 2 * V), "conv_pw2": (V, V)}
    for name, shape in matrices.items():
        yield random(f"{block}.{name}.weight", shape, "F16")
    for part in ("attn_pre", "attn_post", "ffn_post", "conv"):
        yield random(f"{block}.{part}_norm.weight", (V,))
    for name in ("ffn_norm", "ffn_norm_1", "ffn_post_norm_1", "norm_conv", "ln2"):
        yield random(f"{block}.{name}.weight", (V,))
    yield random(f"{block}.per_dim_scale.weight", (V // 2,))
    yield random(f"{block}.conv_dw.weight", (_KERNEL, V))
    yield from _limits(f"{block}.attn_q")


def glm_tower() -> Model:
    merge = 2
    keys = _vision(side=112, spatial_merge_size=merge) | CLIP | {"clip.use_silu": True}
    return tower(
        "glm4v",
        keys,
        [
            random(*_PATCHES),
            random("v.patch_embd.weight.1", _PATCHES[1]),
            random("v.patch_embd.bias", (V,)),
            random("v.post_ln.weight", (V,)),
            *_pair("mm.patch_merger", (merge, merge, V, E)),
            random("mm.model.fc.weight", (E, E), "F16"),
            random("mm.up.weight", (E, FF), "F16"),
            random("mm.gate.weight", (E, FF), "F16"),
            random("mm.down.weight", (FF, E), "F16"),
            *_pair("mm.post_norm", (E,)),
            *_tower_blocks(fused=True, gate=True, ln_bias=False),
            *(
                random(f"v.blk.{number}.attn_{letter}_norm.weight", (V // 2,))
                for number in range(V_BLOCKS)
                for letter in "qk"
            ),
        ],
    )


N_V, N_PATCH, N_SIDE = 64, 16, 64
"""Of Nemotron's tower: width, side of a patch, side of an image."""


def nemotron_tower() -> Model:
    keys = _vision(side=N_SIDE, patch_size=N_PATCH, projector__scale_factor=2, feed_forward_length=4 * N_V)
    flags: dict[str, Any] = {"clip.use_gelu": True, "clip.has_audio_encoder": False}
    flags |= {"clip.vision.projector_type": "nemotron_v2_vl"}
    blocks = [
        random(f"v.blk.{number}.{name}.weight", shape, "F16")
        for number in range(V_BLOCKS)
        for name, shape in (
            ("attn_qkv", (N_V, 3 * N_V)),
            ("attn_out", (N_V, N_V)),
            ("ffn_up", (N_V, 4 * N_V)),
            ("ffn_down", (4 * N_V, N_V)),
        )
    ]
    norms = [
        tensor
        for number in range(V_BLOCKS)
        for name in ("ln1", "ln2")
        for tensor in _pair(f"v.blk.{number}.{name}", (N_V,))
    ]
    return tower(
        "",
        keys | CLIP | flags,
        [
            random("v.class_embd", (N_V, 10)),
            random("v.patch_embd.weight", (N_PATCH, N_PATCH, 3, N_V)),
            random("v.position_embd.weight", (N_V, (N_SIDE // N_PATCH) ** 2)),
            random("mm.model.mlp.0.weight", (4 * N_V,)),
            random("mm.model.mlp.1.weight", (4 * N_V, FF), "F16"),
            random("mm.model.mlp.3.weight", (FF, E), "F16"),
            *blocks,
            *norms,
        ],
    )


S, S_BLOCKS, WINDOW = 32, 3, 14
"""Of the first tower of DeepSeek OCR: width, blocks, side of a window. The third block sees beyond those."""


def deepseek_tower() -> Model:
    """Two towers, one behind the other; pictures are of 1024 pixels a side, whatever the keys say."""
    keys = _vision(side=224, window_size=WINDOW, feed_forward_length=64, projection_dim=1280)
    keys |= {
        "clip.vision.projector.scale_factor": 1,
        "clip.vision.sam.block_count": S_BLOCKS,
        "clip.vision.sam.embedding_length": S,
        "clip.vision.sam.head_count": 1,
    }
    return tower(
        "deepseekocr",
        keys | HALF | {"clip.use_gelu": True},
        [
            random(*_PATCHES),
            random("v.class_embd", (V,)),
            random("v.position_embd.weight", (V, 65)),
            *_pair("v.pre_ln", (V,)),
            *_tower_blocks(fused=True),
            *_sam_tensors(),
            *_pair("mm.model.fc", (2 * V, E), "F16"),
            random("v.image_newline", (E,)),
            random("v.view_seperator", (E,)),
        ],
    )


def _sam_tensors() -> Iterator[Tensor]:
    yield from _pair("v.sam.patch_embd", (16, 16, 3, S))
    yield random("v.sam.pos_embd.weight", (S, 8, 8))
    for number in range(S_BLOCKS):
        block = f"v.sam.blk.{number}"
        yield from _pair(f"{block}.attn.qkv", (S, 3 * S), "F16")
        yield from _pair(f"{block}.attn.out", (S, S), "F16")
        for side in "hw":
            distances = random(f"{block}.attn.pos_{side}.weight", (S, 2 * WINDOW - 1))
            yield tensor(distances.name, 64 * numbers(distances))  # so large that they count
        yield from _pair(f"{block}.pre_ln", (S,))
        yield from _pair(f"{block}.post_ln", (S,))
        yield from _pair(f"{block}.mlp.lin1", (S, V_FF), "F16")
        yield from _pair(f"{block}.mlp.lin2", (V_FF, S), "F16")
    yield random("v.sam.neck.0.weight", (1, 1, S, V), "F16")
    yield from _pair("v.sam.neck.1", (V,))
    yield random("v.sam.neck.2.weight", (3, 3, V, V), "F16")
    yield from _pair("v.sam.neck.3", (V,))
    for number in (2, 3):
        yield random(f"v.sam.net_{number}.weight", (3, 3, V, V), "F16")


def llava_tower() -> Model:
    side = 56
    return tower(
        "mlp",
        _vision(side=side) | CLIP,
        [
            random(*_PATCHES),
            random("v.class_embd", (V,)),
            random("v.position_embd.weight", (V, (side // PATCH) ** 2 + 1)),
            *_pair("v.pre_ln", (V,)),
            *_tower_blocks(),
            *_pair("mm.0", (V, E), "F16"),
            *_pair("mm.2", (E, E), "F16"),
        ],
    )
