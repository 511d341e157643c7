"""Renderer and parser of a family undo each other: calls written into a prompt are read back as they were.

The assistant's part of a prompt is what the model would have written, from its first call to the token that
ends its turn.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.domain.chunks import ToolCall
from orchestrator.domain.requests import Message
from orchestrator.domain.think import Think
from orchestrator.domain.tools import Tool, parse_tools
from orchestrator.parsers import registry as parsers
from orchestrator.renderers import registry as renderers

NAMES = ("get_weather", "note", "now")
SCHEMAS: Mapping[str, Any] = {
    "text": {"type": "string"},
    "count": {"type": "integer"},
    "ratio": {"type": "number"},
    "flag": {"type": "boolean"},
    "items": {"type": "array", "items": {}},
    "extra": {"type": "object"},
}
TOOLS: tuple[Tool, ...] = parse_tools(
    [
        {
            "type": "function",
            "function": {"name": name, "parameters": {"type": "object", "properties": SCHEMAS}},
        }
        for name in NAMES
    ]
)
OFF = Think(False)


@dataclass(frozen=True, slots=True)
class Family:
    """How a family's calls stand in a prompt."""

    parser: str
    opening: str
    """What the first call begins with."""
    ending: str
    """What ends the turn."""
    trims: bool = False
    """White space around a text is not told from the format's own."""


_XML = Family("qwen3.5", "<tool_call>", "<|im_end|>", trims=True)
_JSON = Family("qwen3-vl-instruct", "<tool_call>", "<|im_end|>")
_PAIRS = Family("glm-4.7", "<tool_call>", "<|observation|>", trims=True)
_GEMMA = Family("gemma4", "<|tool_call>", "<|tool_response>")
_PYTHON = Family("lfm2", "<|tool_call_start|>", "<|im_end|>")

FAMILIES: Mapping[str, Family] = {
    "cogito": Family("cogito", "<｜tool▁calls▁begin｜>", "<｜end▁of▁sentence｜>"),
    "cohere": Family("cohere", "<|START_ACTION|>", "<|END_OF_TURN_TOKEN|>"),
    "deepseek3.1": Family("deepseek3", "<｜tool▁calls▁begin｜>", "<｜end▁of▁sentence｜>"),
    "functiongemma": Family("functiongemma", "<start_function_call>", "<start_function_response>"),
    "gemma4": _GEMMA,
    "gemma4-large": _GEMMA,
    "gemma4-small": _GEMMA,
    "glimmer": Family("glimmer", " to=", "<|eot|>"),
    "glm-4.7": _PAIRS,
    "glm-ocr": Family("glm-ocr", "<tool_call>", "<|observation|>", trims=True),
    "laguna": Family("laguna", "<tool_call>", "</assistant>", trims=True),
    "lfm2": _PYTHON,
    "lfm2-thinking": Family("lfm2-thinking", "<|tool_call_start|>", "<|im_end|>"),
    "nemotron-3-nano": Family("nemotron-3-nano", "<tool_call>", "<|im_end|>", trims=True),
    "nemotron-3.5-nano": Family("nemotron-3.5-nano", "<tool_call>", "<|im_end|>", trims=True),
    "olmo3": Family("olmo3", "<function_calls>", "<|im_end|>"),
    "olmo3.1": Family("olmo3", "<function_calls>", "<|im_end|>"),
    "ornith": Family("ornith", "<tool_call>", "<|im_end|>", trims=True),
    "poolside-v1": Family("poolside-v1", "<tool_call>", "</assistant>", trims=True),
    "qwen3-coder": Family("qwen3-coder", "<tool_call>", "<|im_end|>", trims=True),
    "qwen3-vl-instruct": _JSON,
    "qwen3-vl-thinking": Family("qwen3-vl-thinking", "<tool_call>", "<|im_end|>"),
    "qwen3.5": _XML,
    "qwen3.8": _XML,
}

WITHOUT_TOOLS = {"olmo3-think", "olmo3-32b-think"}

TEXT = st.text(st.sampled_from("abc 19.,:;!?-_/\\'()[]{}<>é漢😀\n\"&"), max_size=12)
SCALARS = st.none() | st.booleans() | st.integers(-(10**18), 10**18) | TEXT
NESTED = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text("abc_", min_size=1, max_size=4), inner, max_size=3)
    ),
    max_leaves=5,
)
ARGUMENTS = st.fixed_dictionaries(
    {},
    optional={
        "text": TEXT,
        "count": st.integers(-(10**15), 10**15),
        "ratio": st.floats(-1000, 1000).map(lambda value: round(value, 3)),
        "flag": st.booleans(),
        "items": st.lists(NESTED, max_size=3),
        "extra": st.dictionaries(st.text("abc_", min_size=1, max_size=4), NESTED, max_size=3),
    },
)
CALLS = st.lists(st.tuples(st.sampled_from(NAMES), ARGUMENTS), min_size=1, max_size=3)


def written(name: str, calls: Sequence[tuple[str, Mapping[str, Any]]]) -> str:
    """What the model would have written to make ``calls``."""
    family = FAMILIES[name]
    made = tuple(ToolCall(tool, values, at, f"call_{at}") for at, (tool, values) in enumerate(calls))
    results = [Message("tool", "done", tool_name=c.name, tool_call_id=c.id) for c in made]
    messages = [Message("user", "GO"), Message("assistant", tool_calls=made), *results]
    prompt = renderers.make(name).render(messages, TOOLS, OFF)
    start = prompt.index(family.opening, prompt.index("GO"))
    return prompt[start : prompt.index(family.ending, start)]


def read(name: str, pieces: Sequence[str]) -> tuple[str, list[tuple[str, Any]]]:
    """Content and calls in what the model has written."""
    parser = parsers.make(FAMILIES[name].parser)
    assert parser is not None
    parser.start(TOOLS, Message("user", "GO"), OFF)
    parsed = [*map(parser.feed, pieces), parser.close()]
    calls = [(call.name, dict(call.arguments)) for part in parsed for call in part.calls]
    return "".join(part.content for part in parsed), calls


def expressible(value: Any, family: Family) -> Any:
    """``value`` as far as the family's format can say it."""
    return value.strip() if family.trims and isinstance(value, str) else value


def cut(text: str, places: Sequence[int]) -> Iterator[str]:
    marks = sorted({0, len(text), *(place % (len(text) + 1) for place in places)})
    return (text[a:b] for a, b in zip(marks, marks[1:], strict=False))


def test_every_family_with_calls_is_here() -> None:
    assert FAMILIES.keys() == renderers.BUILT_IN.keys() - WITHOUT_TOOLS


@pytest.mark.parametrize("name", FAMILIES)
@settings(max_examples=30)
@given(calls=CALLS, places=st.lists(st.integers(0, 10_000), max_size=5))
def test_calls_in_a_prompt_are_read_back(
    name: str, calls: list[tuple[str, dict[str, Any]]], places: list[int]
) -> None:
    family = FAMILIES[name]
    wanted = [
        (tool, {key: expressible(value, family) for key, value in values.items()}) for tool, values in calls
    ]
    text = written(name, wanted)
    content, found = read(name, [text])
    assert (content.strip(), found) == ("", wanted), text
    assert read(name, list(cut(text, places))) == (content, found)
    assert read(name, list(text)) == (content, found)
