"""Tiny models as llama.cpp's own converter would write them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.compat.tiny import VOCABULARY, Model, Shapes, byte_pairs, model, sentence_pieces, tensor
from tests.gguf_builder import Typed

E, HEADS, HEAD, FF, EXPERTS = 64, 2, 32, 96, 2
BLOCKS = 2


def _keys(**more: Any) -> dict[str, Any]:
    return {
        "context_length": 512,
        "embedding_length": E,
        "block_count": BLOCKS,
        "feed_forward_length": FF,
        "attention.head_count": HEADS,
        "attention.head_count_kv": HEADS,
        "attention.key_length": HEAD,
        "attention.value_length": HEAD,
        "attention.layer_norm_rms_epsilon": 1e-6,
        "rope.freq_base": 10000.0,
        "rope.dimension_count": HEAD,
        **{key.replace("__", "."): value for key, value in more.items()},
    }


def _experts(**more: Any) -> dict[str, Any]:
    return _keys(expert_count=EXPERTS, expert_used_count=1, expert_feed_forward_length=FF, **more)


def _frame(*, output: bool = True, size: int = VOCABULARY) -> dict[str, tuple[int, ...]]:
    tail = {"output.weight": (E, size)} if output else {}
    return {"token_embd.weight": (E, size), "output_norm.weight": (E,), **tail}


_ATTENTION = {
    "attn_norm.weight": (E,),
    "attn_q.weight": (E, E),
    "attn_k.weight": (E, E),
    "attn_v.weight": (E, E),
    "attn_output.weight": (E, E),
}
_HEAD_NORMS = {"attn_q_norm.weight": (HEAD,), "attn_k_norm.weight": (HEAD,)}
_BIASES = {f"attn_{letter}.bias": (E,) for letter in "qkv"}
_GATED = {"ffn_gate.weight": (E, FF), "ffn_up.weight": (E, FF), "ffn_down.weight": (FF, E)}
_GATED_EXPERTS = {
    "ffn_gate_inp.weight": (E, EXPERTS),
    "ffn_gate_exps.weight": (E, FF, EXPERTS),
    "ffn_up_exps.weight": (E, FF, EXPERTS),
    "ffn_down_exps.weight": (FF, E, EXPERTS),
}
_SHARED_EXPERT = {
    "ffn_gate_shexp.weight": (E, FF),
    "ffn_up_shexp.weight": (E, FF),
    "ffn_down_shexp.weight": (FF, E),
}
_NORM = {"ffn_norm.weight": (E,)}
_POST_NORMS = {"post_attention_norm.weight": (E,), "post_ffw_norm.weight": (E,)}


def _blocks(*parts: Shapes, count: int = BLOCKS, first: int = 0) -> dict[str, tuple[int, ...]]:
    return {
        f"blk.{number}.{name}": shape
        for number in range(first, first + count)
        for part in parts
        for name, shape in part.items()
    }


def _block(number: int, *parts: Shapes) -> dict[str, tuple[int, ...]]:
    return _blocks(*parts, count=1, first=number)


def gemma3(*, chat_template: str) -> Model:
    keys = _keys(attention__sliding_window=32, rope__freq_base_swa=10000.0, context_length=131072)
    keys |= {"rope.freq_base": 1000000.0, "rope.scaling.type": "linear", "rope.scaling.factor": 8.0}
    tokenizer = sentence_pieces() | {"tokenizer.chat_template": chat_template}
    shapes = _frame(output=False) | _blocks(_ATTENTION, _HEAD_NORMS, _NORM, _GATED, _POST_NORMS)
    return model("gemma3", keys, tokenizer, shapes)


_EMBEDDING_BLOCKS = 6
"""Every sixth block looks at the whole text; the engine wants one of each kind."""


def gemma_embedding() -> Model:
    keys = _keys(attention__sliding_window=32, rope__freq_base_swa=10000.0, pooling_type=1)
    keys |= {"block_count": _EMBEDDING_BLOCKS}
    keys |= {"dense_2_feat_in": E, "dense_2_feat_out": FF, "dense_3_feat_in": FF, "dense_3_feat_out": E}
    shapes = _frame(output=False) | _blocks(
        _ATTENTION, _HEAD_NORMS, _NORM, _GATED, _POST_NORMS, count=_EMBEDDING_BLOCKS
    )
    shapes |= {"dense_2.weight": (E, FF), "dense_3.weight": (FF, E)}
    return model("gemma-embedding", keys, sentence_pieces(), shapes)


GEMMA3N_BLOCKS = 22
"""The engine takes the first twenty for those with a cache of their own."""
_ALTUP, _PER_LAYER, _LAUREL = 4, 256, 64


def gemma3n(*, rows: int) -> Model:
    blocks = GEMMA3N_BLOCKS
    keys = _keys(
        attention__sliding_window=32, block_count=blocks, embedding_length_per_layer_input=_PER_LAYER
    )
    keys |= {
        "attention.head_count": 2,
        "attention.sliding_window_pattern": Typed("arr:bool", [True] * blocks),
    }
    keys |= {"altup.num_inputs": _ALTUP, "altup.active_idx": 0}
    tokenizer = sentence_pieces(size=rows) | {
        "tokenizer.ggml.eos_token_ids": Typed("arr:i32", [1, 106]),
    }
    altup = {
        "inp_gate.weight": (E, _PER_LAYER),
        "proj.weight": (_PER_LAYER, E),
        "post_norm.weight": (E,),
        "altup_correct_coef.weight": (_ALTUP, _ALTUP),
        "altup_correct_scale.weight": (E,),
        "altup_predict_coef.weight": (_ALTUP, _ALTUP * _ALTUP),
        "altup_router.weight": (E, _ALTUP),
        "altup_router_norm.weight": (E,),
        "laurel_l.weight": (E, _LAUREL),
        "laurel_r.weight": (_LAUREL, E),
        "laurel_post_norm.weight": (E,),
    }
    shapes = {
        **_frame(output=False, size=rows),
        "altup_proj.weight": (E, E, _ALTUP - 1),
        "altup_unembd_proj.weight": (E, E, _ALTUP - 1),
        "per_layer_token_embd.weight": (_PER_LAYER * blocks, rows),
        "per_layer_model_proj.weight": (E, _PER_LAYER * blocks),
        "per_layer_proj_norm.weight": (_PER_LAYER,),
        **_blocks(_ATTENTION, _HEAD_NORMS, _NORM, _GATED, _POST_NORMS, altup, count=blocks),
    }
    return model("gemma3n", keys, tokenizer, shapes)


def gemma4() -> Model:
    keys = _experts(attention__sliding_window=32, attention__key_length_swa=HEAD)
    keys |= {
        "attention.value_length_swa": HEAD,
        "attention.sliding_window_pattern": Typed("arr:bool", [True, False]),
        "embedding_length_per_layer_input": 0,
        "rope.freq_base_swa": 10000.0,
    }
    tokenizer = sentence_pieces("gemma4") | {"tokenizer.ggml.merges": ["▁ a"]}
    experts = {
        "ffn_gate_inp.weight": (E, EXPERTS),
        "ffn_gate_inp.scale": (E,),
        "pre_ffw_norm_2.weight": (E,),
        "post_ffw_norm_1.weight": (E,),
        "post_ffw_norm_2.weight": (E,),
        "ffn_gate_up_exps.weight": (E, 2 * FF, EXPERTS),
        "ffn_down_exps.weight": (FF, E, EXPERTS),
        "ffn_down_exps.scale": (EXPERTS,),
    }
    blocks = _blocks(_ATTENTION, _HEAD_NORMS, _NORM, _GATED, _POST_NORMS, experts)
    shapes = {**_frame(output=False), "rope_freqs.weight": (HEAD // 2,), **blocks}
    return model("gemma4", keys, tokenizer, shapes)


def bert(table: bytes) -> Model:
    keys = {
        "block_count": 1,
        "context_length": 64,
        "embedding_length": E,
        "feed_forward_length": FF,
        "attention.head_count": HEADS,
        "attention.layer_norm_epsilon": 1e-12,
        "attention.causal": False,
        "pooling_type": 2,
    }
    tokenizer = sentence_pieces("t5") | {
        "tokenizer.ggml.token_type_count": 1,
        "tokenizer.ggml.add_bos_token": True,
        "tokenizer.ggml.add_eos_token": True,
        "tokenizer.ggml.precompiled_charsmap": Typed("arr:u8", list(table)),
    }
    block = {
        **{f"attn_{part}.weight": (E, E) for part in ("q", "k", "v", "output")},
        **{f"attn_{part}.bias": (E,) for part in ("q", "k", "v", "output")},
        **{
            f"{part}_norm.{kind}": (E,)
            for part in ("attn_output", "layer_output")
            for kind in ("weight", "bias")
        },
        "ffn_up.weight": (E, FF),
        "ffn_up.bias": (FF,),
        "ffn_down.weight": (FF, E),
        "ffn_down.bias": (E,),
    }
    shapes = {
        "token_embd.weight": (E, VOCABULARY),
        "position_embd.weight": (E, 64),
        "token_types.weight": (E, 1),
        "token_embd_norm.weight": (E,),
        "token_embd_norm.bias": (E,),
        **_block(0, block),
    }
    return model("bert", keys, tokenizer, shapes)


_SSM_STATE, _SSM_GROUPS, _SSM_RANK = 32, 2, 2
_SSM_INNER = _SSM_STATE * _SSM_RANK
_SSM_KEYS = {
    "ssm.inner_size": _SSM_INNER,
    "ssm.conv_kernel": 4,
    "ssm.state_size": _SSM_STATE,
    "ssm.time_step_rank": _SSM_RANK,
    "ssm.group_count": _SSM_GROUPS,
    "full_attention_interval": 2,
}
_SSM_WIDTH = 2 * _SSM_STATE * _SSM_GROUPS + _SSM_INNER
_RECURRENT = {
    "attn_norm.weight": (E,),
    "post_attention_norm.weight": (E,),
    "attn_qkv.weight": (E, _SSM_WIDTH),
    "attn_gate.weight": (E, _SSM_INNER),
    "ssm_conv1d.weight": (4, _SSM_WIDTH),
    "ssm_dt.bias": (_SSM_RANK,),
    "ssm_a": (_SSM_RANK,),
    "ssm_norm.weight": (_SSM_STATE,),
    "ssm_out.weight": (_SSM_INNER, E),
}
_QWEN_ATTENTION = {
    **_ATTENTION,
    **_HEAD_NORMS,
    "attn_q.weight": (E, 2 * E),
    "post_attention_norm.weight": (E,),
}
_SHARED_GATE = {"ffn_gate_inp_shexp.weight": (E,), **_SHARED_EXPERT}
_ALPHA_BETA = {"ssm_alpha.weight": (E, _SSM_RANK), "ssm_beta.weight": (E, _SSM_RANK)}
_GUESSING = {
    "nextn.eh_proj.weight": (2 * E, E),
    "nextn.enorm.weight": (E,),
    "nextn.hnorm.weight": (E,),
    "nextn.shared_head_norm.weight": (E,),
}
_OWN_TABLES = {
    "nextn.embed_tokens.weight": (E, VOCABULARY),
    "nextn.shared_head_head.weight": (E, VOCABULARY),
}
_LAST_OF_LAYERS = ("attn_output.", "ssm_out.", "ffn_down")
SECTIONS = [8, 4, 4, 0]


def qwen35(*, experts: bool, guesses: bool = False) -> Model:
    name = "qwen35moe" if experts else "qwen35"
    sections = {"rope.dimension_sections": Typed("arr:i32", SECTIONS)}
    keys = (_experts(expert_shared_feed_forward_length=FF) if experts else _keys()) | _SSM_KEYS | sections
    feed_forward = (_GATED_EXPERTS, _SHARED_GATE) if experts else (_GATED,)
    shapes = _frame() | _block(0, _RECURRENT, _ALPHA_BETA, *feed_forward)
    shapes |= _block(1, _QWEN_ATTENTION, *feed_forward)
    if not guesses:
        return model(name, keys, byte_pairs("qwen35"), shapes)
    keys |= {"block_count": BLOCKS + 1, "nextn_predict_layers": 1}
    shapes |= _block(BLOCKS, _QWEN_ATTENTION, *feed_forward, _GUESSING, _OWN_TABLES if experts else {})
    return _foreseen(model(name, keys, byte_pairs("qwen35"), shapes))


def _foreseen(text: Model) -> Model:
    """Layers that add nothing, so that each token follows from the last one; and a head that knows it."""
    silent = [name for name in text.tensors if any(part in name for part in _LAST_OF_LAYERS)]
    head = f"blk.{BLOCKS}.nextn."
    known: dict[str, NDArray[Any]] = {
        f"{head}eh_proj.weight": np.eye(E, 2 * E),
        f"{head}enorm.weight": np.ones(E),
        f"{head}shared_head_norm.weight": text.numbers("output_norm.weight"),
        f"{head}embed_tokens.weight": text.numbers("token_embd.weight"),
        f"{head}shared_head_head.weight": text.numbers("output.weight"),
    }
    known |= {name: np.zeros_like(text.numbers(name)) for name in silent}
    return text.with_tensors(tensor(name, known[name]) for name in known if name in text.tensors)


def qwen3next() -> Model:
    keys = _experts(expert_shared_feed_forward_length=FF) | _SSM_KEYS
    mixed = {"ssm_ba.weight": (E, 2 * _SSM_RANK)}
    shapes = _frame() | _block(0, _RECURRENT, mixed, _GATED_EXPERTS, _SHARED_GATE)
    shapes |= _block(1, _QWEN_ATTENTION, _GATED_EXPERTS, _SHARED_GATE)
    return model("qwen3next", keys, byte_pairs("qwen2"), shapes)


def laguna() -> Model:
    keys = _experts(
        leading_dense_block_count=1, expert_shared_feed_forward_length=FF, attention__sliding_window=32
    )
    keys |= {"rope.dimension_count_swa": HEAD, "rope.freq_base_swa": 5000.0, "expert_gating_func": 2}
    common = {**_ATTENTION, **_HEAD_NORMS, "attn_gate.weight": (E, HEADS), **_NORM}
    probabilities = {"exp_probs_b.bias": (EXPERTS,)}
    shapes = _frame() | _block(0, common, _GATED)
    shapes |= _block(1, common, _GATED_EXPERTS, probabilities, _SHARED_EXPERT)
    return model("laguna", keys, byte_pairs("qwen2"), shapes)


def gpt_oss() -> Model:
    keys = _experts(attention__sliding_window=32, rope__scaling__type="yarn", rope__scaling__factor=32.0)
    keys |= {"rope.scaling.original_context_length": 256}
    block = {
        **_ATTENTION,
        **_BIASES,
        "attn_output.bias": (E,),
        "attn_sinks.weight": (HEADS,),
        "post_attention_norm.weight": (E,),
        **_GATED_EXPERTS,
        "ffn_gate_inp.bias": (EXPERTS,),
        "ffn_gate_exps.bias": (FF, EXPERTS),
        "ffn_up_exps.bias": (FF, EXPERTS),
        "ffn_down_exps.bias": (E, EXPERTS),
    }
    return model("gpt-oss", keys, byte_pairs("gpt-4o"), _frame() | _blocks(block))


def lfm2() -> Model:
    heads = Typed("arr:i32", [HEADS, 0])
    keys = _keys(shortconv__l_cache=3, attention__head_count_kv=heads)
    convolution = {
        "attn_norm.weight": (E,),
        "shortconv.in_proj.weight": (E, 3 * E),
        "shortconv.conv.weight": (3, E),
        "shortconv.out_proj.weight": (E, E),
    }
    shapes = {"token_embd.weight": (E, VOCABULARY), "token_embd_norm.weight": (E,)}
    shapes |= _block(0, _ATTENTION, _HEAD_NORMS, _NORM, _GATED) | _block(1, convolution, _NORM, _GATED)
    return model("lfm2", keys, byte_pairs("lfm2"), shapes)


def olmo2() -> Model:
    attention = {name: shape for name, shape in _ATTENTION.items() if name != "attn_norm.weight"}
    norms = {"attn_q_norm.weight": (E,), "attn_k_norm.weight": (E,)}
    shapes = _frame() | _blocks(attention, norms, _GATED, _POST_NORMS)
    return model("olmo2", _keys(attention__sliding_window=32), byte_pairs("olmo"), shapes)


def mistral3() -> Model:
    yarn = {
        "rope.scaling.type": "yarn",
        "rope.scaling.factor": 16.0,
        "rope.scaling.original_context_length": 256,
        "rope.scaling.yarn_beta_fast": 32.0,
        "rope.scaling.yarn_beta_slow": 1.0,
        "rope.scaling.yarn_log_multiplier": 1.0,
        "attention.temperature_scale": 0.1,
    }
    shapes = _frame() | _blocks(_ATTENTION, _NORM, _GATED)
    return model("mistral3", _keys() | yarn, byte_pairs("tekken"), shapes)


def qwen2vl() -> Model:
    keys = _keys() | {"rope.dimension_sections": Typed("arr:i32", SECTIONS)}
    return model("qwen2vl", keys, byte_pairs("qwen2"), _frame() | _blocks(_ATTENTION, _BIASES, _NORM, _GATED))


def qwen3vl(*, experts: bool) -> Model:
    deep = {"rope.dimension_sections": Typed("arr:i32", [24, 20, 20, 0]), "n_deepstack_layers": 1}
    keys = (_experts() if experts else _keys()) | deep
    head = 128  # as wide as the sections take
    keys |= {"attention.head_count": 1, "attention.head_count_kv": 1, "rope.dimension_count": head}
    keys |= {"attention.key_length": head, "attention.value_length": head}
    attention = {
        **_ATTENTION,
        **{f"attn_{letter}.weight": (E, head) for letter in "qkv"},
        **{f"attn_{letter}_norm.weight": (head,) for letter in "qk"},
        "attn_output.weight": (head, E),
    }
    shapes = _frame() | _blocks(attention, _NORM, _GATED_EXPERTS if experts else _GATED)
    return model("qwen3vlmoe" if experts else "qwen3vl", keys, byte_pairs("qwen2"), shapes)


def deepseek2_ocr() -> Model:
    keys = _experts(leading_dense_block_count=1, expert_shared_count=2)
    shared = {
        "ffn_gate_shexp.weight": (E, 2 * FF),
        "ffn_up_shexp.weight": (E, 2 * FF),
        "ffn_down_shexp.weight": (2 * FF, E),
    }
    shapes = _frame() | _block(0, _ATTENTION, _NORM, _GATED)
    shapes |= _block(1, _ATTENTION, _NORM, _GATED_EXPERTS, shared)
    return model("deepseek2-ocr", keys, byte_pairs("deepseek-llm"), shapes)


def glm4() -> Model:
    keys = _keys() | {"rope.dimension_sections": Typed("arr:i32", SECTIONS)}
    halves = {"ffn_up.weight": (E, 2 * FF), "ffn_down.weight": (FF, E)}
    shapes = _frame() | _blocks(_ATTENTION, _BIASES, _NORM, _POST_NORMS, halves)
    return model("glm4", keys, byte_pairs("chatglm-bpe"), shapes)


def deepseek2() -> Model:
    """With latent attention: keys and values of a rank in common."""
    rank, turned, plain, q_rank, value = 64, 32, 32, 48, HEAD
    keys = _experts(leading_dense_block_count=1, expert_shared_count=1) | {
        "attention.head_count_kv": 1,
        "attention.q_lora_rank": q_rank,
        "attention.kv_lora_rank": rank,
        "attention.key_length": rank + turned,
        "attention.value_length": rank,
        "attention.key_length_mla": turned + plain,
        "attention.value_length_mla": turned + plain,
        "rope.dimension_count": turned,
        "expert_group_count": 1,
        "expert_group_used_count": 1,
        "expert_gating_func": 2,
    }
    value = turned + plain
    attention = {
        "attn_norm.weight": (E,),
        "attn_q_a.weight": (E, q_rank),
        "attn_q_a_norm.weight": (q_rank,),
        "attn_q_b.weight": (q_rank, HEADS * (turned + plain)),
        "attn_kv_a_mqa.weight": (E, rank + turned),
        "attn_kv_a_norm.weight": (rank,),
        "attn_k_b.weight": (plain, rank, HEADS),
        "attn_v_b.weight": (rank, value, HEADS),
        "attn_output.weight": (HEADS * value, E),
    }
    tokenizer = byte_pairs("glm4") | {
        "tokenizer.ggml.eos_token_ids": Typed("arr:i32", [259, 260, 261]),
        "tokenizer.ggml.eot_token_id": 260,
        "tokenizer.ggml.eom_token_id": 261,
    }
    shapes = _frame() | _block(0, attention, _NORM, _GATED)
    shapes |= _block(1, attention, _NORM, _GATED_EXPERTS, {"exp_probs_b.bias": (EXPERTS,)}, _SHARED_EXPERT)
    return model("deepseek2", keys, tokenizer, shapes)


_NARROW = 48


def nemotron(*, experts: bool) -> Model:
    """One block of each kind: recurrent, attention, feed-forward."""
    heads = Typed("arr:i32", [0, HEADS, 0])
    keys = _keys(block_count=3, attention__head_count_kv=heads)
    inner, state, groups = 2 * E, 32, 2
    keys |= {
        "feed_forward_length": Typed("arr:i32", [0, 0, FF]),
        "attention.layer_norm_epsilon": 1e-5,
        "ssm.conv_kernel": 4,
        "ssm.inner_size": inner,
        "ssm.state_size": state,
        "ssm.time_step_rank": 4,
        "ssm.group_count": groups,
    }
    width = inner + 2 * groups * state
    recurrent = {
        "attn_norm.weight": (E,),
        "ssm_in.weight": (E, 2 * inner + 2 * groups * state + 4),
        "ssm_conv1d.weight": (4, width),
        "ssm_conv1d.bias": (width,),
        "ssm_dt.bias": (4,),
        "ssm_a": (1, 4),
        "ssm_d": (1, 4),
        "ssm_norm.weight": (inner // groups, groups),
        "ssm_out.weight": (inner, E),
    }
    feed_forward: Shapes = {"attn_norm.weight": (E,), "ffn_up.weight": (E, FF), "ffn_down.weight": (FF, E)}
    if experts:
        keys |= {
            "expert_count": EXPERTS,
            "expert_used_count": 1,
            "expert_feed_forward_length": FF,
            "expert_shared_feed_forward_length": FF,
            "expert_shared_count": 1,
            "moe_latent_size": _NARROW,
            "expert_weights_scale": 1.0,
            "expert_group_count": 1,
            "expert_group_used_count": 1,
        }
        feed_forward = {
            "attn_norm.weight": (E,),
            "ffn_gate_inp.weight": (E, EXPERTS),
            "exp_probs_b.bias": (EXPERTS,),
            "ffn_latent_down.weight": (E, _NARROW),
            "ffn_latent_up.weight": (_NARROW, E),
            "ffn_up_exps.weight": (_NARROW, FF, EXPERTS),
            "ffn_down_exps.weight": (FF, _NARROW, EXPERTS),
            "ffn_up_shexp.weight": (E, FF),
            "ffn_down_shexp.weight": (FF, E),
        }
    shapes = _frame() | _block(0, recurrent) | _block(1, _ATTENTION) | _block(2, feed_forward)
    return model("nemotron_h_moe" if experts else "nemotron_h", keys, byte_pairs("pixtral"), shapes)


def llama() -> Model:
    return model("llama", _keys(), sentence_pieces(), _frame() | _blocks(_ATTENTION, _NORM, _GATED))


LLAMA3_TOKENS = 128256


def llama3() -> Model:
    """As many tokens as Llama 3 has; one block, for the size."""
    tokenizer = byte_pairs("llama-bpe", size=LLAMA3_TOKENS)
    tokens = list(tokenizer["tokenizer.ggml.tokens"])
    tokens[128001], tokens[128006], tokens[128009] = "<|end_of_text|>", "<|start_header_id|>", "<|eot_id|>"
    tokenizer |= {
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.bos_token_id": 128000,
        "tokenizer.ggml.eos_token_id": 128009,
        "tokenizer.ggml.eot_token_id": 128009,
        "tokenizer.ggml.eos_token_ids": Typed("arr:i32", [128009]),
    }
    shapes = _frame(output=False, size=LLAMA3_TOKENS) | _blocks(_ATTENTION, _NORM, _GATED, count=1)
    return model("llama", _keys(block_count=1), tokenizer, shapes)


def llama4() -> Model:
    keys = _experts(interleave_moe_layer_step=2, block_count=4)
    shapes = _frame()
    for number in range(4):
        feed_forward = (_GATED_EXPERTS, _SHARED_EXPERT) if number % 2 else (_GATED,)
        shapes |= _block(number, _ATTENTION, _NORM, *feed_forward)
    return model("llama4", keys, byte_pairs("llama4"), shapes)
