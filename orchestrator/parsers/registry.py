"""Output parsers by name. A new family is one entry in ``_BUILT_IN``; ``register`` overrides at run time."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from orchestrator.parsers.base import Parser, ParserTraits

ParserFactory = Callable[[], Parser]


def _family(module: str, name: str) -> ParserFactory:
    """Makes the parser ``name`` of a module of this package, which is imported when the first one is made."""

    def make_one() -> Parser:
        parser: Parser = getattr(import_module(f"orchestrator.parsers.{module}"), name)()
        return parser

    return make_one


_NEITHER = ParserTraits(has_tools=False, has_thinking=False)
_TOOLS = ParserTraits(has_tools=True, has_thinking=False)
_THINKING = ParserTraits(has_tools=False, has_thinking=True)
_BOTH = ParserTraits(has_tools=True, has_thinking=True)

_BUILT_IN: dict[str, tuple[ParserFactory, ParserTraits]] = {
    "cogito": (_family("deepseek3", "CogitoParser"), _BOTH),
    "cohere": (_family("cohere", "CohereParser"), _BOTH),
    "deepseek3": (_family("deepseek3", "DeepSeek3Parser"), _BOTH),
    "functiongemma": (_family("functiongemma", "FunctionGemmaParser"), _TOOLS),
    "gemma4": (_family("gemma4", "Gemma4Parser"), _BOTH),
    "gemma4-no-thinking": (_family("gemma4", "Gemma4NoThinkingParser"), _TOOLS),
    "glimmer": (_family("glimmer", "GlimmerParser"), _BOTH),
    "glm-4.7": (_family("glm", "Glm47Parser"), _BOTH),
    "glm-ocr": (_family("glm", "GlmOcrParser"), _TOOLS),
    "harmony": (_family("harmony", "HarmonyParser"), _BOTH),
    "laguna": (_family("laguna", "LagunaParser"), _BOTH),
    "lfm2": (_family("lfm2", "Lfm2Parser"), _TOOLS),
    "lfm2-thinking": (_family("lfm2", "Lfm2ThinkingParser"), _BOTH),
    "ministral": (_family("ministral", "MinistralParser"), _TOOLS),
    "nemotron-3-nano": (_family("qwen3_coder", "Qwen35Parser"), _BOTH),
    "nemotron-3.5-nano": (_family("qwen3_coder", "Qwen35Parser"), _BOTH),
    "olmo3": (_family("olmo3", "Olmo3Parser"), _TOOLS),
    "olmo3-think": (_family("olmo3", "Olmo3ThinkParser"), _THINKING),
    "ornith": (_family("qwen3_coder", "Qwen35Parser"), _BOTH),
    "passthrough": (_family("passthrough", "PassthroughParser"), _NEITHER),
    "poolside-v1": (_family("laguna", "PoolsideParser"), _BOTH),
    "qwen3": (_family("qwen3", "Qwen3Parser"), _TOOLS),
    "qwen3-coder": (_family("qwen3_coder", "Qwen3CoderParser"), _TOOLS),
    "qwen3-thinking": (_family("qwen3", "Qwen3ThinkingParser"), _BOTH),
    "qwen3-vl-instruct": (_family("qwen3", "Qwen3VlParser"), _TOOLS),
    "qwen3-vl-thinking": (_family("qwen3", "Qwen3VlThinkingParser"), _BOTH),
    "qwen3.5": (_family("qwen3_coder", "Qwen35Parser"), _BOTH),
}

_registered: dict[str, tuple[ParserFactory, ParserTraits]] = {}


def register(name: str, factory: ParserFactory, traits: ParserTraits) -> None:
    """Make ``name`` known, or replace the built-in parser of that name."""
    _registered[name] = (factory, traits)


def unregister(name: str) -> None:
    """Forget a name that was registered; a built-in parser of that name is back."""
    _registered.pop(name, None)


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
