#!/usr/bin/env python3
"""What the prompt of a long chat costs: 100 messages and 20 tools, by every renderer and built-in template.

python -m bench.renderers [name …]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Sequence

from orchestrator.domain.chunks import ToolCall
from orchestrator.domain.requests import Message
from orchestrator.domain.think import Think
from orchestrator.domain.tools import parse_tools
from orchestrator.renderers import registry
from orchestrator.templates.gotemplate import GoTemplate
from orchestrator.templates.known import NAMES, known
from orchestrator.templates.prompt import render_chat

GOAL_MS = 5.0
MESSAGES = 100
TOOLS = 20
REPEATS = 7

_PARAMETERS = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "description": "Name of the city"},
        "days": {"type": "integer", "description": "How many days"},
        "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
    },
    "required": ["city"],
}


def conversation() -> tuple[list[Message], list[dict[str, object]]]:
    """Turns of question, call, result and answer; and the tools."""
    call = ToolCall("tool_3", {"city": "Oslo", "days": 2, "unit": "celsius"}, id="call_1")
    turns = (
        Message("user", "What will the weather be like in Oslo? " * 3),
        Message("assistant", "", "The user wants a forecast.", tool_calls=(call,)),
        Message("tool", '{"temperature": 4, "sky": "clouds"}', tool_name="tool_3", tool_call_id="call_1"),
        Message("assistant", "It will be cloudy, with four degrees. " * 5),
    )
    tools: list[dict[str, object]] = [
        {
            "type": "function",
            "function": {
                "name": f"tool_{n}",
                "description": "Look up the weather",
                "parameters": _PARAMETERS,
            },
        }
        for n in range(TOOLS)
    ]
    return [*(turns[n % 4] for n in range(MESSAGES - 1)), turns[0]], tools


def makers(wanted: Sequence[str]) -> Iterable[tuple[str, Callable[[], str]]]:
    """What makes a prompt, those asked for or all."""
    messages, definitions = conversation()
    tools, think = parse_tools(definitions), Think(on=True)
    for name in registry.names():
        if not wanted or name in wanted:
            renderer = registry.make(name)
            yield name, lambda renderer=renderer: renderer.render(messages, tools, think)  # type: ignore[misc]
    for name in NAMES:
        if not wanted or name in wanted:
            template = GoTemplate.parse(known(name).text)
            yield f"{name} (template)", lambda t=template: render_chat(t, messages, tools, think)  # type: ignore[misc]


def cost_ms(make: Callable[[], str]) -> float:
    """Milliseconds per prompt, the best of some."""
    best = float("inf")
    for _ in range(REPEATS):
        begin = time.perf_counter()
        make()
        best = min(best, (time.perf_counter() - begin) * 1e3)
    return best


def main(wanted: Sequence[str]) -> int:
    """Print the table; the exit status says whether the goal is met everywhere."""
    print(f"{'':36}{'ms':>8}{'kB':>8}   {MESSAGES} messages, {TOOLS} tools")
    slow = []
    for name, make in makers(wanted):
        cost = cost_ms(make)
        print(f"{name:36}{cost:8.2f}{len(make().encode()) / 1e3:8.1f}")
        slow += [name] if cost > GOAL_MS else []
    print(f"goal: up to {GOAL_MS} ms; {'missed by ' + ', '.join(slow) if slow else 'met'}")
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
