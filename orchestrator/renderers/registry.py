"""The renderers by name, as a model's config names them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from orchestrator.errors import OrchestratorError
from orchestrator.renderers import olmo3
from orchestrator.renderers.base import Renderer
from orchestrator.renderers.cogito import CogitoRenderer
from orchestrator.renderers.cohere import CohereRenderer
from orchestrator.renderers.deepseek3 import DeepSeek31Renderer
from orchestrator.renderers.functiongemma import FunctionGemmaRenderer
from orchestrator.renderers.gemma4 import Gemma4Renderer
from orchestrator.renderers.glimmer import GlimmerRenderer
from orchestrator.renderers.glm import Glm47Renderer, GlmOcrRenderer
from orchestrator.renderers.laguna import LagunaRenderer, PoolsideRenderer
from orchestrator.renderers.lfm2 import Lfm2Renderer
from orchestrator.renderers.nemotron import Nemotron35Renderer, NemotronRenderer
from orchestrator.renderers.olmo3 import Olmo3Renderer, Olmo3ThinkRenderer
from orchestrator.renderers.qwen3_coder import Qwen3CoderRenderer
from orchestrator.renderers.qwen3_vl import Qwen3VlRenderer
from orchestrator.renderers.qwen35 import Qwen35Renderer, Qwen38Renderer

Constructor = Callable[[], Renderer]


class UnknownRenderer(OrchestratorError):
    """A model's config names a renderer that does not exist."""

    def __init__(self, name: str) -> None:
        super().__init__(f'unknown renderer "{name}"')
        self.name = name


class RendererRegistry:
    """A table of constructors; what is registered later replaces what was there."""

    def __init__(self, constructors: Mapping[str, Constructor] | None = None) -> None:
        self._constructors: dict[str, Constructor] = dict(constructors or {})

    def register(self, name: str, constructor: Constructor) -> None:
        """Add a renderer, or replace the one of that name."""
        self._constructors[name] = constructor

    def get(self, name: str) -> Renderer:
        """A renderer of that name. Raises ``UnknownRenderer``."""
        constructor = self._constructors.get(name)
        if constructor is None:
            raise UnknownRenderer(name)
        return constructor()

    def names(self) -> tuple[str, ...]:
        """All names, sorted."""
        return tuple(sorted(self._constructors))


BUILT_IN: Mapping[str, Constructor] = {
    "cogito": CogitoRenderer,
    "cohere": CohereRenderer,
    "deepseek3.1": DeepSeek31Renderer,
    "functiongemma": FunctionGemmaRenderer,
    "gemma4": Gemma4Renderer,
    "gemma4-small": Gemma4Renderer,
    "gemma4-large": partial(Gemma4Renderer, large=True),
    "glimmer": GlimmerRenderer,
    "glm-4.7": Glm47Renderer,
    "glm-ocr": GlmOcrRenderer,
    "laguna": LagunaRenderer,
    "lfm2": Lfm2Renderer,
    "lfm2-thinking": partial(Lfm2Renderer, thinking=True),
    "nemotron-3-nano": NemotronRenderer,
    "nemotron-3.5-nano": Nemotron35Renderer,
    "olmo3": partial(Olmo3Renderer, identity=olmo3.IDENTITY_3),
    "olmo3.1": partial(Olmo3Renderer, identity=olmo3.IDENTITY_31),
    "olmo3-think": partial(Olmo3ThinkRenderer, identity=olmo3.IDENTITY_31.rstrip()),
    "olmo3-32b-think": partial(Olmo3ThinkRenderer, identity=olmo3.IDENTITY_32B_THINK),
    "ornith": partial(Qwen35Renderer, keeps_thoughts=True),
    "poolside-v1": PoolsideRenderer,
    "qwen3-coder": Qwen3CoderRenderer,
    "qwen3-vl-instruct": Qwen3VlRenderer,
    "qwen3-vl-thinking": partial(Qwen3VlRenderer, thinking=True),
    "qwen3.5": Qwen35Renderer,
    "qwen3.8": Qwen38Renderer,
}
"""Name → constructor of every family that comes with the program."""

_registry = RendererRegistry(BUILT_IN)

get = _registry.get
names = _registry.names
register = _registry.register
