#!/usr/bin/env python3
"""What a token costs in every output parser: plain tokens of content and of thinking, and lines of text.

python -m bench.parsers [name …]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Sequence

from orchestrator.domain.think import Think
from orchestrator.domain.tools import parse_tools
from orchestrator.parsers import registry
from orchestrator.parsers.base import Parser
from orchestrator.parsers.generic import generic_parser

GOAL_US = 2.0

TOKENS = (" the", " quick", " brown", " fox", " jumps", " over", " a", " lazy", " dog")
LINES = (*TOKENS[:4], ".", "\n", *TOKENS[4:], ".\n\n")
ROUNDS = 12_000
REPEATS = 3

TOOLS = parse_tools([{"type": "function", "function": {"name": name}} for name in ("get_weather", "note")])
THINK = ("<think>", "</think>")

INTO_CONTENT = {
    "cohere": "<|END_THINKING|><|START_TEXT|>",
    "glimmer": "<|message|>",
    "harmony": "<|channel|>final<|message|>",
}
INTO_THINKING = {
    "gemma4": "<|channel>thought\n",
    "glimmer": " to=self<|message|>",
    "glm-ocr": "<think>",
    "harmony": "<|channel|>analysis<|message|>",
    "lfm2-thinking": "<think>",
    "ministral": "[THINK]",
}


def parsers(names: Sequence[str]) -> Iterable[tuple[str, Parser]]:
    """Fresh parsers, those asked for or all."""
    for name in names or registry.names():
        if parser := registry.make(name):
            yield name, parser
    for tag in ("<tool_call>", "{") if not names else ():
        yield (
            f"generic {tag}",
            generic_parser(thinking_tags=THINK, tool_tag=tag, prompt_ends_in_thought=False),
        )


def cost_us(name: str, *, thinking: bool, tokens: Sequence[str]) -> float | None:
    """Microseconds per token, the best of some runs; ``None`` where the output cannot get there."""
    best = None
    for _ in range(REPEATS):
        ((_, parser),) = [found for found in parsers(()) if found[0] == name]
        parser.start(TOOLS, None, Think(on=True))
        parser.feed(INTO_THINKING.get(name, "<think>x") if thinking else INTO_CONTENT.get(name, "</think>x"))
        probe = parser.feed("probe")
        if not (probe.thinking if thinking else probe.content):
            return None
        feed = parser.feed
        begin = time.perf_counter()
        for _ in range(ROUNDS):
            for token in tokens:
                feed(token)
        cost = (time.perf_counter() - begin) / (ROUNDS * len(tokens)) * 1e6
        best = cost if best is None else min(best, cost)
    return best


def main(names: Sequence[str]) -> int:
    """Print the table; the exit status says whether plain tokens meet the goal everywhere."""
    print(f"{'parser':24}{'content':>10}{'thinking':>10}{'lines':>10}   µs per token")
    slow = []
    for name, _ in parsers(names):
        content = cost_us(name, thinking=False, tokens=TOKENS)
        thinking = cost_us(name, thinking=True, tokens=TOKENS)
        lines = cost_us(name, thinking=False, tokens=LINES)
        print(f"{name:24}{_cell(content)}{_cell(thinking)}{_cell(lines)}")
        slow += [name] if max(content or 0.0, thinking or 0.0) > GOAL_US else []
    print(f"goal: plain tokens up to {GOAL_US} µs; {'missed by ' + ', '.join(slow) if slow else 'met'}")
    return 1 if slow else 0


def _cell(cost: float | None) -> str:
    return f"{'–' if cost is None else format(cost, '.2f'):>10}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
