"""What a model can do, and whether its Go template or the chat template in its file makes prompts.

One function serves ``show``, the listing and the checks of requests. The listing knows no chat template,
because it does not read that far into the file. Source: ``modelfile`` §7, §9; ``prompts`` §1.3.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from orchestrator.files.gguf import GgufConfig
from orchestrator.parsers import registry as parsers
from orchestrator.store.wire import ModelConfig
from orchestrator.templates.gotemplate import GoTemplate
from orchestrator.templates.jinja import go_capabilities, jinja_capabilities, prefers_jinja

COMPLETION = "completion"
TOOLS = "tools"
INSERT = "insert"
VISION = "vision"
EMBEDDING = "embedding"
THINKING = "thinking"
AUDIO = "audio"

HARMONY_FAMILIES = frozenset({"gptoss", "gpt-oss"})
GEMMA4_RENDERERS = frozenset({"gemma4", "gemma4-small", "gemma4-large"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelTraits:
    """What is known of a model, as far as prompts and capabilities depend on it."""

    config: ModelConfig
    weights: GgufConfig | None = None
    """Metadata of the weights; ``None`` for a model without a GGUF file."""
    projectors: tuple[GgufConfig, ...] = ()
    template: GoTemplate | None = None
    """The template layer, if there is one."""
    template_text: str = ""
    chat_template: str = ""
    """The jinja template of the weights; empty if there is none, or if it was not read."""


def is_harmony(traits: ModelTraits) -> bool:
    """Whether the model speaks gpt-oss's message framing though its config names no parser."""
    text = traits.template_text
    return traits.config.model_family in HARMONY_FAMILIES and "<|start|>" in text and "<|end|>" in text


def uses_go_template(traits: ModelTraits, setting: bool | None) -> bool:
    """Whether the template layer is in use; ``setting`` is ``OLLAMA_GO_TEMPLATE`` and decides if given."""
    if traits.template is None:
        return False
    return not _prefers_chat_template(traits, traits.template) if setting is None else setting


def uses_chat_template(traits: ModelTraits, setting: bool | None) -> bool:
    """Whether the engine makes prompts with the template in the weights."""
    return not (
        traits.config.model_format == "safetensors"
        or traits.config.renderer
        or traits.config.parser
        or is_harmony(traits)
        or uses_go_template(traits, setting)
    )


def capabilities(traits: ModelTraits, setting: bool | None) -> tuple[str, ...]:
    """All the model can do, in the order it is found; ``setting`` as in ``uses_go_template``."""
    excluded = set(_excluded(traits))
    return tuple(dict.fromkeys(name for name in _found(traits, setting) if name not in excluded))


def _found(traits: ModelTraits, setting: bool | None) -> Iterator[str]:
    yield from traits.config.capabilities
    if traits.weights is not None:
        if uses_chat_template(traits, setting):
            yield from _ordered(jinja_capabilities(traits.chat_template))
        yield from _of_weights(traits.weights)
    if traits.projectors:
        yield VISION
    if any(map(_hears, traits.projectors)):
        yield AUDIO
    if traits.template is not None and uses_go_template(traits, setting):
        yield from _ordered(go_capabilities(traits.template))
    if parser := parsers.traits(traits.config.parser):
        if parser.has_tools:
            yield TOOLS
        if parser.has_thinking:
            yield THINKING
    if traits.config.model_family in HARMONY_FAMILIES:
        yield THINKING


def _ordered(found: frozenset[str]) -> Iterator[str]:
    return (name for name in (TOOLS, INSERT, THINKING) if name in found)


def _excluded(traits: ModelTraits) -> Iterator[str]:
    """What the files promise, but no engine does."""
    config = traits.config
    architecture = traits.weights.architecture if traits.weights else ""
    if "nemotron_h_omni" in (architecture, config.model_family):
        yield AUDIO
    if config.model_format == "safetensors":
        if config.renderer in GEMMA4_RENDERERS or config.renderer == "nemotron-3-nano":
            yield VISION
            yield AUDIO
        if config.renderer == "glimmer":
            yield AUDIO


def _of_weights(weights: GgufConfig) -> Iterator[str]:
    yield EMBEDDING if weights.has("pooling_type") else COMPLETION
    if weights.has("vision.block_count"):
        yield VISION
    if weights.has("audio.block_count"):
        yield AUDIO


def _hears(projector: GgufConfig) -> bool:
    has_encoder = any(
        value is True and (key == "has_audio_encoder" or key.endswith(".has_audio_encoder"))
        for key, value in projector.metadata.items()
    )
    return has_encoder and projector.metadata.get("clip.vision.projector_type") != "gemma3nv"


def _prefers_chat_template(traits: ModelTraits, template: GoTemplate) -> bool:
    """Whether the chat template serves better than the template layer, when nobody chose."""
    config = traits.config
    if not traits.chat_template or config.renderer or config.parser or is_harmony(traits):
        return False
    return prefers_jinja(traits.chat_template, template)
