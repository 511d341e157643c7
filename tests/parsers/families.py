"""What the outputs of every family are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.domain.think import Think
from orchestrator.domain.tools import Tool, parse_tools
from orchestrator.parsers import registry
from orchestrator.parsers.base import Parser
from orchestrator.parsers.generic import generic_parser

TOOLS: tuple[Tool, ...] = parse_tools(
    [
        {
            "type": "function",
            "function": {
                "name": name,
                "parameters": {
                    "type": "object",
                    "properties": {"a": {"type": "string"}, "b": {"type": ["integer", "array", "object"]}},
                    "required": required,
                },
            },
        }
        for name, required in (("note", ["a"]), ("get", []), ("get_all", []))
    ]
)

THINK = ("<think>", "</think>")
TOOL_CALL = ("<tool_call>", "</tool_call>")


@dataclass(frozen=True, slots=True)
class Family:
    """A family's tags, a call of ``note`` with ``a`` = ``x``, and how an output gets to its content."""

    tags: Sequence[str]
    call: str = ""
    to_content: str = ""
    thinks: bool = False
    """Whether the output begins within a thought if thinking is asked for."""
    to_thinking: str = ""
    drops_noise: bool = False
    """Whether text is dropped that is neither content nor thinking nor part of a call: headers of messages,
    what surrounds a call in its block, results that the model made up."""


_CODER = Family(
    (*THINK, *TOOL_CALL, "<function=note>", "</function>", "<parameter=a>", "</parameter>", "<parameter="),
    call="<tool_call><function=note>\n<parameter=a>\nx\n</parameter>\n</function></tool_call>",
    drops_noise=True,
)
_CODER_THINKING = Family(_CODER.tags, _CODER.call, to_content="</think>", thinks=True, drops_noise=True)
_QWEN3 = Family((*THINK, *TOOL_CALL), '<tool_call>{"name":"note","arguments":{"a":"x"}}</tool_call>')
_QWEN3_THINKING = Family(_QWEN3.tags, _QWEN3.call, to_content="</think>", thinks=True)
_PAIRS = ("<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>")
_PAIR_CALL = "<tool_call>note<arg_key>a</arg_key><arg_value>x</arg_value></tool_call>"
_LAGUNA = Family(
    (*THINK, *TOOL_CALL, *_PAIRS, "<user>", "</user>", "<user>note"),
    _PAIR_CALL,
    to_content="</think>x",
    thinks=True,
    drops_noise=True,
)
_GLM = Family((*THINK, *TOOL_CALL, *_PAIRS), _PAIR_CALL, to_content="</think>", thinks=True, drops_noise=True)
_GEMMA4 = Family(
    ("<|channel>", "<channel|>", "<|tool_call>", "<tool_call|>", "<|tool_response>", '<|"|>', "thought\n"),
    '<|tool_call>call:note{a:<|"|>x<|"|>}<tool_call|>',
    to_thinking="<|channel>thought\n",
)
_DEEPSEEK_TAGS = (
    *THINK, "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>", "<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>",
    "<｜tool▁sep｜>", "<｜tool▁output▁begin｜>", "<｜tool▁output▁end｜>",
)  # fmt: skip
_LFM2 = Family(
    (*THINK, "<|tool_call_start|>", "<|tool_call_end|>", "note(a=", "[", ")"),
    "<|tool_call_start|>[note(a='x')]<|tool_call_end|>",
    to_content="x",
)
_GLIMMER_CALL = (
    '<atem:function_calls>\n<atem:invoke name="note">\n<atem:parameter name="a">x</atem:parameter>\n'
    "</atem:invoke>\n</atem:function_calls>"
)

