"""A family of models that nobody has heard of: one entry in each of the two registries, and it is served."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.domain.chunks import Chunk, ToolCall
from orchestrator.domain.names import ModelName
from orchestrator.domain.requests import ChatRequest, Message
from orchestrator.domain.think import Think
from orchestrator.domain.tools import Tool, parse_tools
from orchestrator.inference.chat import chat
from orchestrator.inference.reply import Generation, RenderedPrompt
from orchestrator.inference.service import Inference
from orchestrator.parsers import registry as parsers
from orchestrator.parsers.base import NOTHING, Parsed, ParserTraits
from orchestrator.renderers import registry as renderers
from orchestrator.store.layout import StoreLayout
from orchestrator.store.models import ModelStore
from orchestrator.store.wire import Manifest, MediaType, ModelConfig
from tests.gguf_builder import Tensor, build_gguf
from tests.inference.byte_engine import ByteEngine, inference_with, stored
from tests.inference.byte_runner import gathered

FAMILY = "invented"
TOOLS = parse_tools([{"type": "function", "function": {"name": "add"}}])


class InventedRenderer:
    """One line per message."""

    leading_bos = ""
    places_images = False

    def render(self, messages: Sequence[Message], tools: Sequence[Tool], think: Think | None) -> str:
        names = " ".join(tool.function.name for tool in tools)
        return (
            f"TOOLS {names}\n" + "".join(f"{m.role.upper()} {m.content}\n" for m in messages) + "ASSISTANT "
        )


class InventedParser:
    """Content up to ``CALL``, then a name and arguments as JSON, to the end."""

    preserved_tokens = ("CALL",)

    def start(
        self, tools: Sequence[Tool], last_message: Message | None, think: Think | None
    ) -> tuple[Tool, ...]:
        self._text = ""
        return tuple(tools)

    def feed(self, text: str) -> Parsed:
        self._text += text
        return NOTHING

    def close(self) -> Parsed:
        content, mark, call = self._text.partition("CALL ")
        if not mark:
            return Parsed(content)
        name, _, arguments = call.partition(" ")
        return Parsed(content, calls=(ToolCall(name, json.loads(arguments)),))


@pytest.fixture
def family() -> Iterator[None]:
    """The family is known while the test runs."""
    renderers.register(FAMILY, InventedRenderer)
    parsers.register(FAMILY, InventedParser, ParserTraits(has_tools=True, has_thinking=False))
    yield
    renderers.unregister(FAMILY)
    parsers.unregister(FAMILY)


@pytest.fixture
async def models(tmp_path: Path) -> ModelStore:
    """A store with a model of the family."""
    store = ModelStore(StoreLayout(tmp_path / "models"))
    await store.start()
    weights = build_gguf({"general.architecture": "llama", "llama.block_count": 1}, [Tensor("x", (32, 4))])
    config = ModelConfig(model_format="gguf", model_family="llama", renderer=FAMILY, parser=FAMILY)
    contents = ((MediaType.CONFIG, json.dumps(config.to_json()).encode()), (MediaType.MODEL, weights))
    layers = [await asyncio.to_thread(stored, store, kind, content) for kind, content in contents]
    await store.replace(ModelName.parse("stranger"), Manifest(config=layers[0], layers=(layers[1],)))
    return store


@pytest.fixture
def engine() -> ByteEngine:
    return ByteEngine("Sure. ", "CALL add ", '{"a": 1, ', '"b": 2}')


@pytest.fixture
async def inference(family: None, models: ModelStore, engine: ByteEngine) -> AsyncIterator[Inference]:
    async with inference_with(engine, models) as inference:
        yield inference


REQUEST = ChatRequest(model="stranger", options={}, messages=(Message("user", "1 + 2?"),), tools=TOOLS)


async def test_its_calls_are_read(inference: Inference, engine: ByteEngine) -> None:
    async with chat(inference, REQUEST) as reply:
        assert isinstance(reply, Generation)
        items = await gathered(reply.items)
    [chunk] = [item for item in items if isinstance(item, Chunk)]
    assert chunk.content == "Sure. "
    assert [(call.name, call.arguments) for call in chunk.tool_calls] == [("add", {"a": 1, "b": 2})]
    [call] = engine.processes[0].calls
    assert call.prompt == "TOOLS add\nUSER 1 + 2?\nASSISTANT "
    assert call.preserved_tokens == ("CALL",)


async def test_its_prompts_are_shown(inference: Inference) -> None:
    async with chat(inference, replace(REQUEST, debug_render_only=True)) as reply:
        assert reply == RenderedPrompt("TOOLS add\nUSER 1 + 2?\nASSISTANT ", 0)


async def test_its_capabilities_are_known(inference: Inference) -> None:
    assert "tools" in (await inference.open("stranger")).capabilities
