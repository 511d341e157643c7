"""A response in one piece. Source: ``api-compat`` §6.4, §9."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from orchestrator.api.openai.responses import output
from orchestrator.api.openai.responses.frame import ResponseFrame, random_number
from orchestrator.api.openai.responses.output import Item
from orchestrator.api.openai.responses.rounds import Conversation, spoken
from orchestrator.domain.chunks import Chunk


def whole_response(frame: ResponseFrame, conversation: Conversation, told: dict[str, Any]) -> dict[str, Any]:
    """The response object; ``told`` are members of our own."""
    *earlier, last = [conversation.visible(chunks) for chunks in conversation.said]
    items = [*_before_searches(earlier), *_searches(frame, conversation.queries), *_calls_between(earlier)]
    return frame.completed([*items, *_answer(frame, last)], conversation.usage, told)


def _answer(frame: ResponseFrame, chunks: Sequence[Chunk]) -> list[Item]:
    """The items of the last round: calls stand in the place of text."""
    message = spoken(chunks)
    items = [output.reasoning_item(f"rs_{frame.id}", message.thinking)] if message.thinking else []
    if message.tool_calls:
        calls = enumerate(message.tool_calls)
        return [*items, *(output.call_item(f"fc_{frame.id}_{index}", call) for index, call in calls)]
    part = output.text_part(message.content, [entry for chunk in chunks for entry in chunk.logprobs])
    return [*items, output.message_item(f"msg_{random_number()}", part)]


def _before_searches(rounds: Sequence[Sequence[Chunk]]) -> list[Item]:
    """What was thought and said before and between searches, put together."""
    messages = [spoken(chunks) for chunks in rounds]
    thinking = "\n".join(message.thinking for message in messages if message.thinking)
    text = "\n".join(message.content for message in messages if message.content)
    items = [output.reasoning_item("rs_presearch", thinking)] if thinking else []
    return [*items, output.message_item("msg_presearch", output.text_part(text))] if text else items


def _searches(frame: ResponseFrame, queries: Sequence[str]) -> list[Item]:
    return [output.search_item(frame.search_id(number), query) for number, query in enumerate(queries, 1)]


def _calls_between(rounds: Sequence[Sequence[Chunk]]) -> list[Item]:
    calls = [call for chunks in rounds for call in spoken(chunks).tool_calls]
    return [output.call_item(f"fc_mixed_{index}", call) for index, call in enumerate(calls)]
