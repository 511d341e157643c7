"""Gemma 3, and EmbeddingGemma, which is published under the same name."""

from __future__ import annotations

from collections.abc import Mapping

from orchestrator.compat.draft import Draft
from orchestrator.compat.families.base import Family
from orchestrator.compat.plan import FilePlan
from orchestrator.compat.source import Source
from orchestrator.compat.tower import HALF, activate, promote_patches, rename_all, set_pixels, tower
from orchestrator.compat.vocabulary import cut_tokens

_PRIVATE_KEYS = (
    "mm.tokens_per_image",
    "rope.global.freq_base",
    "rope.local.freq_base",
    "tokenizer.ggml.add_padding_token",
    "tokenizer.ggml.add_unknown_token",
)
_EPSILON = "attention.layer_norm_rms_epsilon"
_LONG_CONTEXT = 131072
_DENSE = "dense.0.weight"

_TOWER_NAMES: Mapping[str, str] = {
    "v.patch_embedding": "v.patch_embd",
    "v.position_embedding": "v.position_embd",
    "v.post_layernorm": "v.post_ln",
    ".layer_norm1": ".ln1",
    ".layer_norm2": ".ln2",
    ".attn_output": ".attn_out",
    ".mlp.fc1": ".ffn_down",  # the engine knows that they stand the wrong way round
    ".mlp.fc2": ".ffn_up",
    "mm.mm_input_projection": "mm.input_projection",
    "mm.mm_soft_emb_norm": "mm.soft_emb_norm",
}

CHAT_TEMPLATE = """\
{{ bos_token }}
{%- for message in messages -%}
    {%- if message['role'] not in ('user', 'assistant') -%}
        {{ raise_exception('Gemma knows the roles user and assistant, not ' ~ message['role']) }}
    {%- endif -%}
    {%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) -%}
        {{ raise_exception('Gemma wants user and assistant in turn, the user first') }}
    {%- endif -%}
    {{ '<start_of_turn>' ~ ('user' if message['role'] == 'user' else 'model') ~ '\\n' }}
    {%- if message['content'] is string -%}
        {{ message['content'] | trim }}
    {%- else -%}
        {%- for part in message['content'] -%}
            {{ '<start_of_image>' if part['type'] == 'image' else part['text'] | trim }}
        {%- endfor -%}
    {%- endif -%}
    {{ '<end_of_turn>\\n' }}
{%- endfor -%}
{%- if add_generation_prompt -%}
    {{ '<start_of_turn>model\\n' }}
{%- endif -%}
"""


def _is_private(source: Source) -> bool:
    config = source.config
    return any(map(config.has, _PRIVATE_KEYS)) or source.has_tensors("v.", "mm.") or not config.has(_EPSILON)


def _text(source: Source) -> FilePlan:
    draft = Draft(source)
    draft.rename_key(".rope.global.freq_base", ".rope.freq_base")
    draft.rename_key(".rope.local.freq_base", ".rope.freq_base_swa")
    draft.set_if_absent(f".{_EPSILON}", "f32", 1e-6)
    draft.set_if_absent(".rope.freq_base", "f32", 1e6)
    draft.set_if_absent(".rope.freq_base_swa", "f32", 1e4)
    draft.set_if_absent("tokenizer.chat_template", "str", CHAT_TEMPLATE)
    if source.config.uint("context_length") >= _LONG_CONTEXT:
        draft.set_if_absent(".rope.scaling.type", "str", "linear")
        draft.set_if_absent(".rope.scaling.factor", "f32", 8.0)
    cut_tokens(draft, source.dimension("token_embd.weight", 1))
    draft.hide("v.", "mm.")
    return draft.plan()


def _projector(source: Source) -> FilePlan:
    draft = tower(source, "gemma3")
    set_pixels(draft, HALF)
    activate(draft, "gelu")
    rename_all(draft, _TOWER_NAMES)
    promote_patches(draft)
    draft.promote("v.position_embd.weight")
    return draft.plan()


def _embedding_text(source: Source) -> FilePlan:
    draft = Draft(source)
    draft.take_name("gemma-embedding", without=("attention.causal", "attention.sliding_window_pattern"))
    draft.set_if_absent(".rope.freq_base_swa", "f32", 1e4)
    for old, new in (("dense.0", "dense_2"), ("dense.1", "dense_3")):
        draft.set(f".{new}_feat_in", "u32", source.dimension(f"{old}.weight", 0))
        draft.set(f".{new}_feat_out", "u32", source.dimension(f"{old}.weight", 1))
        draft.rename(f"{old}.", f"{new}.")
    draft.rename_each(lambda name: "output_norm.weight" if name == "norm.weight" else name)
    return draft.plan()


FAMILIES = {
    "gemma3": (
        Family(fits=lambda source: _DENSE in source.tensors, text=_embedding_text),
        Family(fits=_is_private, text=_text, projector=_projector),
    )
}
