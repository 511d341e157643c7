"""Pairs of the same random weights: as published for Ollama's own engine, and as a stock engine reads them.

The published form is made from the stock form by undoing, step by step, what a translation has to do.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from orchestrator.compat.families.gemma3 import CHAT_TEMPLATE
from tests.compat import stock, towers
from tests.compat.tiny import LLAMA_SPARE, Floats, Model, numbers, random_tensor, tensor
from tests.gguf_builder import Tensor, Typed


@dataclass(frozen=True)
class Pair:
    """A published file, and the files that should come of it."""

    id: str
    published: Model
    text: Model | None = None
    projector: Model | None = None
    beside: Model | None = None
    """Weights that are in order, when the published file is the projector to them."""

    @property
    def embeds(self) -> bool:
        """Whether it says a vector instead of words."""
        return self.text is not None and any(key.endswith(".pooling_type") for key in self.text.metadata)

    @property
    def guesses(self) -> bool:
        """Whether it has a head that guesses tokens ahead."""
        return self.text is not None and any(".nextn." in name for name in self.text.tensors)

    @property
    def sees(self) -> bool:
        return self._has("clip.has_vision_encoder")

    @property
    def hears(self) -> bool:
        return self._has("clip.has_audio_encoder")

    def _has(self, encoder: str) -> bool:
        return self.projector is not None and self.projector.metadata.get(encoder) is True


def pairs() -> Iterator[Pair]:
    """One for each row of the tables; several where a row has several markers or kinds of tensors."""
    for make in _PAIRS:
        yield make()


# text, and towers where there are


def _gemma3() -> Pair:
    text, projector = stock.gemma3(chat_template=CHAT_TEMPLATE), towers.gemma3_tower()
    published = (
        text.key_renamed(".rope.freq_base", ".rope.global.freq_base")
        .key_renamed(".rope.freq_base_swa", ".rope.local.freq_base")
        .without_keys("tokenizer.chat_template", ".rope.scaling.type", ".rope.scaling.factor")
        .with_keys({".mm.tokens_per_image": 64, **_more_tokens(text)})
    )
    inside = _as_half(projector, "v.patch_embd.weight", "v.position_embd.weight").renamed(
        ("v.patch_embd.", "v.patch_embedding."),
        ("v.position_embd.", "v.position_embedding."),
        ("v.post_ln", "v.post_layernorm"),
        (".ln1", ".layer_norm1"),
        (".ln2", ".layer_norm2"),
        (".attn_out.", ".attn_output."),
        (".ffn_down", ".mlp.fc1"),
        (".ffn_up", ".mlp.fc2"),
        ("mm.input_projection", "mm.mm_input_projection"),
        ("mm.soft_emb_norm", "mm.mm_soft_emb_norm"),
    )
    return Pair("gemma3", _with_tower(published, inside), text, projector)


def _gemma3_text_only() -> Pair:
    """Marked by one key; those that should be there if absent are absent."""
    text = stock.gemma3(chat_template="{{ 'mine' }}")
    published = text.without_keys(
        ".attention.layer_norm_rms_epsilon", ".rope.freq_base", ".rope.freq_base_swa"
    )
    return Pair("gemma3-text", published, text)


def _gemma_embedding() -> Pair:
    text = stock.gemma_embedding()
    dense = [".dense_2_feat_in", ".dense_2_feat_out", ".dense_3_feat_in", ".dense_3_feat_out"]
    published = (
        text.without_keys(*dense, ".rope.freq_base_swa")
        .called("gemma3")
        .with_keys({".attention.causal": False, ".attention.sliding_window_pattern": 6})
        .renamed(("dense_2.", "dense.0."), ("dense_3.", "dense.1."))
    )
    published = _renamed_whole(published, "output_norm.weight", "norm.weight")
    return Pair("gemma-embedding", published, text)


def _bert() -> Pair:
    table = _character_table()
    text = stock.bert(table)
    letters = list(base64.b64encode(table).decode())
    return Pair("bert", text.with_keys({"tokenizer.ggml.precompiled_charsmap": letters}), text)


def _gemma3n() -> Pair:
    rows, surplus = 288, 32
    text = stock.gemma3n(rows=rows)
    name = "token_embd.weight"
    longer = np.concatenate([text.numbers(name), np.ones((surplus, stock.E), np.float32)])
    tokens = list(text.metadata["tokenizer.ggml.tokens"])
    tokens[280] = "<unused7>"
    text = text.with_keys({"tokenizer.ggml.tokens": tokens})
    kinds = [2, 3, 3, *[1] * (280 - 3), 3, *[1] * (rows - 281 + surplus)]
    published = text.without_keys("tokenizer.ggml.eos_token_ids").with_keys(
        {
            "tokenizer.ggml.model": "gpt2",
            "tokenizer.ggml.tokens": [*tokens, *[f"<more{number}>" for number in range(surplus)]],
            "tokenizer.ggml.scores": [-float(number) for number in range(rows + surplus)],
            "tokenizer.ggml.token_type": Typed("arr:i32", kinds),
        }
    )
    return Pair("gemma3n", published.with_tensors([tensor(name, longer)]), text)


def _gemma4() -> Pair:
    text, projector = stock.gemma4(), towers.gemma4_tower(hears=False)
    published = text.with_keys({"tokenizer.ggml.model": "llama"})
    for block in range(stock.BLOCKS):
        name = f"blk.{block}.ffn_gate_up_exps.weight"
        both = text.numbers(name)
        published = published.without_tensors(name.__eq__).with_tensors(
            [
                tensor(name.replace("gate_up", "gate"), both[:, : stock.FF]),
                tensor(name.replace("gate_up", "up"), both[:, stock.FF :]),
            ]
        )
    published = published.renamed(("ffn_down_exps.scale", "ffn_gate_inp.per_expert_scale"))
    inside = _as_half(projector, "v.patch_embd.weight")
    return Pair("gemma4", _with_tower(published, inside), text, projector)


def _gemma4_with_sound() -> Pair:
    text, projector = stock.gemma4(), towers.gemma4_tower(hears=True)
    inside = projector.renamed(("a.pre_encode.out.", "mm.a.fc."))
    inside = _renamed_whole(inside, "a.input_projection.weight", "a.pre_encode.out.weight")
    for block in range(towers.V_BLOCKS):
        for old, new in (
            ("ln2", "layer_pre_norm"),
            ("attn_post_norm", "ln2"),
            ("attn_pre_norm", "ln1"),
            ("attn_k_rel", "linear_pos"),
        ):
            inside = inside.renamed((f"a.blk.{block}.{old}.", f"a.blk.{block}.{new}."))
    return Pair("gemma4-sound", _with_tower(text, inside, audio=True), text, projector)


def _gemma4_as_wide_as_its_sound() -> Pair:
    """Without a projection of sound, which would change nothing."""
    pair = _gemma4_with_sound()
    assert pair.projector is not None
    name = "mm.a.input_projection.weight"
    bias = random_tensor("a.pre_encode.out.bias", (stock.E,))
    weight = random_tensor("a.pre_encode.out.weight", (towers.V, stock.E), "F16")
    published = pair.published.without_tensors(name.__eq__).with_tensors(
        replace(t, name=t.name.replace("a.pre_encode.out", "mm.a.fc")) for t in (bias, weight)
    )
    projector = pair.projector.with_tensors([bias, weight, tensor(name, np.eye(stock.E))])
    return replace(pair, id="gemma4-sound-straight", published=published, projector=projector)


def _qwen35(experts: bool) -> Pair:
    text = stock.qwen35(experts=experts)
    published = _recurrent(text).with_keys(
        {".rope.dimension_sections": Typed("arr:i32", stock.SECTIONS[:3]), ".rope.mrope_interleaved": True}
    )
    projector = towers.qwen35_tower()
    inside = _qwen3_inside(projector)
    return Pair(text.architecture, _with_tower(published, inside), text, projector)


def _qwen35_guessing(experts: bool) -> Pair:
    text = stock.qwen35(experts=experts, guesses=True)
    last = f"blk.{stock.BLOCKS}."
    published = _recurrent(
        text.without_keys(".nextn_predict_layers").with_keys({".block_count": stock.BLOCKS})
    )
    tensors: dict[str, Tensor] = {}
    for name, present in published.tensors.items():
        new = _guessing_name(name.removeprefix(last), experts) if name.startswith(last) else name
        shifted = name.endswith(("_norm.weight", ".enorm.weight", ".hnorm.weight")) and new != name
        values = numbers(present) - 1 if shifted else numbers(present)
        if new.startswith("mtp.") and "_exps." in new:
            tensors |= {t.name: t for t in _apart(new, values)}
        else:
            tensors[new] = tensor(new, values)
    # what was one larger before the numbers went through another 1 is only nearly so
    text = text.with_tensors(
        tensor(name, (numbers(t) - 1) + np.float32(1))
        for name, t in text.tensors.items()
        if name.startswith(last) and name.endswith(("_norm.weight", ".enorm.weight", ".hnorm.weight"))
    )
    return Pair(f"{text.architecture}-guessing", replace(published, tensors=tensors), text)


def _guessing_name(part: str, experts: bool) -> str:
    shared = {
        "nextn.eh_proj": "mtp.fc",
        "nextn.enorm": "mtp.pre_fc_norm_embedding",
        "nextn.hnorm": "mtp.pre_fc_norm_hidden",
        "nextn.embed_tokens": "mtp.embed_tokens",
        "nextn.shared_head_head": "mtp.shared_head.head",
        "nextn.shared_head_norm": "mtp.shared_head.norm" if experts else "mtp.norm",
    }
    stem = part.removesuffix(".weight")
    return f"{shared[stem]}.weight" if stem in shared else f"mtp.layers.0.{part}"


def _apart(name: str, values: Floats) -> Iterator[Tensor]:
    """The experts of a tensor, each by itself."""
    part = name.split("ffn_")[1].split("_")[0]
    for number, expert in enumerate(values):
        yield tensor(f"mtp.layers.0.mlp.experts.{number}.{part}_proj.weight", expert)


def _qwen3next() -> Pair:
    text = stock.qwen3next()
    return Pair("qwen3next", _recurrent(text), text)


def _recurrent(text: Model) -> Model:
    heads = Typed("arr:i32", [0, stock.HEADS])
    published = text.with_keys({".attention.head_count_kv": heads})
    return published.renamed((".ssm_dt.bias", ".ssm_dt"))


def _laguna() -> Pair:
    text = stock.laguna()
    published = (
        text.key_renamed(".rope.dimension_count_swa", ".rope.swa.dimension_count")
        .key_renamed(".rope.freq_base_swa", ".rope.swa.freq_base")
        .renamed((".attn_gate.", ".attn_g."))
    )
    return Pair("laguna", published, text)


def _gptoss() -> Pair:
    text = stock.gpt_oss()
    published = text.without_keys(".expert_feed_forward_length", ".rope.scaling.type").called("gptoss")
    published = published.with_keys({"tokenizer.ggml.pre": "default"}).renamed(
        (".attn_output.", ".attn_out."),
        (".attn_sinks.weight", ".attn_sinks"),
        (".post_attention_norm.", ".ffn_norm."),
    )
    return Pair("gptoss", published, text)


def _lfm2() -> Pair:
    text = stock.lfm2()
    published = _renamed_whole(text, "token_embd_norm.weight", "output_norm.weight")
    keys = {"tokenizer.ggml.pre": "default", ".feed_forward_length": 1}
    return Pair("lfm2", published.with_keys(keys), text)


def _olmo3() -> Pair:
    text = stock.olmo2()
    return Pair("olmo3", text.called("olmo3"), text)


def _mistral3() -> Pair:
    text, projector = stock.mistral3(), towers.pixtral_tower()
    published = (
        text.key_renamed(".rope.scaling.yarn_beta_fast", ".rope.scaling.beta_fast")
        .key_renamed(".rope.scaling.yarn_beta_slow", ".rope.scaling.beta_slow")
        .key_renamed(".rope.scaling.yarn_log_multiplier", ".rope.scaling.mscale_all_dim")
        .key_renamed(".attention.temperature_scale", ".rope.scaling_beta")
        .with_keys({"tokenizer.ggml.pre": "default"})
    )
    inside = _as_half(projector.without_tensors("v.token_embd.img_break".__eq__), "v.patch_embd.weight")
    inside = inside.with_tensors(
        tensor(name, _halves_apart(numbers(t), heads=2), t.type)
        for name, t in inside.tensors.items()
        if name.endswith((".attn_q.weight", ".attn_k.weight"))
    ).renamed(
        ("v.patch_embd.", "v.patch_conv."),
        ("v.pre_ln", "v.encoder_norm"),
        (".attn_out.", ".attn_output."),
        (".ln1", ".attn_norm"),
        (".ln2", ".ffn_norm"),
        ("mm.1.", "mm.linear_1."),
        ("mm.2.", "mm.linear_2."),
        ("mm.patch_merger.", "mm.patch_merger.merging_layer."),
        ("mm.input_norm", "mm.norm"),
    )
    whole = _with_tower(published, inside).without_keys(".vision.spatial_merge_size")
    whole = whole.with_keys({".spatial_merge_size": 2, ".vision.rope.freq_base": 10000.0})
    return Pair("mistral3", whole, text, projector)


def _halves_apart(rows: Floats, *, heads: int) -> Floats:
    """Rows of each head: the even ones first, then the odd ones."""
    by_head = rows.reshape(heads, -1, rows.shape[-1])
    return np.concatenate([by_head[:, 0::2], by_head[:, 1::2]], axis=1).reshape(rows.shape)


def _qwen25vl() -> Pair:
    text, projector = stock.qwen2vl(), towers.qwen25vl_tower()
    published = text.without_keys(".rope.dimension_sections").called("qwen25vl")
    published = published.with_keys({".rope.mrope_section": Typed("arr:i32", stock.SECTIONS[:3])})
    inside = _as_half(projector, "v.patch_embd.weight", "v.patch_embd.weight.1")
    inside = _renamed_whole(inside, "v.patch_embd.weight.1", "v.patch_embd_1.weight")
    inside = _renamed_whole(inside, "v.patch_embd.weight", "v.patch_embd_0.weight").renamed(
        ("v.post_ln", "v.merger.ln_q"), ("mm.0.", "v.merger.mlp.0."), ("mm.2.", "v.merger.mlp.2.")
    )
    whole = _with_tower(published, inside).without_keys(
        ".vision.n_wa_pattern", ".vision.feed_forward_length", ".vision.image_size"
    )
    keys = {".vision.fullatt_block_indexes": Typed("arr:i32", [1, 3])}
    return Pair("qwen25vl", whole.with_keys(keys), text, projector)


def _qwen3vl(experts: bool) -> Pair:
    text, projector = stock.qwen3vl(experts=experts), towers.qwen3vl_tower()
    published = text.without_keys(".rope.dimension_sections", ".n_deepstack_layers")
    inside = _qwen3_inside(projector).renamed(
        ("v.deepstack.0.norm", "v.deepstack_merger.0.norm"),
        ("v.deepstack.0.fc1", "v.deepstack_merger.0.linear_fc1"),
        ("v.deepstack.0.fc2", "v.deepstack_merger.0.linear_fc2"),
    )
    whole = _with_tower(published, inside).without_keys(
        ".vision.feed_forward_length",
        ".vision.image_size",
        ".vision.image_min_pixels",
        ".vision.image_max_pixels",
        ".vision.temporal_patch_size",
        ".vision.rope.freq_base",
    )
    deep = {".vision.deepstack_visual_indexes": Typed("arr:i32", [0])}
    pair = Pair(text.architecture, whole.with_keys(deep), text, projector)
    return _with_values_in_q8(pair) if experts else pair


def _with_values_in_q8(pair: Pair) -> Pair:
    """Values of the tower in eight bits beside queries and keys in sixteen, and thus all three in F32."""
    assert pair.projector is not None
    inside, joined = pair.published, pair.projector
    for block in range(towers.V_BLOCKS):
        parts = {letter: inside.tensors[f"v.blk.{block}.attn_{letter}.weight"] for letter in "qkv"}
        parts["v"] = tensor(parts["v"].name, numbers(parts["v"]), "Q8_0")
        both = np.concatenate([numbers(part) for part in parts.values()])
        inside = inside.with_tensors([parts["v"]])
        joined = joined.with_tensors([tensor(f"v.blk.{block}.attn_qkv.weight", both)])
    return replace(pair, published=inside, projector=joined)


def _qwen3_inside(projector: Model) -> Model:
    """The tower of Qwen 3 with attention apart and two frames together."""
    tensors: dict[str, Tensor] = {}
    for name, present in projector.tensors.items():
        if ".attn_qkv." in name:
            for letter, part in zip("qkv", np.split(numbers(present), 3), strict=True):
                new = name.replace("_qkv.", f"_{letter}.")
                tensors[new] = tensor(new, part, present.type)
        elif name == "v.patch_embd.weight":
            frames = np.stack([numbers(present), projector.numbers("v.patch_embd.weight.1")], axis=2)
            both = frames.reshape(-1, *frames.shape[2:])  # [c_out x c_in, frame, height, width]
            tensors["v.patch_embed.weight"] = tensor("v.patch_embed.weight", both, "F16")
        elif name != "v.patch_embd.weight.1":
            tensors[name] = present
    inside = replace(projector, tensors=tensors).without_keys("clip.vision.is_deepstack_layers")
    return _as_half(inside, "v.position_embd.weight").renamed(
        ("v.position_embd", "v.pos_embed"),
        ("v.patch_embd.bias", "v.patch_embed.bias"),
        ("v.post_ln", "v.merger.norm"),
        ("mm.0.", "v.merger.linear_fc1."),
        ("mm.2.", "v.merger.linear_fc2."),
        (".ffn_up", ".mlp.linear_fc1"),
        (".ffn_down", ".mlp.linear_fc2"),
        (".ln1", ".norm1"),
        (".ln2", ".norm2"),
    )


def _deepseekocr() -> Pair:
    text, projector = stock.deepseek2_ocr(), towers.deepseek_tower()
    published = text.without_keys(
        ".attention.layer_norm_rms_epsilon", ".expert_feed_forward_length", ".expert_shared_count"
    ).called("deepseekocr")
    inside = _as_half(projector, "v.patch_embd.weight", "v.sam.patch_embd.weight", "v.position_embd.weight")
    inside = _renamed_whole(inside, "v.sam.pos_embd.weight", "s.position_embd").renamed(
        ("v.sam.", "s."),
        ("v.pre_ln.", "v.pre_layrnorm."),
        (".attn.out.", ".attn.proj."),
        (".attn.pos_h.weight", ".attn.rel_pos_h"),
        (".attn.pos_w.weight", ".attn.rel_pos_w"),
        (".pre_ln.", ".norm1."),
        (".post_ln.", ".norm2."),
        (".attn_out.", ".self_attn.out_proj."),
        (".attn_qkv.", ".self_attn.qkv_proj."),
        (".ln1", ".layer_norm1"),
        (".ln2", ".layer_norm2"),
        (".ffn_up", ".mlp.fc1"),
        (".ffn_down", ".mlp.fc2"),
        ("mm.model.fc", "mm.layers"),
        ("v.image_newline", "mm.image_newline"),
        ("v.view_seperator", "mm.view_seperator"),
    )
    whole = _with_tower(published, inside)
    for name in ("block_count", "embedding_length", "head_count"):
        whole = whole.key_renamed(f".vision.sam.{name}", f".sam.{name}")
    whole = whole.key_renamed(".vision.attention.head_count", ".vision.head_count")
    whole = whole.without_keys(
        ".vision.window_size",
        ".vision.projector.scale_factor",
        ".vision.feed_forward_length",
        ".vision.attention.layer_norm_epsilon",
    )
    return Pair("deepseekocr", whole, text, projector)


def _glmocr() -> Pair:
    text, projector = stock.glm4(), towers.glm_tower()
    published = text.without_keys(".rope.dimension_sections", ".rope.dimension_count").called("glmocr")
    keys = {".rope.mrope_section": Typed("arr:i32", stock.SECTIONS[:3]), "tokenizer.ggml.pre": "default"}
    published = published.with_keys(keys)
    for block in range(stock.BLOCKS):
        name = f"blk.{block}.ffn_up.weight"
        gate, up = np.split(text.numbers(name), 2)
        halves = [tensor(name, up), tensor(name.replace("up", "gate"), gate)]
        published = published.with_tensors(halves)
    published = published.renamed(
        (".attn_output.", ".attn_out."),
        (".post_attention_norm.", ".post_attn_norm."),
        (".post_ffw_norm.", ".post_ffn_norm."),
    )
    inside = _as_half(projector, "v.patch_embd.weight", "v.patch_embd.weight.1")
    inside = _renamed_whole(inside, "v.patch_embd.weight.1", "v.patch_embd_1.weight")
    inside = _renamed_whole(inside, "v.patch_embd.weight", "v.patch_embd_0.weight")
    whole = (
        _with_tower(published, inside)
        .key_renamed(".vision.feed_forward_length", ".vision.intermediate_size")
        .key_renamed(".vision.attention.layer_norm_epsilon", ".vision.attention.layer_norm_rms_epsilon")
        .with_keys({".vision.out_hidden_size": stock.E})
        .with_keys({key.replace("clip", "", 1): value for key, value in towers.CLIP.items()})
    )
    return Pair("glmocr", whole, text, projector)


def _glm4moelite() -> Pair:
    text = stock.deepseek2()
    head = text.metadata["deepseek2.attention.key_length_mla"]
    unwanted = ("key_length_mla", "value_length_mla")
    published = text.without_keys(
        *(f".attention.{name}" for name in unwanted),
        ".expert_group_count",
        ".expert_group_used_count",
        "tokenizer.ggml.eot_token_id",
        "tokenizer.ggml.eom_token_id",
    ).called("glm4moelite")
    keys = {".attention.key_length": head, ".attention.value_length": head, "tokenizer.ggml.pre": "default"}
    return Pair("glm4moelite", published.with_keys({**keys, ".attention.head_count_kv": stock.HEADS}), text)


def _nemotron_moe() -> Pair:
    text = stock.nemotron(experts=True)
    published = text.without_keys(".moe_latent_size").renamed(
        (".ffn_latent_down", ".ffn_latent_in"), (".ffn_latent_up", ".ffn_latent_out")
    )
    extra = [random_tensor("mtp.fc.weight", (stock.E, stock.E))]
    return Pair("nemotron_h_moe", published.with_tensors(extra), text)


def _nemotron_omni(experts: bool) -> Pair:
    text, projector = stock.nemotron(experts=experts), towers.nemotron_tower()
    small = random_tensor("v.position_embd.weight", (1, towers.N_V, 9))
    grid = numbers(small).reshape(9, towers.N_V)
    projector = projector.with_tensors(
        [tensor("v.position_embd.weight", _resampled(grid, towers.N_SIDE // towers.N_PATCH))]
    )
    patches = projector.numbers("v.patch_embd.weight").astype(np.float16)
    inside = _as_half(projector, "v.class_embd", "v.patch_embd.weight").renamed(
        ("v.class_embd", "v.cls_embd"),
        ("mm.model.mlp.0.", "mm.norm."),
        ("mm.model.mlp.1.", "mm.1."),
        ("mm.model.mlp.3.", "mm.2."),
    )
    inside = inside.with_tensors(
        [
            tensor("v.position_embd.weight", grid[None]),
            tensor("v.patch_embd.weight", patches.reshape(towers.N_V, -1), "F16"),
            random_tensor("a.conv.weight", (4, 4)),
            random_tensor("mm.a.fc.weight", (4, 4)),
        ]
    )
    published = text
    if experts:
        published = published.without_keys(".moe_latent_size").renamed(
            (".ffn_latent_down", ".ffn_latent_in"), (".ffn_latent_up", ".ffn_latent_out")
        )
    published = published.called("nemotron_h_omni").with_keys({".audio.block_count": 1})
    whole = _with_tower(published, inside).without_keys(
        ".vision.feed_forward_length", ".vision.attention.layer_norm_epsilon"
    )
    return Pair(f"nemotron_h_omni{'-moe' if experts else ''}", whole, text, projector)


def _resampled(grid: Floats, side: int) -> Floats:
    """Point by point, to be compared with: bilinear, corners aligned."""
    old = round(len(grid) ** 0.5)
    points = []
    for row in range(side):
        for column in range(side):
            y, x = (place * (old - 1) / (side - 1) for place in (row, column))
            top, left = min(int(y), old - 2), min(int(x), old - 2)
            down, right = np.float32(y - top), np.float32(x - left)
            corner = {(dy, dx): grid[(top + dy) * old + left + dx] for dy in (0, 1) for dx in (0, 1)}
            upper = [corner[0, dx] * (1 - down) + corner[1, dx] * down for dx in (0, 1)]
            points.append(upper[0] * (1 - right) + upper[1] * right)
    return np.stack(points).astype(np.float32)


def _llama3() -> Pair:
    text = stock.llama3()
    keys = ("tokenizer.ggml.eot_token_id", "tokenizer.ggml.eos_token_ids", "tokenizer.ggml.pre")
    published = text.without_keys(*keys).with_keys({"tokenizer.ggml.eos_token_id": 128001})
    return Pair("llama3", published, text)


def _llama4() -> Pair:
    text, projector = stock.llama4(), towers.llama4_tower()
    inside = _as_half(projector, "v.patch_embd.weight")
    inside = _renamed_whole(inside, "v.position_embd.weight", "v.positional_embedding_vlm").renamed(
        ("mm.model.mlp.1.", "v.vision_adapter.mlp.fc1."),
        ("mm.model.mlp.2.", "v.vision_adapter.mlp.fc2."),
        ("mm.model.fc.", "mm.linear_1."),
        ("v.class_embd", "v.class_embedding"),
        ("v.pre_ln", "v.layernorm_pre"),
        ("v.post_ln", "v.layernorm_post"),
        ("v.patch_embd", "v.patch_embedding"),
        (".attn_out.", ".attn_output."),
        (".ln1", ".attn_norm"),
        (".ln2", ".ffn_norm"),
        (".ffn_up", ".mlp.fc1"),
        (".ffn_down", ".mlp.fc2"),
    )
    whole = (
        _with_tower(text, inside)
        .without_keys(".vision.projector.scale_factor")
        .key_renamed(".vision.attention.layer_norm_epsilon", ".vision.layer_norm_epsilon")
        .with_keys({".vision.pixel_shuffle_ratio": 0.5})
    )
    return Pair("llama4", whole, text, projector)


def _llava() -> Pair:
    projector = towers.llava_tower()
    published = projector.without_keys("clip.projector_type")
    return Pair("llava", published, projector=projector, beside=stock.llama())


def _in_q8(pair: Pair) -> Pair:
    """The same model, with feed-forward matrices in eight bits: their data is moved, never read."""
    assert pair.text is not None
    published, text = (
        model.with_tensors(
            tensor(name, numbers(t), "Q8_0")
            for name, t in model.tensors.items()
            if _FEED_FORWARD.match(name) and len(t.shape) > 1
        )
        for model in (pair.published, pair.text)
    )
    return replace(pair, id=f"{pair.id}-q8", published=published, text=text)


_FEED_FORWARD = re.compile(r"(blk|mtp\.layers)\.\d+\.(ffn_(?!gate_inp)|mlp\.experts\.)")

# steps that several take


def _with_tower(text: Model, inside: Model, *, audio: bool = False) -> Model:
    """The tower inside the text file; its keys are those of the text's architecture."""
    own: dict[str, Any] = {}
    for key, value in inside.metadata.items():
        if key.startswith(("clip.vision.", "clip.audio.")) and not key.endswith(_NOT_PUBLISHED):
            own[f".{key.removeprefix('clip.')}"] = value
    if audio:
        own.pop(".audio.num_mel_bins")
    return text.with_keys(own).with_tensors(inside.tensors.values())


