"""Output parsers by name. A new family is one entry in ``_BUILT_IN``; ``register`` overrides at run time."""

from __future__ import annotations

from collections.abc import Callable

from orchestrator.parsers.base import Parser, ParserTraits
from orchestrator.parsers.cohere import CohereParser
from orchestrator.parsers.deepseek3 import CogitoParser, DeepSeek3Parser
from orchestrator.parsers.functiongemma import FunctionGemmaParser
from orchestrator.parsers.gemma4 import Gemma4NoThinkingParser, Gemma4Parser
from orchestrator.parsers.glimmer import GlimmerParser
from orchestrator.parsers.glm import Glm47Parser, GlmOcrParser
from orchestrator.parsers.harmony import HarmonyParser
from orchestrator.parsers.laguna import LagunaParser, PoolsideParser
from orchestrator.parsers.lfm2 import Lfm2Parser, Lfm2ThinkingParser
from orchestrator.parsers.ministral import MinistralParser
from orchestrator.parsers.olmo3 import Olmo3Parser, Olmo3ThinkParser
from orchestrator.parsers.passthrough import PassthroughParser
from orchestrator.parsers.qwen3 import (
    Qwen3Parser,
    Qwen3ThinkingParser,
    Qwen3VlParser,
    Qwen3VlThinkingParser,
)
from orchestrator.parsers.qwen3_coder import Qwen3CoderParser, Qwen35Parser

ParserFactory = Callable[[], Parser]

_NEITHER = ParserTraits(has_tools=False, has_thinking=False)
_TOOLS = ParserTraits(has_tools=True, has_thinking=False)
_THINKING = ParserTraits(has_tools=False, has_thinking=True)
_BOTH = ParserTraits(has_tools=True, has_thinking=True)

_BUILT_IN: dict[str, tuple[ParserFactory, ParserTraits]] = {
    "cogito": (CogitoParser, _BOTH),
    "cohere": (CohereParser, _BOTH),
    "deepseek3": (DeepSeek3Parser, _BOTH),
    "functiongemma": (FunctionGemmaParser, _TOOLS),
    "gemma4": (Gemma4Parser, _BOTH),
    "gemma4-no-thinking": (Gemma4NoThinkingParser, _TOOLS),
    "glimmer": (GlimmerParser, _BOTH),
    "glm-4.7": (Glm47Parser, _BOTH),
    "glm-ocr": (GlmOcrParser, _TOOLS),
    "harmony": (HarmonyParser, _BOTH),
    "laguna": (LagunaParser, _BOTH),
    "lfm2": (Lfm2Parser, _TOOLS),
    "lfm2-thinking": (Lfm2ThinkingParser, _BOTH),
    "ministral": (MinistralParser, _TOOLS),
    "nemotron-3-nano": (Qwen35Parser, _BOTH),
    "nemotron-3.5-nano": (Qwen35Parser, _BOTH),
    "olmo3": (Olmo3Parser, _TOOLS),
    "olmo3-think": (Olmo3ThinkParser, _THINKING),
    "ornith": (Qwen35Parser, _BOTH),
    "passthrough": (PassthroughParser, _NEITHER),
    "poolside-v1": (PoolsideParser, _BOTH),
    "qwen3": (Qwen3Parser, _TOOLS),
    "qwen3-coder": (Qwen3CoderParser, _TOOLS),
    "qwen3-thinking": (Qwen3ThinkingParser, _BOTH),
    "qwen3-vl-instruct": (Qwen3VlParser, _TOOLS),
    "qwen3-vl-thinking": (Qwen3VlThinkingParser, _BOTH),
    "qwen3.5": (Qwen35Parser, _BOTH),
}

_registered: dict[str, tuple[ParserFactory, ParserTraits]] = {}


def register(name: str, factory: ParserFactory, traits: ParserTraits) -> None:
    """Make ``name`` known, or replace the built-in parser of that name."""
    _registered[name] = (factory, traits)


def make(name: str) -> Parser | None:
    """A fresh parser, or ``None`` for a name that nobody knows: such models go on without one."""
    entry = _registered.get(name) or _BUILT_IN.get(name)
    return entry[0]() if entry else None


def traits(name: str) -> ParserTraits | None:
    """What a named parser gives a model, without making one."""
    entry = _registered.get(name) or _BUILT_IN.get(name)
    return entry[1] if entry else None


def names() -> tuple[str, ...]:
    """The names of all parsers there are."""
    return tuple({**_BUILT_IN, **_registered})
