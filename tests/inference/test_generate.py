"""Completing prompts: what the template of a model is given."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from orchestrator.domain.names import ModelName
from orchestrator.domain.requests import GenerateRequest
from orchestrator.domain.think import Think
from orchestrator.inference.generate import generate
from orchestrator.inference.reply import RenderedPrompt
from orchestrator.store.layout import StoreLayout
from orchestrator.store.models import ModelStore
from orchestrator.store.wire import Manifest, MediaType, ModelConfig
from tests.gguf_builder import Tensor, build_gguf
from tests.inference.byte_engine import ByteEngine, inference_with, stored

TEMPLATE = (
    "{{ if .Suffix }}{{ .Prompt }}|{{ .Suffix }}{{ else }}{{ .Prompt }}{{ end }}"
    "{{ if .IsThinkSet }} think={{ .Think }}{{ end }}"
)


@pytest.fixture
async def models(tmp_path: Path) -> ModelStore:
    """A store with a model that fills in, whose template shows what it is given."""
    store = ModelStore(StoreLayout(tmp_path / "models"))
    await store.start()
    weights = build_gguf({"general.architecture": "llama", "llama.block_count": 1}, [Tensor("x", (32, 4))])
    config = json.dumps(ModelConfig(model_format="gguf", model_family="llama").to_json()).encode()
    contents = {MediaType.CONFIG: config, MediaType.MODEL: weights, MediaType.TEMPLATE: TEMPLATE.encode()}
    first, *others = [
        await asyncio.to_thread(stored, store, kind, content) for kind, content in contents.items()
    ]
    await store.replace(ModelName.parse("filler"), Manifest(config=first, layers=tuple(others)))
    return store


@pytest.mark.parametrize(("suffix", "text"), [("", "before"), ("after", "before|after")])
@pytest.mark.parametrize(("think", "shown"), [(None, ""), (Think(False), " think=false")])
async def test_a_template_is_told_whether_to_think(
    models: ModelStore, suffix: str, text: str, think: Think | None, shown: str
) -> None:
    request = GenerateRequest(
        model="filler", options={}, prompt="before", suffix=suffix, think=think, debug_render_only=True
    )
    async with inference_with(ByteEngine(), models) as inference, generate(inference, request) as reply:
        assert isinstance(reply, RenderedPrompt)
        assert reply.prompt == text + shown
