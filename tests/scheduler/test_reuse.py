from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.domain.loads import LoadSpec
from orchestrator.scheduler.reuse import same_wish, suits
from tests.scheduler.specs import a_spec


def in_force(asked: LoadSpec, **options: Any) -> LoadSpec:
    """What a CPU runner makes of a spec: mmap off where nobody chose, and perhaps another batch."""
    derived = {"use_mmap": False} if asked.options.use_mmap is None else {}
    return replace(asked, options=replace(asked.options, **(derived | options)))


@pytest.mark.parametrize(
    ("loaded", "wanted", "expected"), [(2048, 512, True), (512, 512, True), (512, 2048, False)]
)
def test_an_embedding_model_with_a_larger_batch_serves_a_smaller_window(
    loaded: int, wanted: int, expected: bool
) -> None:
    files = {"capabilities": frozenset({"embedding"})}
    first, second = (a_spec(num_ctx=size, num_batch=size, files=files) for size in (loaded, wanted))
    assert reused(first, second) is expected


def reused(first: LoadSpec, second: LoadSpec, **chosen: Any) -> bool:
    """Whether a runner loaded on a CPU for ``first`` serves ``second``."""
    loaded = in_force(first, **chosen)
    return suits(second, asked=first, loaded=loaded, mmap_auto=first.options.use_mmap is None)


@pytest.mark.parametrize(
    ("loaded", "wanted", "expected"),
    [
        ({}, {}, True),
        # windows
        ({}, {"num_ctx": 4096}, True),
        ({"num_ctx": 4096}, {}, True),
        ({"num_ctx": 16384}, {}, True),
        ({"num_ctx": 16384}, {"num_ctx": 4096}, True),
        ({"num_ctx": 2048}, {"num_ctx": 2049}, False),
        ({"num_ctx": 2048}, {}, False),
        ({"num_ctx": 131072}, {"num_ctx": 300000}, True),
        # batches
        ({}, {"num_batch": 512}, True),
        ({"num_batch": 256}, {}, False),
        ({}, {"num_batch": 256}, False),
        ({"num_batch": 256}, {"num_batch": 128}, False),
        # layers on the GPU: a negative wish takes what is there
        ({}, {"num_gpu": 0}, False),
        ({"num_gpu": 0}, {}, True),
        ({"num_gpu": 1}, {"num_gpu": -5}, True),
        ({"num_gpu": 0}, {"num_gpu": 1}, False),
        ({"main_gpu": 0}, {"main_gpu": 1}, False),
        ({"main_gpu": 1}, {}, False),
        # mmap: off on a CPU unless somebody chose
        ({}, {"use_mmap": True}, False),
        ({}, {"use_mmap": False}, True),
        ({"use_mmap": True}, {}, False),
        ({"use_mmap": True}, {"use_mmap": False}, False),
        # the rest
        ({"num_thread": 2}, {}, False),
        ({"num_thread": 2}, {"num_thread": 2}, True),
        ({"draft_num_predict": 4}, {"draft_num_predict": 2}, False),
        ({}, {"temperature": 0.0, "seed": 7, "num_predict": 1, "num_keep": 9, "stop": ("x",)}, True),
        ({}, {"shift": False}, False),
        ({}, {"rendered": False}, False),
        ({}, {"files": {"adapters": (Path("/lora"),)}}, False),
        ({}, {"files": {"projectors": (Path("/mmproj"),)}}, False),
        ({}, {"files": {"draft": Path("/draft")}}, False),
    ],
)
def test_a_runner_serves_what_needs_no_other_process(
    loaded: dict[str, Any], wanted: dict[str, Any], expected: bool
) -> None:
    assert reused(a_spec(**loaded), a_spec(**wanted)) is expected


def test_a_chosen_batch_counts_as_what_it_became() -> None:
    loaded = a_spec(num_ctx=8192)
    assert reused(loaded, a_spec(num_ctx=8192, num_batch=1024), num_batch=1024)
    assert not reused(loaded, a_spec(num_ctx=8192, num_batch=512), num_batch=1024)


def test_the_same_wish_never_loads_twice_whatever_the_engine_made_of_it() -> None:
    wish = a_spec(num_ctx=512, num_batch=4096, use_mmap=True)
    assert reused(wish, wish, num_batch=512, use_mmap=False)


def test_an_alias_with_other_display_names_is_the_same_model() -> None:
    spec = a_spec()
    assert reused(spec, replace(spec, files=replace(spec.files, name="alias", digest="other")))


def test_automatic_windows_of_any_size_are_the_same_wish() -> None:
    wide, narrow = a_spec(), a_spec()
    wide = replace(wide, options=replace(wide.options, num_ctx=32768))
    assert same_wish(wide, narrow)
    assert not same_wish(a_spec(num_ctx=32768), a_spec(num_ctx=4096))
    assert not same_wish(a_spec(num_ctx=4096), a_spec())
