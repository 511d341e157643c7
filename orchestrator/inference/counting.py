"""Counting the tokens of a prompt before anything is generated from it."""

from __future__ import annotations

from dataclasses import replace

from orchestrator.domain.requests import ChatRequest
from orchestrator.inference.chat import prepared_answer, turn_of
from orchestrator.inference.errors import ModelRequired
from orchestrator.inference.prompts import MEDIUM_TOKENS
from orchestrator.inference.reply import RenderedPrompt
from orchestrator.inference.service import Inference
from orchestrator.runners.llama.bodies import bare_prompt


async def count_tokens(inference: Inference, request: ChatRequest) -> int:
    """Tokens of the whole prompt of ``request``, as the engine will count them.

    The model is loaded for it. Images cannot be counted without reading them; each is taken for what it may
    cost at most.
    """
    if not request.model.strip():
        raise ModelRequired
    request = replace(request, debug_render_only=True, truncate=False)
    model = await inference.open(request.model)
    async with turn_of(inference, request, model) as (turn, understood, _):
        if not request.messages:
            return 0
        rendered = await prepared_answer(turn, understood)
        assert isinstance(rendered, RenderedPrompt)
        text = bare_prompt(rendered.prompt, turn.path.leading_bos, model.files.facts)
        tokens = await turn.runner.tokenize(text, add_special=True)
        return len(tokens) + (MEDIUM_TOKENS * rendered.media_count if turn.counts_media else 0)
