"""Whole outputs of every family, written by the grammar of its format, with what they say.

Every text and every value has a word of its own, by which a test can tell whether it got lost.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from orchestrator.parsers.gemma4_arguments import DELIMITER

Call = tuple[str, Mapping[str, Any]]
Part = str | list[Call]
"""A piece of content, or calls made at once."""


@dataclass(frozen=True, slots=True)
class Said:
    """What an output says."""

    thought: str
    parts: Sequence[Part]

    @property
    def totals(self) -> dict[str, Any]:
        """The sums a parser shall give."""
        calls = [call for part in self.parts if not isinstance(part, str) for call in part]
        return {
            "content": "".join(part for part in self.parts if isinstance(part, str)),
            "thinking": self.thought,
            "calls": [{"name": name, "arguments": dict(arguments)} for name, arguments in calls],
        }


@dataclass(frozen=True, slots=True)
class Grammar:
    """How a family writes calls and thoughts."""

    calls: Callable[[Sequence[Call]], str] | None = None
    thought: Callable[[str], str] | None = None
    content: Callable[[str], str] = str
    between: str = ""
    """What stands between two parts, the thought included."""
    calls_first: bool = False
    """Whether calls count only at the beginning."""

    def write(self, said: Said) -> str:
        """The output that says ``said``."""
        parts = [self.thought(said.thought)] if self.thought and said.thought else []
        for part in said.parts:
            if isinstance(part, str):
                parts.append(self.content(part))
            elif self.calls:
                parts.append(self.calls(part))
        return self.between.join(parts)


def _each(write: Callable[[str, Mapping[str, Any]], str]) -> Callable[[Sequence[Call]], str]:
    return lambda calls: "".join(write(name, arguments) for name, arguments in calls)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else _json(value)


def _object(name: str, arguments: Mapping[str, Any]) -> str:
    return _json({"name": name, "arguments": arguments})


def _function(name: str, arguments: Mapping[str, Any]) -> str:
    parameters = "".join(f"<parameter={k}>\n{_plain(v)}\n</parameter>\n" for k, v in arguments.items())
    return f"<tool_call>\n<function={name}>\n{parameters}</function>\n</tool_call>"


def _pairs(name: str, arguments: Mapping[str, Any]) -> str:
    pairs = "".join(
        f"<arg_key>{k}</arg_key>\n<arg_value>{_plain(v)}</arg_value>\n" for k, v in arguments.items()
    )
    return f"<tool_call>{name}\n{pairs}</tool_call>"


def _python(name: str, arguments: Mapping[str, Any]) -> str:
    return f"{name}({', '.join(f'{k}={_json(v)}' for k, v in arguments.items())})"


def _gemma_value(value: Any, quote: str) -> str:
    match value:
        case str():
            return f"{quote}{value}{quote}"
        case list():
            return f"[{','.join(_gemma_value(item, quote) for item in value)}]"
        case dict():
            return f"{{{_gemma_members(value, quote)}}}"
        case _:
            return _json(value)


def _gemma_members(values: Mapping[str, Any], quote: str) -> str:
    return ",".join(f"{k}:{_gemma_value(v, quote)}" for k, v in values.items())


def _deepseek(calls: Sequence[Call], body: Callable[[str, str], str]) -> str:
    written = "".join(
        f"<｜tool▁call▁begin｜>{body(name, _json(arguments))}<｜tool▁call▁end｜>" for name, arguments in calls
    )
    return f"<｜tool▁calls▁begin｜>{written}<｜tool▁calls▁end｜>"


def _cohere(calls: Sequence[Call]) -> str:
    found = [{"tool_call_id": "0", "tool_name": name, "parameters": values} for name, values in calls]
    return f"<|START_ACTION|>{_json(found)}<|END_ACTION|>"


def _glimmer(calls: Sequence[Call]) -> str:
    return "<|eom|><|start|>assistant".join(
        f" to={name}<|message|><atem:function_calls>\n"
        f'<atem:invoke name="{name}">\n'
        + "".join(f'<atem:parameter name="{k}">{_plain(v)}</atem:parameter>\n' for k, v in values.items())
        + "</atem:invoke>\n</atem:function_calls>"
        for name, values in calls
    )


def _harmony(calls: Sequence[Call]) -> str:
    return "<|end|><|start|>assistant".join(
        f"<|channel|>commentary to=functions.{name} <|constrain|>json<|message|>{_json(values)}"
        for name, values in calls
    )


def _opened(closing: str) -> Callable[[str], str]:
    return lambda text: text + closing


def _around(opening: str, closing: str) -> Callable[[str], str]:
    return lambda text: opening + text + closing


_THINK = _opened("</think>")
_CODER = Grammar(_each(_function))
_CODER_THINKING = Grammar(_each(_function), _THINK)
_QWEN3 = Grammar(_each(lambda name, values: f"<tool_call>\n{_object(name, values)}\n</tool_call>"))
_QWEN3_THINKING = Grammar(_QWEN3.calls, _THINK)
_GEMMA4_CALLS = _each(
    lambda name, values: f"""<|tool_call>call:{name}{{{_gemma_members(values, '<|"|>')}}}<tool_call|>"""
)
_LFM2_CALLS: Callable[[Sequence[Call]], str] = lambda calls: (  # noqa: E731
    f"<|tool_call_start|>[{', '.join(_python(*call) for call in calls)}]<|tool_call_end|>"
)

GRAMMARS: Mapping[str, Grammar] = {
    "cogito": Grammar(
        lambda calls: _deepseek(calls, lambda n, j: f"function<｜tool▁sep｜>{n}\n```json\n{j}\n```")
    ),
    "cohere": Grammar(
        _cohere, _opened("<|END_THINKING|>"), content=_around("<|START_TEXT|>", "<|END_TEXT|>")
    ),
    "deepseek3": Grammar(lambda calls: _deepseek(calls, lambda n, j: f"{n}<｜tool▁sep｜>{j}"), _THINK),
    "functiongemma": Grammar(
        _each(
            lambda name, values: (
                f"<start_function_call>call:{name}{{{_gemma_members(values, '<escape>')}}}<end_function_call>"
            )
        )
    ),
    "gemma4": Grammar(_GEMMA4_CALLS, _around("<|channel>thought\n", "<channel|>")),
    "gemma4-no-thinking": Grammar(_GEMMA4_CALLS),
    "glimmer": Grammar(
        _glimmer,
        _around(" to=self<|message|>", ""),
        content=_around("<|message|>", ""),
        between="<|eom|><|start|>assistant",
    ),
    "glm-4.7": Grammar(_each(_pairs), _THINK),
    "glm-ocr": Grammar(_each(_pairs), _around("<think>", "</think>")),
    "harmony": Grammar(
        _harmony,
        _around("<|channel|>analysis<|message|>", ""),
        content=_around("<|channel|>final<|message|>", ""),
        between="<|end|><|start|>assistant",
    ),
    "laguna": Grammar(_each(_pairs), _THINK),
    "lfm2": Grammar(_LFM2_CALLS),
    "lfm2-thinking": Grammar(_LFM2_CALLS, _around("<think>", "</think>")),
    "ministral": Grammar(
        _each(lambda name, values: f"[TOOL_CALLS]{name}[ARGS]{_json(values)}"), _around("[THINK]", "[/THINK]")
    ),
    "nemotron-3-nano": _CODER_THINKING,
    "nemotron-3.5-nano": _CODER_THINKING,
    "olmo3": Grammar(
        lambda calls: f"<function_calls>\n{chr(10).join(_python(*call) for call in calls)}\n</function_calls>"
    ),
    "olmo3-think": Grammar(thought=_THINK),
    "ornith": _CODER_THINKING,
    "passthrough": Grammar(),
    "poolside-v1": Grammar(_each(_pairs), _THINK),
    "qwen3": _QWEN3,
    "qwen3-coder": _CODER,
    "qwen3-thinking": _QWEN3_THINKING,
    "qwen3-vl-instruct": _QWEN3,
    "qwen3-vl-thinking": _QWEN3_THINKING,
    "qwen3.5": _CODER_THINKING,
    "generic '{'": Grammar(_each(_object), _around("<think>", "</think>"), calls_first=True),
    "generic '['": Grammar(
        lambda calls: f"[{', '.join(_object(*call) for call in calls)}]",
        _around("<think>", "</think>"),
        calls_first=True,
    ),
    "generic '<tool_call>'": Grammar(_QWEN3.calls, _around("<think>", "</think>")),
    "generic '[TOOL_CALLS] ['": Grammar(
        lambda calls: f"[TOOL_CALLS] [{', '.join(_object(*call) for call in calls)}]",
        _around("<think>", "</think>"),
    ),
}


class _Words:
    """A word for every text, in their order."""

    def __init__(self) -> None:
        self._count = 0

    def next(self) -> str:
        self._count += 1
        return f"w{self._count}z"


_AROUND = st.text(st.sampled_from("ab .,!?é\n<>|/&"), max_size=5)
_IN_VALUE = st.text(st.sampled_from("ab .,:;é\n<>|/&'\"\\{}[]()=`"), max_size=5).filter(
    lambda text: DELIMITER not in text  # gemma4 has no way to write that in a string
)


def _text(draw: st.DrawFn, words: _Words, around: st.SearchStrategy[str]) -> str:
    return f"a{draw(around)}{words.next()}{draw(around)}b"


def _call(draw: st.DrawFn, words: _Words) -> Call:
    name = draw(st.sampled_from(("note", "get", "get_all")))
    values: dict[str, Any] = {"a": _text(draw, words, _IN_VALUE)}
    match draw(st.integers(0, 3)):
        case 1:
            values["b"] = draw(st.integers(-9, 10**9))
        case 2:
            values["b"] = [1, _text(draw, words, _IN_VALUE)]
        case 3:
            values["b"] = {"c": _text(draw, words, _IN_VALUE), "d": [True, -7]}
    return name, values


@st.composite
def outputs(draw: st.DrawFn, grammar: Grammar) -> Said:
    """Something a model of the family may say: a thought, then content and calls by turns."""
    words = _Words()
    thought = _text(draw, words, _AROUND) if grammar.thought else ""
    parts: list[Part] = []
    speaks = False if grammar.calls_first else draw(st.booleans())
    for _ in range(draw(st.integers(1, 2 if grammar.calls_first else 4))):
        if speaks or not grammar.calls:
            parts.append(_text(draw, words, _AROUND))
        else:
            parts.append([_call(draw, words) for _ in range(draw(st.integers(1, 2)))])
        speaks = not speaks
    return Said(thought, parts if grammar.calls else parts[:1])