FAMILIES: dict[str, Family] = {
    "cogito": Family(
        (*_DEEPSEEK_TAGS, "<｜tool▁outputs▁begin｜>", "<｜tool▁outputs▁end｜>"),
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>note\n```json\n"
        '{"a":"x"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
        drops_noise=True,
    ),
    "cohere": Family(
        (
            "<|START_THINKING|>",
            "<|END_THINKING|>",
            "<|START_TEXT|>",
            "<|END_TEXT|>",
            "<|START_ACTION|>",
            "<|END_ACTION|>",
            "<|START_RESPONSE|>",
            "<|END_RESPONSE|>",
            "<|END_OF_TURN_TOKEN|>",
        ),
        '<|START_ACTION|>[{"tool_name":"note","parameters":{"a":"x"}}]<|END_ACTION|>',
        to_content="<|END_THINKING|><|START_TEXT|>",
        thinks=True,
        drops_noise=True,
    ),
    "deepseek3": Family(
        _DEEPSEEK_TAGS,
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>note<｜tool▁sep｜>"
        '{"a":"x"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
        to_content="</think>",
        thinks=True,
    ),
    "functiongemma": Family(
        ("<start_function_call>", "<end_function_call>", "<escape>"),
        "<start_function_call>call:note{a:<escape>x<escape>}<end_function_call>",
        drops_noise=True,
    ),
    "gemma4": _GEMMA4,
    "gemma4-no-thinking": Family(_GEMMA4.tags, _GEMMA4.call, drops_noise=True),
    "glimmer": Family(
        (
            "<|start|>",
            "<|message|>",
            "<|eom|>",
            "<|eot|>",
            "<|start|>assistant",
            " to=note",
            " to=self",
            "<|start|>assistant to=get_all<|message|>",
            "<atem:function_calls>",
            "</atem:function_calls>",
            '<atem:invoke name="note">',
            "</atem:invoke>",
            '<atem:parameter name="a">',
            "</atem:parameter>",
        ),
        f" to=note<|message|>{_GLIMMER_CALL}<|eot|>",
        to_content="<|message|>x",
        to_thinking=" to=self<|message|>x",
        drops_noise=True,
    ),
    "glm-4.7": _GLM,
    "glm-ocr": Family(_GLM.tags, _GLM.call, to_thinking="<think>", drops_noise=True),
    "harmony": Family(
        (
            "<|start|>",
            "<|end|>",
            "<|message|>",
            "<|channel|>",
            "<|constrain|>",
            "<|call|>",
            "<|return|>",
            "assistant",
            "analysis",
            "commentary",
            " to=functions.note",
        ),
        '<|channel|>commentary to=functions.note<|constrain|>json<|message|>{"a":"x"}<|call|>',
        to_content="<|channel|>final<|message|>",
        to_thinking="<|channel|>analysis<|message|>",
        drops_noise=True,
    ),
    "laguna": _LAGUNA,
    "lfm2": _LFM2,
    "lfm2-thinking": Family(_LFM2.tags, _LFM2.call, to_content="x", to_thinking="<think>"),
    "ministral": Family(
        ("[TOOL_CALLS]", "[THINK]", "[/THINK]", "[ARGS]"),
        '[TOOL_CALLS]note[ARGS]{"a":"x"}',
        to_thinking="[THINK]",
    ),
    "nemotron-3-nano": _CODER_THINKING,
    "nemotron-3.5-nano": _CODER_THINKING,
    "olmo3": Family(
        ("<function_calls>", "</function_calls>"), '<function_calls>note(a="x")</function_calls>'
    ),
    "olmo3-think": Family(THINK, to_content="</think>", thinks=True),
    "ornith": _CODER_THINKING,
    "passthrough": Family((*THINK, *TOOL_CALL)),
    "poolside-v1": _LAGUNA,
    "qwen3": _QWEN3,
    "qwen3-coder": _CODER,
    "qwen3-thinking": _QWEN3_THINKING,
    "qwen3-vl-instruct": _QWEN3,
    "qwen3-vl-thinking": _QWEN3_THINKING,
    "qwen3.5": _CODER_THINKING,
}

_JSON_CALL = '{"name":"note","arguments":{"a":"x"}}'

GENERIC: dict[str, Family] = {
    "{": Family((*THINK, "{", "}"), _JSON_CALL, to_content="x"),
    "[": Family((*THINK, "[", "]", "{", "}"), f"[{_JSON_CALL}]", to_content="x"),
    "<tool_call>": Family((*THINK, *TOOL_CALL), f"<tool_call>{_JSON_CALL}</tool_call>", to_content="x"),
    "[TOOL_CALLS] [": Family((*THINK, "[TOOL_CALLS] [", "]"), f"[TOOL_CALLS] [{_JSON_CALL}]", to_content="x"),
    "Action: ```json\n[": Family(
        (*THINK, "Action: ```json\n[", "]```", "```"),
        f"Action: ```json\n[{_JSON_CALL}]```",
        to_content="x",
    ),
}

ALL = {**FAMILIES, **{f"generic {tag!r}": family for tag, family in GENERIC.items()}}

TEXT = (
    " ", "\n", "　", "x", "{", "}", "[", "]", "(", ")", '"', "'", "\\", ",", ":", "=", "note", "get", "1",
    '"name"', '"note"', '"arguments"', "call:", "to=", "```", "<", "|", ">", "a=", "note(",
    '{"name":"Bob",', '{"name":"note","arguments":{', '"a":"',
)  # fmt: skip
"""Text that means something in one family or another."""


def parser(name: str, think: Think | None = None) -> Parser:
    """A parser for a family of ``ALL``, started with ``TOOLS``."""
    made = registry.make(name)
    if made is None:
        tag = next(tag for tag in GENERIC if name == f"generic {tag!r}")
        made = generic_parser(thinking_tags=THINK, tool_tag=tag, prompt_ends_in_thought=False)
    made.start(TOOLS, None, think)
    return made
