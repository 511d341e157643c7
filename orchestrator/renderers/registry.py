"""The renderers by name, as a model's config names them.

A new family is one entry in ``BUILT_IN``; ``register`` overrides at run time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from orchestrator.errors import OrchestratorError
from orchestrator.renderers.base import Renderer

Constructor = Callable[[], Renderer]


class UnknownRenderer(OrchestratorError):
    """A model's config names a renderer that does not exist."""

    def __init__(self, name: str) -> None:
        super().__init__(f'unknown renderer "{name}"')
        self.name = name


def _family(module: str, name: str, **arguments: Any) -> Constructor:
    """Makes a renderer of a module of this package, which is imported when the first one is made."""

    def make_one() -> Renderer:
        renderer: Renderer = getattr(import_module(f"orchestrator.renderers.{module}"), name)(**arguments)
        return renderer

    return make_one


BUILT_IN: Mapping[str, Constructor] = {
    "cogito": _family("cogito", "CogitoRenderer"),
    "cohere": _family("cohere", "CohereRenderer"),
    "deepseek3.1": _family("deepseek3", "DeepSeek31Renderer"),
    "functiongemma": _family("functiongemma", "FunctionGemmaRenderer"),
    "gemma4": _family("gemma4", "Gemma4Renderer"),
    "gemma4-small": _family("gemma4", "Gemma4Renderer"),
    "gemma4-large": _family("gemma4", "Gemma4Renderer", large=True),
    "glimmer": _family("glimmer", "GlimmerRenderer"),
    "glm-4.7": _family("glm", "Glm47Renderer"),
    "glm-ocr": _family("glm", "GlmOcrRenderer"),
    "laguna": _family("laguna", "LagunaRenderer"),
    "lfm2": _family("lfm2", "Lfm2Renderer"),
    "lfm2-thinking": _family("lfm2", "Lfm2Renderer", thinking=True),
    "nemotron-3-nano": _family("nemotron", "NemotronRenderer"),
    "nemotron-3.5-nano": _family("nemotron", "Nemotron35Renderer"),
    "olmo3": _family("olmo3", "olmo3"),
    "olmo3.1": _family("olmo3", "olmo31"),
    "olmo3-think": _family("olmo3", "olmo3_think"),
    "olmo3-32b-think": _family("olmo3", "olmo3_32b_think"),
    "ornith": _family("qwen35", "Qwen35Renderer", keeps_thoughts=True),
    "poolside-v1": _family("laguna", "PoolsideRenderer"),
    "qwen3-coder": _family("qwen3_coder", "Qwen3CoderRenderer"),
    "qwen3-vl-instruct": _family("qwen3_vl", "Qwen3VlRenderer"),
    "qwen3-vl-thinking": _family("qwen3_vl", "Qwen3VlRenderer", thinking=True),
    "qwen3.5": _family("qwen35", "Qwen35Renderer"),
    "qwen3.8": _family("qwen35", "Qwen38Renderer"),
}
"""Name → constructor of every family that comes with the program."""

_registered: dict[str, Constructor] = {}


def register(name: str, constructor: Constructor) -> None:
    """Make ``name`` known, or replace the built-in renderer of that name."""
    _registered[name] = constructor


def unregister(name: str) -> None:
    """Forget a name that was registered; a built-in renderer of that name is back."""
    _registered.pop(name, None)


def make(name: str) -> Renderer:
    """A renderer of that name. Raises ``UnknownRenderer``."""
    constructor = _registered.get(name) or BUILT_IN.get(name)
    if constructor is None:
        raise UnknownRenderer(name)
    return constructor()


def names() -> tuple[str, ...]:
    """The names of all renderers there are."""
    return tuple({**BUILT_IN, **_registered})
