from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.option_limits import MOST_THREADS
from orchestrator.domain.option_remarks import Frame, remarks
from orchestrator.domain.options import FLOAT_OPTIONS, WHOLE_OPTIONS, Options

FRAME = Frame(window=8192, smallest_window=4, trained_window=8192, drafts=True)
TINY = Frame(window=4, smallest_window=4, trained_window=8192)
VISION = Frame(window=2048, smallest_window=2048, trained_window=8192)
COMPLETION = Frame(window=4096, smallest_window=4, zero_is_unlimited=True)


def told(options: dict[str, Any], frame: Frame = FRAME) -> list[str]:
    return list(remarks(options, frame))


@pytest.mark.parametrize("name", WHOLE_OPTIONS)
@pytest.mark.parametrize("value", [None, "many", True, 1, MOST_THREADS])
def test_nothing_is_told_of_values_that_count(name: str, value: Any) -> None:
    frame = Frame(window=8192, smallest_window=1, drafts=True)
    assert [text for text in told({name: value}, frame) if "num_ctx" not in text] == []


def test_nothing_is_told_of_the_defaults_and_of_what_is_usual() -> None:
    usual = {"num_ctx": 4096, "temperature": 0, "num_predict": -1, "seed": -1, "repeat_last_n": -1}
    defaults = {name: getattr(Options(), name) for name in (*WHOLE_OPTIONS, *FLOAT_OPTIONS)}
    assert told(usual | {"num_gpu": 999, "stop": ["END"], "top_p": 1.0, "num_keep": -1}) == []
    assert told({**defaults, "num_ctx": 4096}) == []


@pytest.mark.parametrize(
    ("name", "value", "frame", "text"),
    [
        ("num_ctx", 0, TINY, "counts as 4: no window here is smaller, and next to nothing fits into so "
         "little"),
        ("num_ctx", -1e300, TINY, "counts as 4: no window here is smaller, and next to nothing fits into so "
         "little"),
        ("num_ctx", 4, TINY, "is 4, and next to nothing fits into so little"),
        ("num_ctx", 512, VISION, "counts as 2048: no window here is smaller"),
        ("num_ctx", 100_000, FRAME, "counts as 8192: the model was trained for no more"),
        ("num_ctx", 2048.9, FRAME, "counts as 2048: it is a whole number"),
        ("num_batch", 0, FRAME, "has no effect: nothing is read in batches so small, so the engine uses its "
         "own size"),
        ("num_batch", -7.5, FRAME, "has no effect: nothing is read in batches so small, so the engine uses "
         "its own size"),
        ("num_batch", 10**7, FRAME, "counts as all of the context: there is no more to be read at once"),
        ("num_thread", 513, FRAME, "has no effect: an engine takes 512 threads at most, so it uses one per "
         "core"),
        ("num_thread", -1, FRAME, "has no effect: it is negative, so the engine uses one per core"),
        ("num_keep", 8192, FRAME, "counts as 8191: no more can be kept"),
        ("num_keep", -7, FRAME, "counts as -1: all that fits is kept"),
        ("repeat_last_n", -7, FRAME, "counts as -1: that is the whole window"),
        ("repeat_last_n", 10**9, FRAME, "counts as all tokens of the request: there are no more"),
        ("num_predict", 10**9, FRAME, "counts as ten context windows: no answer is longer"),
        ("num_predict", 0, COMPLETION, "has no effect: 0 is no limit here"),
        ("seed", -(2**40) + 5, FRAME, "counts as 5: a seed has 32 bits"),
        ("seed", 2**32 + 5, FRAME, "counts as 5: a seed has 32 bits"),
        ("seed", 1e300, FRAME, "counts as -1: a seed has 32 bits"),
        ("draft_num_predict", 8, TINY, "has no effect: nothing guesses ahead for this model"),
        ("draft_num_predict", 10**12, FRAME, "counts as 2147483647: engines read no more"),
        ("top_k", 10**400, FRAME, "counts as 2147483647: engines read no more"),
        ("num_gpu", -(10**12), FRAME, "counts as -2147483648: engines read no more"),
        ("temperature", 1e39, FRAME, "has no effect: it is out of range"),
        ("top_p", -(10**400), FRAME, "has no effect: it is out of range"),
        ("repeat_penalty", 0, FRAME, "counts as 1: a penalty is greater than 0"),
        ("stop", ["x", ""], FRAME, "has an empty text, which ends every answer before it begins"),
    ],
)  # fmt: skip
def test_a_value_that_does_not_count_as_it_is_is_told(name: str, value: Any, frame: Frame, text: str) -> None:
    assert told({name: value}, frame) == [f'option "{name}" {text}']


@given(
    st.sampled_from([*WHOLE_OPTIONS, *FLOAT_OPTIONS]),
    st.integers() | st.floats(allow_nan=False, allow_infinity=False),
)
def test_any_number_has_one_short_text_at_most(name: str, value: float) -> None:
    texts = told({name: value})
    assert len(texts) <= 1
    assert all(len(text) < 200 for text in texts)


def test_names_and_kinds_that_others_complain_of_are_passed_over() -> None:
    assert told({"nonsense": 1e300, "stop": "x", "use_mmap": 3, "temperature": "hot"}) == []
