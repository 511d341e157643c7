"""Answers of servers that say something else than this API."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.client import wire
from orchestrator.client.errors import UnreadableReply
from orchestrator.client.shapes import shaped


@pytest.mark.parametrize(
    ("kind", "record", "complaint"),
    [
        (wire.ModelSummary, {"name": 5}, "name is not a text"),
        (wire.ModelSummary, {"name": "a", "size": "big"}, "size is not a number"),
        (wire.ModelSummary, {"size": True}, "size is not a number"),
        (wire.ModelSummary, {"details": {"families": ["a", 5]}}, "details.families[1] is not a text"),
        (wire.RunningModel, {"expires_at": []}, "expires_at is not a text"),
        (wire.ModelCard, {"details": 5}, "details is not an object"),
        (wire.ModelCard, {"model_info": "x"}, "model_info is not an object"),
        (wire.ModelCard, {"tensors": [{"name": "a"}]}, "is missing"),
        (wire.ModelCard, {"messages": [{"content": "x"}]}, "messages[0].role is missing"),
        (wire.GenerateChunk, {"done": "yes"}, "done is not true or false"),
        (wire.ChatChunk, {"message": "x"}, "message is not an object"),
        (wire.ChatChunk, {"message": {"role": "a", "images": {}}}, "message.images is not a list"),
        (wire.Progress, {"completed": []}, "completed is not a number"),
    ],
)
def test_a_member_of_another_type_is_named(kind: Any, record: dict[str, Any], complaint: str) -> None:
    with pytest.raises(UnreadableReply) as refused:
        shaped(record, kind)
    assert complaint in str(refused.value)
    assert refused.value.hint


@pytest.mark.parametrize(
    ("kind", "record"),
    [
        (wire.ModelSummary, {}),
        (wire.ModelSummary, {"name": "a", "size": 1.5, "details": None, "of_ours": [1]}),
        (wire.ModelSummary, {"details": {"families": None}}),
        (wire.ModelCard, {"messages": None, "model_info": {"x": [1, None]}}),
        (wire.EmbedReply, {"embeddings": [[1, 0.5]]}),
        (wire.ChatChunk, {"message": {"tool_calls": [{"function": 5}]}}),
    ],
)
def test_what_is_known_or_left_out_stays_as_it_is(kind: Any, record: dict[str, Any]) -> None:
    assert shaped(record, kind) is record
