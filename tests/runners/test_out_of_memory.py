from __future__ import annotations

import pytest

from orchestrator.runners.out_of_memory import is_fatal, is_quoted, says_out_of_memory


@pytest.mark.parametrize(
    "text",
    [
        "CUDA error: out of memory",
        "OUT OF DEVICE MEMORY",
        "cudaMalloc failed: x",
        "hipMalloc failed",
        "alloc_tensor_range: failed to allocate CUDA0 buffer",
        "std::bad_alloc: not enough memory",
        "ggml_aligned_malloc: insufficient memory",
        "VK_ERROR_OUT_OF_DEVICE_MEMORY",
        "ErrorOutOfMemory",
    ],
)
def test_exhausted_memory_has_many_names(text: str) -> None:
    assert says_out_of_memory(text)
    assert is_quoted(text)
    assert is_fatal(text)


@pytest.mark.parametrize("text", ["ErrorOutOfDeviceMemory", "Device memory allocation of size 17 failed."])
def test_vulkans_own_words_count_but_are_not_quoted(text: str) -> None:
    assert is_fatal(text)
    assert not is_quoted(text)


def test_an_engine_that_tries_again_is_not_lost() -> None:
    text = "failed to allocate buffer, retrying without pipeline parallelism"
    assert says_out_of_memory(text)
    assert not is_fatal(text)


@pytest.mark.parametrize("text", ["", "error: other", "memory"])
def test_other_errors_are_not_about_memory(text: str) -> None:
    assert not says_out_of_memory(text)
