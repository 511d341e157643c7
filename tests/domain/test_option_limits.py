from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.option_limits import MOST_THREADS, OptionOutOfRange, within_limits
from orchestrator.domain.options import WHOLE_OPTIONS, Options

INT_MAX = 2**31 - 1
UNLIMITED = {"seed", "num_predict"}
"""Options that are bounded by something else, or not at all."""
REFUSED = {"num_ctx", "main_gpu"}


def held(**options: Any) -> Options:
    return within_limits(Options(**options))


@pytest.mark.parametrize("name", sorted({*WHOLE_OPTIONS} - UNLIMITED))
@pytest.mark.parametrize("value", [-(2**31), -2, -1, 0, 1, 7, 512])
def test_what_an_engine_reads_stays_as_it_is(name: str, value: int) -> None:
    assert getattr(held(**{name: value}), name) == value


@given(st.sampled_from(sorted({*WHOLE_OPTIONS} - UNLIMITED - REFUSED)), st.integers(-(2**63), 2**63 - 1))
def test_no_engine_is_given_more_than_it_reads(name: str, value: int) -> None:
    assert -(2**63) <= getattr(held(**{name: value}), name) <= INT_MAX


@pytest.mark.parametrize(
    "name", ["num_batch", "num_gpu", "draft_num_predict", "num_keep", "top_k", "repeat_last_n"]
)
def test_more_than_there_can_be_is_all_of_them(name: str) -> None:
    assert getattr(held(**{name: 2**40}), name) == INT_MAX
    assert getattr(held(**{name: -(2**40)}), name) == -(2**31)


def test_threads_that_no_engine_takes_are_one_per_core() -> None:
    assert held(num_thread=MOST_THREADS).num_thread == MOST_THREADS
    assert held(num_thread=MOST_THREADS + 1).num_thread == 0


@pytest.mark.parametrize("options", [{"num_ctx": 2**31}, {"main_gpu": 2**31}, {"main_gpu": -(2**31) - 1}])
def test_what_means_nothing_is_refused(options: dict[str, int]) -> None:
    ((name, value),) = options.items()
    with pytest.raises(OptionOutOfRange, match=f'^option "{name}" is {value}, and '):
        held(**options)
