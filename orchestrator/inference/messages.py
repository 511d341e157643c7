"""The list of messages a prompt is made of. Source: ``prompts`` §1.7, §1.5."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from orchestrator.domain.requests import ChatRequest, GenerateRequest, Message
from orchestrator.inference.results import in_order_of_calls
from orchestrator.store.model import Model

_LEADING_THOUGHT = re.compile(r"\s*<think>.*?(?:</think>\s*|\Z)", re.DOTALL)


def chat_messages(model: Model, request: ChatRequest) -> tuple[Message, ...]:
    """The model's example messages and the request's, with the model's system text if it has to come in."""
    messages = [*model.messages, *request.messages]
    if model.system and request.messages[0].role != "system":
        messages.insert(0, Message("system", model.system))
    if _forgets_thoughts(model):
        messages = _without_old_thoughts(messages)
    return tuple(in_order_of_calls(messages))


def generate_messages(model: Model, request: GenerateRequest) -> tuple[Message, ...]:
    """The conversation a prompt stands for. Where ``context`` continues one, examples are left out."""
    messages = []
    if system := request.system or model.system:
        messages.append(Message("system", system))
    if request.context is None:
        messages.extend(model.messages)
    messages.append(Message("user", request.prompt, images=request.images))
    return tuple(messages)


def _forgets_thoughts(model: Model) -> bool:
    return model.files.family == "qwen3" or model.name.model == "deepseek-r1"


def _without_old_thoughts(messages: Sequence[Message]) -> list[Message]:
    """Thoughts of earlier turns removed, as these families were trained."""
    last_user = max((i for i, m in enumerate(messages) if m.role == "user"), default=-1)
    return [
        replace(m, content=_LEADING_THOUGHT.sub("", m.content, count=1))
        if m.role == "assistant" and i < last_user and _LEADING_THOUGHT.match(m.content)
        else m
        for i, m in enumerate(messages)
    ]
