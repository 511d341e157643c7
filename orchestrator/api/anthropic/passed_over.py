"""What a Messages request says in vain, although its keys are known. Source: ``api-compat`` §8.1."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from orchestrator.api.anthropic.convert import EFFORTS
from orchestrator.api.warnings import unusual_roles
from orchestrator.domain.remarks import no_effect
from orchestrator.wire import anthropic as wire

_THINKING = ("enabled", "disabled", "adaptive")


def in_message(body: wire.MessagesRequest) -> Iterator[str]:
    """One text for each value that changes nothing."""
    yield from _in_system(body.system)
    yield from unusual_roles(message.role for message in body.messages)
    for index, message in enumerate(body.messages):
        if not message.content:
            yield no_effect(f"messages[{index}]", "it has no content")
    if body.thinking is not None and body.thinking.type not in _THINKING:
        yield no_effect("thinking", f"its type is none of {', '.join(_THINKING)}")
    effort = body.output_config.effort if body.output_config else ""
    if effort and effort.strip().lower() not in EFFORTS:
        yield no_effect("output_config.effort", f"it is none of {', '.join(EFFORTS)}")


def _in_system(system: Any) -> Iterator[str]:
    match system:
        case None | str():
            return
        case list():
            for index, block in enumerate(system):
                match block:
                    case {"type": "text", "text": str()}:
                        pass
                    case _:
                        yield no_effect(f"system[{index}]", "it is no block of text")
        case _:
            yield no_effect("system", "it is neither a text nor a list of blocks")
