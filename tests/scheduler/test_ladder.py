from __future__ import annotations

from dataclasses import replace

from orchestrator.scheduler.ladder import next_try
from tests.scheduler.specs import a_spec


def test_a_window_is_clamped_to_the_trained_one_before_a_tier_is_taken_off() -> None:
    spec = a_spec(trained=8192)
    wide = replace(spec, options=replace(spec.options, num_ctx=262144))
    again = next_try(wide, alone=False, others=False)
    assert again is not None
    assert again.options.num_ctx == 4096
    assert again.ctx_auto


def test_a_chosen_window_is_tried_again_once_when_others_can_leave() -> None:
    spec = a_spec(num_ctx=65536)
    assert next_try(spec, alone=False, others=True) == spec
    assert next_try(spec, alone=True, others=True) is None
    assert next_try(spec, alone=False, others=False) is None
