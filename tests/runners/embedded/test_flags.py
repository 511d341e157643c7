from __future__ import annotations

from typing import Any

import pytest
import xllamacpp

from orchestrator.runners.embedded.flags import FLAGS, InvalidArgument, parse_flags


def parameter(argv: list[str], path: str) -> Any:
    value: Any = parse_flags(argv)
    for name in path.split("."):
        value = getattr(value, name)
    return value


@pytest.mark.parametrize(
    ("argv", "path", "value"),
    [
        (["--model", "/m.gguf"], "model.path", "/m.gguf"),
        (["--host", "/x.sock"], "hostnames", ["/x.sock"]),
        (["--port", "17"], "port", 17),
        (["--no-webui"], "ui", False),
        (["--no-ui"], "ui", False),
        (["--offline"], "offline", True),
        (["--metrics"], "endpoint_metrics", True),
        (["-c", "4096"], "n_ctx", 4096),
        (["--ctx-size", "4096"], "n_ctx", 4096),
        (["-np", "3"], "n_parallel", 3),
        (["-b", "7"], "n_batch", 7),
        (["-ub", "7"], "n_ubatch", 7),
        (["--keep", "5"], "n_keep", 5),
        (["--context-shift"], "ctx_shift", True),
        (["--cache-type-k", "q8_0"], "cache_type_k", xllamacpp.ggml_type.GGML_TYPE_Q8_0),
        (["--cache-type-v", "bf16"], "cache_type_v", xllamacpp.ggml_type.GGML_TYPE_BF16),
        (["--cache-ram", "0"], "cache_ram_mib", 0),
        (
            ["--flash-attn", "on"],
            "flash_attn_type",
            xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_ENABLED,
        ),
        (["-t", "3"], "cpuparams.n_threads", 3),
        (["-t", "3"], "cpuparams_batch.n_threads", 3),
        (["-ngl", "9"], "n_gpu_layers", 9),
        (["--split-mode", "none"], "split_mode", xllamacpp.llama_split_mode.LLAMA_SPLIT_MODE_NONE),
        (["--main-gpu", "1"], "main_gpu", 1),
        (["--fit", "off"], "fit_params", False),
        (["--no-warmup"], "warmup", False),
        (["--load-mode", "none"], "load_mode", xllamacpp.llama_load_mode.LLAMA_LOAD_MODE_NONE),
        (["--load-mode", "dio"], "load_mode", xllamacpp.llama_load_mode.LLAMA_LOAD_MODE_DIRECT_IO),
        (["--no-jinja"], "use_jinja", False),
        (["--chat-template", "chatml"], "chat_template", "chatml"),
        (["--embedding"], "embedding", True),
        (["--pooling", "mean"], "pooling_type", xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN),
        (["--rerank"], "pooling_type", xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_RANK),
        (["--mmproj", "/p.gguf"], "mmproj.path", "/p.gguf"),
        (["--no-mmproj-offload"], "mmproj_use_gpu", False),
        (["--image-min-tokens", "1024"], "image_min_tokens", 1024),
        (["--spec-draft-n-max", "4"], "speculative.draft.n_max", 4),
        (["--spec-draft-model", "/d.gguf"], "speculative.draft.mparams.path", "/d.gguf"),
        (["--spec-draft-backend-sampling"], "speculative.draft.backend_sampling", True),
        (
            ["--spec-type", "draft-mtp,ngram-simple"],
            "speculative.types",
            [
                xllamacpp.common_speculative_type.COMMON_SPECULATIVE_TYPE_DRAFT_MTP,
                xllamacpp.common_speculative_type.COMMON_SPECULATIVE_TYPE_NGRAM_SIMPLE,
            ],
        ),
        (["--log-verbosity", "4"], "verbosity", 4),
        (["--api-key", "a,b"], "api_keys", ["a", "b"]),
    ],
)
def test_a_flag_sets_its_parameter(argv: list[str], path: str, value: Any) -> None:
    assert parameter(argv, path) == value


def test_adapters_add_up() -> None:
    adapters = parse_flags(["--lora", "/a.gguf", "--lora", "/b.gguf,/c.gguf"]).lora_adapters
    assert [(adapter.path, adapter.scale) for adapter in adapters] == [
        ("/a.gguf", 1.0),
        ("/b.gguf", 1.0),
        ("/c.gguf", 1.0),
    ]


def test_no_name_stands_for_two_flags() -> None:
    names = [name for flag in FLAGS for name in flag.names]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("argv", "error"),
    [
        (["--nope"], "^error: invalid argument: --nope$"),
        (["-c"], "^error: expected value for argument: -c$"),
        (["-c", "many"], '^error while handling argument "-c": invalid value: many$'),
        (["-t", "2147483648"], '^error while handling argument "-t": invalid value: 2147483648$'),
        (["--flash-attn", "perhaps"], "invalid value: perhaps"),
        (["--fit", "perhaps"], "invalid value: perhaps"),
        (["--cache-type-k", "q3_0"], "invalid value: q3_0"),
        (["--spec-type", "nonsense"], "invalid value: nonsense"),
    ],
)
def test_what_is_not_understood_is_an_error(argv: list[str], error: str) -> None:
    with pytest.raises(InvalidArgument, match=error):
        parse_flags(argv)
