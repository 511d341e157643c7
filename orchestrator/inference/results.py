"""Results of tools, brought into the order of the calls they answer.

Templates tell results apart by their order alone, clients by ids; one that runs calls side by side sends the
results as they come. A result without an id answers the first open call of the tool it names.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from orchestrator.domain.chunks import ToolCall
from orchestrator.domain.requests import Message

_TOOL = "tool"


def in_order_of_calls(messages: Sequence[Message]) -> list[Message]:
    """``messages`` with each run of results in the order of the calls before it, each with its tool named."""
    ordered: list[Message] = []
    at = 0
    while at < len(messages):
        message = messages[at]
        ordered.append(message)
        at += 1
        if message.tool_calls:
            end = _end_of_results(messages, at)
            ordered += _matched(message.tool_calls, messages[at:end])
            at = end
    return ordered


def _end_of_results(messages: Sequence[Message], start: int) -> int:
    return next((i for i in range(start, len(messages)) if messages[i].role != _TOOL), len(messages))


def _matched(calls: Sequence[ToolCall], results: Sequence[Message]) -> list[Message]:
    """The results, those that answer no call at the end."""
    if not results:
        return []
    answered = dict(_answers(calls, results))
    places = {result: place for place, result in answered.items()}
    order = sorted(range(len(results)), key=lambda index: places.get(index, len(calls)))
    return [
        _named(results[index], calls[places[index]].name) if index in places else results[index]
        for index in order
    ]


def _answers(calls: Sequence[ToolCall], results: Sequence[Message]) -> Iterator[tuple[int, int]]:
    """Pairs of the places of a call and of the result that answers it."""
    by_id = {call.id: place for place, call in enumerate(calls) if call.id}
    open_calls, without_id = dict.fromkeys(range(len(calls))), []
    for index, result in enumerate(results):
        place = by_id.get(result.tool_call_id)
        if place in open_calls:
            del open_calls[place]
            yield place, index
        else:
            without_id.append(index)
    for index in without_id:
        name = results[index].tool_name
        place = next((place for place in open_calls if calls[place].name == name), None)
        if place is not None:
            del open_calls[place]
            yield place, index


def _named(result: Message, name: str) -> Message:
    return result if result.tool_name else replace(result, tool_name=name)
