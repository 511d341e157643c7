"""The context window a request asked for, where the loaded one is larger.

A larger loaded window serves smaller wishes without a reload, but what does not fit into the window somebody
asked for shall not fit by chance: the answer is the one the engine gives with that window.
"""

from __future__ import annotations

from orchestrator.errors import EngineRefused
from orchestrator.runners.base import Runner
from orchestrator.wire.json import dumps

_WINDOW_STEP = 256
"""The engine rounds a slot's window up to a multiple of this."""


async def refuse_overlong(runner: Runner, prompt: str, num_ctx: int) -> None:
    """Raises ``EngineRefused``, in the engine's words, for a prompt too long for a window of ``num_ctx``."""
    window = -(-num_ctx // _WINDOW_STEP) * _WINDOW_STEP
    if len(prompt.encode(errors="replace")) < window:
        return  # a token is a byte at least
    tokens = len(await runner.tokenize(prompt, add_special=True))
    if tokens < window:
        return
    error = {
        "code": 400,
        "message": f"request ({tokens} tokens) exceeds the available context size ({window} tokens), "
        "try increasing it",
        "type": "exceed_context_size_error",
        "n_prompt_tokens": tokens,
        "n_ctx": window,
    }
    raise EngineRefused(dumps({"error": error}).decode(), status=400)
