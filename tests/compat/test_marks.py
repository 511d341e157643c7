"""What tells a published model from one that is in order: each mark by itself is enough."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from orchestrator.compat.registry import plan_view
from orchestrator.compat.source import Source
from tests.compat.pairs import Pair
from tests.compat.stock import llama3
from tests.compat.test_registry import assert_same, written
from tests.compat.tiny import Model, random_tensor
from tests.gguf_builder import Typed

Step = Callable[[Model], Model]


def assert_becomes(marked: Model, wanted: Model, folder: Path) -> None:
    blob = folder / "blob"
    blob.write_bytes(marked.gguf())
    source = Source.read(blob)
    plan = plan_view(source)
    assert plan is not None
    assert plan.text is not None
    assert_same(written(source, plan.text, folder / "view"), wanted)


# steps from a stock model to a published one


def key(name: str, value: Any = 1) -> Step:
    return lambda model: model.with_keys({name: value})


def moved(old: str, new: str) -> Step:
    return lambda model: model.key_renamed(old, new)


def without(name: str) -> Step:
    return lambda model: model.without_keys(name)


def renamed(old: str, new: str) -> Step:
    return lambda model: model.renamed((old, new))


def foreign(name: str, shape: tuple[int, ...] = (4, 4)) -> Step:
    """With a tensor of a tower or of a head."""
    return lambda model: model.with_tensors([random_tensor(name, shape)])


_TEMPLATE = without("tokenizer.chat_template")
_STEP = renamed(".ssm_dt.bias", ".ssm_dt")
_OF_GEMMA3 = (
    key(".mm.tokens_per_image"),
    moved(".rope.freq_base", ".rope.global.freq_base"),
    moved(".rope.freq_base_swa", ".rope.local.freq_base"),
    key("tokenizer.ggml.add_padding_token", False),
    key("tokenizer.ggml.add_unknown_token", False),
    without(".attention.layer_norm_rms_epsilon"),
    foreign("v.x"),
    foreign("mm.x"),
)
_OF_QWEN35 = (
    key(".vision.block_count"),
    key(".image_token_id"),
    key(".ssm.v_head_reordered", True),
    key(".rope.mrope_interleaved", True),
    foreign("v.patch_embed.weight", (2, 2, 2, 3)),
)
MARKS: dict[str, list[tuple[Step, ...]]] = {
    "gemma3": [(mark, _TEMPLATE) for mark in _OF_GEMMA3],
    "gemma4": [
        (key("tokenizer.ggml.model", "llama"),),
        *((foreign(name),) for name in ("a.x", "v.x", "mm.x", "model.vision_tower.x")),
    ],
    "qwen35": [(mark, _STEP) for mark in _OF_QWEN35],
    "qwen35moe": [(_STEP,)],  # its feed_forward_length is a mark
    "qwen3next": [(_STEP,), (_STEP, key(".attention.head_count_kv", Typed("arr:i32", [0, 0])))],
    "laguna": [
        (moved(".rope.dimension_count_swa", ".rope.swa.dimension_count"),),
        (moved(".rope.freq_base_swa", ".rope.swa.freq_base"),),
        (renamed(".attn_gate.", ".attn_g."),),
    ],
    "mistral3": [
        (moved(".rope.scaling.yarn_beta_fast", ".rope.scaling.beta_fast"),),
        (moved(".rope.scaling.yarn_log_multiplier", ".rope.scaling.mscale_all_dim"),),
        (moved(".attention.temperature_scale", ".rope.scaling_beta"),),
        (foreign("v.x"), key("tokenizer.ggml.pre", "")),
        (foreign("mm.x"), without("tokenizer.ggml.pre")),
    ],
    "qwen3vl": [(without(".rope.dimension_sections"),)],
    "qwen3vlmoe": [(without(".rope.dimension_sections"),)],
    "nemotron_h_moe": [(foreign("mtp.x"),)],
    "llama4": [(foreign("v.x"),), (foreign("mm.x"),)],
}


@pytest.mark.parametrize(
    ("model", "steps"), [(model, steps) for model, marks in MARKS.items() for steps in marks]
)
def test_each_mark_is_enough(
    model: str, steps: tuple[Step, ...], by_id: dict[str, Pair], tmp_path: Path
) -> None:
    wanted = by_id[model].text
    assert wanted is not None
    marked = wanted
    for step in steps:
        marked = step(marked)
    assert_becomes(marked, wanted, tmp_path)


@pytest.mark.parametrize("block", [0, 1])
def test_narrow_layers_are_looked_for_in_the_first_two_blocks(
    block: int, by_id: dict[str, Pair], tmp_path: Path
) -> None:
    text = by_id["nemotron_h_moe"].text
    assert text is not None
    wanted = text.renamed((f"blk.{block}.", "blk.x."), ("blk.2.", f"blk.{block}."), ("blk.x.", "blk.2."))
    published = wanted.without_keys(".moe_latent_size").renamed((".ffn_latent_down", ".ffn_latent_in"))
    assert_becomes(published.renamed((".ffn_latent_up", ".ffn_latent_out")), wanted, tmp_path)


# Llama 3, told by its tokens


@cache
def _header_of_llama3() -> Model:
    """Without its embeddings, for the size."""
    return llama3().without_tensors("token_embd.weight".__eq__)


def _token(number: int, text: str) -> Step:
    def changed(model: Model) -> Model:
        tokens = list(model.metadata["tokenizer.ggml.tokens"])
        tokens[number] = text
        return model.with_keys({"tokenizer.ggml.tokens": tokens})

    return changed


_TEXT_ENDS = key("tokenizer.ggml.eos_token_id", 128001)
_TURN_IN_TEMPLATE = key("tokenizer.chat_template", "{{ message }}<|eot_id|>")
_UNTOLD = _token(128006, "<|other|>")


@pytest.mark.parametrize(
    "steps",
    [
        (without("tokenizer.ggml.pre"),),
        (key("tokenizer.ggml.pre", ""),),
        (key("tokenizer.ggml.pre", "default"), without("tokenizer.ggml.eos_token_id")),
        (_TEXT_ENDS,),
        (key("tokenizer.ggml.eot_token_id", 128001), _TEXT_ENDS),
        (_TEXT_ENDS, _UNTOLD, _TURN_IN_TEMPLATE),
    ],
)
def test_llama3_of_the_first_weeks(steps: tuple[Step, ...], tmp_path: Path) -> None:
    wanted = published = _header_of_llama3()
    for step in steps:
        published = step(published)
    tokens = "tokenizer.ggml.tokens"
    assert_becomes(published, wanted.with_keys({tokens: published.metadata[tokens]}), tmp_path)


@pytest.mark.parametrize("steps", [(_TEXT_ENDS, _UNTOLD), (_TEXT_ENDS, _token(128009, "<|other|>"))])
def test_llamas_with_other_tokens_stay_as_they_are(steps: tuple[Step, ...], tmp_path: Path) -> None:
    model = _header_of_llama3()
    for step in steps:
        model = step(model)
    blob = tmp_path / "blob"
    blob.write_bytes(model.gguf())
    assert plan_view(Source.read(blob)) is None
