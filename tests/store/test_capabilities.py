"""What models can do, and which of two templates makes their prompts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from orchestrator.files.gguf import GgufConfig
from orchestrator.parsers import registry
from orchestrator.parsers.base import ParserTraits
from orchestrator.store.capabilities import (
    ModelTraits,
    capabilities,
    is_harmony,
    uses_chat_template,
    uses_go_template,
)
from orchestrator.store.wire import ModelConfig
from orchestrator.templates.gotemplate import GoTemplate

PLAIN = "{{ range .Messages }}{{ .Content }}{{ end }}"
TOOLS = "{{ .Tools }}" + PLAIN
ROUND_TRIP = (
    "{{ .Tools }}{{ range .Messages }}{{ .ToolCalls }}"
    '{{ if eq .Role "tool" }}{{ .Content }}{{ end }}{{ end }}'
)
THINKING = "{{ range .Messages }}{{ if .Thinking }}<think>{{ .Thinking }}</think>{{ end }}{{ end }}"
JINJA_TOOLS = "{% if tools %}{{ tools }}{% endif %}"
JINJA_ROUND_TRIP = JINJA_TOOLS + "{{ message.tool_calls }}{{ tool_response }}"


def traits(
    *,
    template: str | None = None,
    chat: str = "",
    weights: Mapping[str, Any] | None = {"general.architecture": "llama"},
    projectors: tuple[Mapping[str, Any], ...] = (),
    **config: Any,
) -> ModelTraits:
    return ModelTraits(
        config=ModelConfig(**config),
        weights=None if weights is None else GgufConfig(weights),
        projectors=tuple(map(GgufConfig, projectors)),
        template=None if template is None else GoTemplate.parse(template),
        template_text=template or "",
        chat_template=chat,
    )


LLAMA = {"general.architecture": "llama"}


@pytest.mark.parametrize(
    ("model", "found"),
    [
        (traits(), ("completion",)),
        (traits(weights=LLAMA | {"llama.pooling_type": 1}), ("embedding",)),
        (traits(weights=LLAMA | {"llama.vision.block_count": 1}), ("completion", "vision")),
        (traits(weights=LLAMA | {"llama.audio.block_count": 1}), ("completion", "audio")),
        (traits(weights=None, capabilities=("completion", "image")), ("completion", "image")),
        (traits(capabilities=("vision", "vision")), ("vision", "completion")),
        (traits(projectors=({"general.architecture": "clip"},)), ("completion", "vision")),
        (traits(projectors=({"clip.has_audio_encoder": True},)), ("completion", "vision", "audio")),
        (
            traits(projectors=({"has_audio_encoder": True, "clip.vision.projector_type": "gemma3nv"},)),
            ("completion", "vision"),
        ),
        (traits(chat=JINJA_TOOLS), ("tools", "completion")),
        (traits(chat="<think></think>"), ("thinking", "completion")),
        (traits(chat="content.split('</think>')"), ("thinking", "completion")),
        (traits(chat='content.split("</think>") reasoning_content'), ("completion",)),
        (traits(template=TOOLS), ("completion", "tools")),
        (traits(template="{{ .Prompt }}{{ .Suffix }}"), ("completion", "insert")),
        (traits(template=THINKING), ("completion", "thinking")),
        (traits(model_family="gptoss"), ("completion", "thinking")),
        (
            traits(
                weights={"general.architecture": "nemotron_h_omni"},
                projectors=({"clip.has_audio_encoder": True},),
            ),
            ("completion", "vision"),
        ),
        (
            traits(
                weights=None, model_format="safetensors", renderer="gemma4", capabilities=("vision", "tools")
            ),
            ("tools",),
        ),
    ],
)
def test_capabilities_are_found_in_order(model: ModelTraits, found: tuple[str, ...]) -> None:
    assert capabilities(model, None) == found


def test_a_named_parser_adds_what_it_can() -> None:
    registry.register(
        "test-parser", lambda: pytest.fail("only asked for its traits"), ParserTraits(True, True)
    )
    try:
        assert capabilities(traits(parser="test-parser"), None) == ("completion", "tools", "thinking")
    finally:
        registry.unregister("test-parser")
    assert capabilities(traits(parser="nobody knows it"), None) == ("completion",)


@pytest.mark.parametrize(
    ("go", "chat", "uses_go"),
    [
        (None, "", False),
        (None, JINJA_TOOLS, False),
        (PLAIN, "", True),
        (PLAIN, "no capabilities", True),
        (PLAIN, JINJA_TOOLS, False),
        (TOOLS, JINJA_TOOLS, True),
        (TOOLS, JINJA_ROUND_TRIP, False),
        (ROUND_TRIP, JINJA_TOOLS + "<think></think>", True),
        (ROUND_TRIP, JINJA_ROUND_TRIP + "<think></think>", False),
        (ROUND_TRIP, JINJA_ROUND_TRIP, True),
        (TOOLS + THINKING, JINJA_TOOLS, True),
    ],
)
def test_the_template_that_can_more_is_in_use(go: str | None, chat: str, uses_go: bool) -> None:
    model = traits(template=go, chat=chat)
    assert uses_go_template(model, None) is uses_go
    assert uses_chat_template(model, None) is not uses_go


@pytest.mark.parametrize("setting", [True, False])
def test_the_operator_decides(setting: bool) -> None:
    assert uses_go_template(traits(template=TOOLS, chat=JINJA_ROUND_TRIP), setting) is setting
    assert uses_go_template(traits(chat=JINJA_ROUND_TRIP), setting) is False
    found = capabilities(traits(template=PLAIN, chat=JINJA_TOOLS), setting)
    assert found == (("completion",) if setting else ("tools", "completion"))


@pytest.mark.parametrize("config", [{"renderer": "r"}, {"parser": "p"}])
def test_named_renderers_and_parsers_leave_the_chat_template_aside(config: dict[str, Any]) -> None:
    model = traits(template=PLAIN, chat=JINJA_TOOLS, **config)
    assert uses_go_template(model, None)
    assert not uses_chat_template(model, None)
    assert not uses_chat_template(traits(chat=JINJA_TOOLS, **config), None)


@pytest.mark.parametrize(
    ("family", "text", "harmony"),
    [
        ("gptoss", "<|start|>{{ .Prompt }}<|end|>", True),
        ("gpt-oss", "<|start|>{{ .Prompt }}<|end|>", True),
        ("gptoss", "<|start|>{{ .Prompt }}", False),
        ("llama", "<|start|>{{ .Prompt }}<|end|>", False),
    ],
)
def test_harmony_is_told_by_family_and_template(family: str, text: str, harmony: bool) -> None:
    assert is_harmony(traits(template=text, model_family=family)) is harmony


def test_tensors_in_safetensors_are_not_for_the_engine() -> None:
    assert not uses_chat_template(traits(model_format="safetensors"), None)
