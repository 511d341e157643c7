"""How a model's prompts are made: rendered here, or by the engine's own template engine.

Source: ``prompts`` §1.2, §1.8.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from orchestrator.domain.think import Think
from orchestrator.renderers import registry as renderers
from orchestrator.renderers.base import Renderer
from orchestrator.store.capabilities import is_harmony, uses_go_template
from orchestrator.store.model import Model
from orchestrator.templates.gotemplate import GoTemplate
from orchestrator.templates.jinja import jinja_thinking_tags
from orchestrator.templates.tags import thinking_tags

DEFAULT_TEMPLATE = GoTemplate.parse("{{ .Prompt }}")
"""What stands in for a template where a prompt has to be rendered without one."""

HARMONY = "harmony"

_SIZED = "gemma4"
"""The renderer name that stands for one of two."""


class Route(StrEnum):
    """Who turns messages into a prompt, and why; the values are for the log."""

    RENDERER_PARSER = "renderer_parser"
    RENDERER = "renderer"
    PARSER = "parser"
    """Only the output has a named parser; the prompt is a Go template's."""
    HARMONY = "harmony"
    GO_TEMPLATE = "go_template"
    CHAT_TEMPLATE = "gguf_chat_template"
    """The engine, with the template in the model file."""
    NONE = "none"
    """There is no template at all: the engine falls back to its own."""


@dataclass(frozen=True, slots=True)
class PromptPath:
    """The decision for one model."""

    route: Route
    renderer_name: str = ""
    parser_name: str = ""
    template: GoTemplate = DEFAULT_TEMPLATE
    thinking_tags: tuple[str, str] | None = None
    """What thoughts stand between, told from the template in use."""

    @property
    def rendered(self) -> bool:
        """The daemon renders; the engine sees plain text."""
        return self.route not in (Route.CHAT_TEMPLATE, Route.NONE)

    def source(self) -> Renderer | GoTemplate:
        """What renders this model's prompts. Raises ``UnknownRenderer``."""
        return renderers.make(self.renderer_name) if self.renderer_name else self.template

    @property
    def leading_bos(self) -> str:
        """What the renderer puts in front of every prompt."""
        return renderers.make(self.renderer_name).leading_bos if self.renderer_name else ""

    def settled_think(self, think: Think | None) -> Think | None:
        """The setting as this family understands it: gpt-oss knows no level above ``high``."""
        if self.route is Route.HARMONY and think is not None and think.word == "max":
            return Think(True, "high")
        return think


def choose_path(model: Model, go_template: bool | None) -> PromptPath:
    """The path of ``model``; ``go_template`` is ``OLLAMA_GO_TEMPLATE``, ``None`` where nobody chose."""
    traits = model.traits
    renderer, parser = _renderer_name(model), traits.config.parser
    template = traits.template or DEFAULT_TEMPLATE
    tags = thinking_tags(template)
    if is_harmony(traits):
        return PromptPath(Route.HARMONY, renderer, parser or HARMONY, template, tags)
    if renderer:
        route = Route.RENDERER_PARSER if parser else Route.RENDERER
        return PromptPath(route, renderer, parser, template, tags)
    if parser:
        return PromptPath(Route.PARSER, "", parser, template, tags)
    if uses_go_template(traits, go_template):
        return PromptPath(Route.GO_TEMPLATE, "", "", template, tags)
    if not traits.chat_template:
        return PromptPath(Route.NONE, template=template)
    return PromptPath(
        Route.CHAT_TEMPLATE, template=template, thinking_tags=jinja_thinking_tags(traits.chat_template)
    )


def _renderer_name(model: Model) -> str:
    """The renderer of the model's config; ``gemma4`` stands for one of two, by the model's size."""
    config = model.config
    if config.renderer != _SIZED:
        return config.renderer
    from orchestrator.renderers.gemma4_sizes import variant  # families are imported when they are used

    return variant(model.name.short, model.name.full, config.model_type)