_NOT_PUBLISHED = ("projection_dim", "image_mean", "image_std", "projector_type")


def _as_half(model: Model, *names: str) -> Model:
    """Some tensors in half precision, which engines want in full."""
    return model.with_tensors(tensor(name, model.numbers(name), "F16") for name in names)


def _renamed_whole(model: Model, old: str, new: str) -> Model:
    """One tensor renamed, whose name others may contain."""
    assert old in model.tensors
    return replace(
        model,
        tensors={
            (new if name == old else name): (replace(t, name=new) if name == old else t)
            for name, t in model.tensors.items()
        },
    )


def _more_tokens(text: Model) -> Mapping[str, Any]:
    """Keys of a tokenizer that has one token more than there are embeddings."""
    kinds = text.metadata["tokenizer.ggml.token_type"]
    return {
        "tokenizer.ggml.tokens": [*text.metadata["tokenizer.ggml.tokens"], "<image_soft_token>"],
        "tokenizer.ggml.scores": [*text.metadata["tokenizer.ggml.scores"], -1000.0],
        "tokenizer.ggml.token_type": Typed(kinds.type, [*kinds.value, LLAMA_SPARE]),
    }


def _character_table() -> bytes:
    """A table in which nothing is found: its length, an empty trie, and no replacements."""
    trie = bytes(1024)
    return len(trie).to_bytes(4, "little") + trie + b"\0"


_PAIRS: tuple[Callable[[], Pair], ...] = (
    _gemma3,
    _gemma3_text_only,
    _gemma_embedding,
    _bert,
    _gemma3n,
    _gemma4,
    lambda: _in_q8(_gemma4()),
    _gemma4_with_sound,
    _gemma4_as_wide_as_its_sound,
    lambda: _qwen35(False),
    lambda: _qwen35(True),
    lambda: _qwen35_guessing(False),
    lambda: _qwen35_guessing(True),
    lambda: _in_q8(_qwen35_guessing(True)),
    _qwen3next,
    _laguna,
    _gptoss,
    _lfm2,
    _olmo3,
    _mistral3,
    _qwen25vl,
    lambda: _qwen3vl(False),
    lambda: _qwen3vl(True),
    _deepseekocr,
    _glmocr,
    lambda: _in_q8(_glmocr()),
    _glm4moelite,
    _nemotron_moe,
    lambda: _nemotron_omni(False),
    lambda: _nemotron_omni(True),
    _llama3,
    _llama4,
    _llava,
)
