"""Facts that loading depends on."""

from __future__ import annotations

from pathlib import Path

from orchestrator.domain.loads import ModelFacts
from orchestrator.files.facts import model_facts
from tests.gguf_builder import Tensor, Typed, build_gguf


def test_facts_come_from_the_header(tmp_path: Path) -> None:
    content = build_gguf(
        {
            "general.architecture": "owl",
            "owl.block_count": 2,
            "owl.context_length": 8192,
            "owl.embedding_length": 64,
            "owl.attention.head_count": Typed("arr:i32", [4, 8]),
            "owl.attention.head_count_kv": Typed("arr:u32", [2, 0]),
            "owl.pooling_type": 1,
            "owl.normalize_embeddings": False,
            "owl.nextn_predict_layers": 1,
            "tokenizer.ggml.model": "gpt2",
            "tokenizer.ggml.pre": "owl-bpe",
            "tokenizer.ggml.tokens": ["a"] * 5000,
            "tokenizer.ggml.add_bos_token": True,
            "tokenizer.ggml.add_eos_token": False,
            "tokenizer.ggml.bos_token_id": 0,
            "tokenizer.ggml.eos_token_id": 2,
        },
        [
            Tensor("blk.0.a", (8,)),
            Tensor("v.patch", (2,)),
            Tensor("mm.0", (3,)),
            Tensor("a.conv", (4,)),
            Tensor("mtp.x", (1,)),
        ],
    )
    weights, projector, draft = (tmp_path / name for name in ("w.gguf", "p.gguf", "d.gguf"))
    weights.write_bytes(content)
    projector.write_bytes(
        build_gguf({"general.architecture": "clip"}, [Tensor("v.a", (5,)), Tensor("x", (1,))])
    )
    draft.write_bytes(build_gguf({"general.architecture": "owlet"}))
    assert model_facts(weights, projector=projector, draft=draft) == ModelFacts(
        architecture="owl",
        block_count=2,
        trained_context=8192,
        embedding_length=64,
        head_count_max=8,
        head_count_kv_min=0,
        size_bytes=len(content),
        pooling_type=1,
        normalize_embeddings=False,
        nextn_predict_layers=1,
        has_mtp_tensors=True,
        embedded_projector_bytes=36,
        projector_bytes=24,
        draft_architecture="owlet",
        tokenizer_model="gpt2",
        tokenizer_pre="owl-bpe",
        add_bos=True,
        add_bos_given=True,
        add_eos_given=False,
        bos_id=0,
        eos_id=2,
    )


def test_what_the_header_does_not_say_is_not_known(tmp_path: Path) -> None:
    path = tmp_path / "w.gguf"
    path.write_bytes(build_gguf({}))
    assert model_facts(path) == ModelFacts(size_bytes=path.stat().st_size)
