"""What replies tell beyond their text."""

from __future__ import annotations

import pytest

from orchestrator.api.disclosures import TRUNCATED_HEADER, disclosures, truncation_headers
from orchestrator.domain.chunks import Done, DoneReason, StopDetail
from orchestrator.inference.reply import Overflow


def test_nothing_is_told_of_an_ordinary_reply() -> None:
    assert truncation_headers(None) == {}
    assert disclosures(Done(DoneReason.STOP, detail=StopDetail.EOS), None) == {}


@pytest.mark.parametrize(
    ("detail", "members"),
    [(StopDetail.WINDOW, {"done_detail": "context_full"}), (StopDetail.BUDGET, {})],
)
def test_a_full_window_is_told_from_a_used_up_budget(  # case B007
    detail: StopDetail, members: dict[str, str]
) -> None:
    assert disclosures(Done(DoneReason.LENGTH, detail=detail), None) == members


def test_warnings_are_told() -> None:
    assert disclosures(Done(DoneReason.STOP), None, ["mind"]) == {"warnings": ["mind"]}


def test_what_was_left_out_of_a_prompt_is_told_with_its_size() -> None:
    overflow = Overflow(prompt_tokens=900, num_ctx=512, messages_dropped=3, tokens_dropped=40)
    assert truncation_headers(overflow) == {
        TRUNCATED_HEADER: "tokens=900; num_ctx=512; messages-dropped=3; tokens-dropped=40"
    }
    assert disclosures(Done(DoneReason.STOP), overflow) == {
        "prompt_truncated": True,
        "prompt_tokens_before": 900,
        "messages_dropped": 3,
        "prompt_tokens_dropped": 40,
    }
