"""Conversations for templates that take turns strictly.

Many chat templates raise an error for a system message in mid-conversation, for two user turns in a row, or
for any system message at all; clients send such conversations as a matter of course (case B064). A refused
conversation is tried again in stricter forms: what the system says becomes marked text of a user turn.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from orchestrator.domain.requests import Message
from orchestrator.errors import EngineRefused

logger = logging.getLogger(__name__)

T = TypeVar("T")

MARK = "[System message]\n"
WARNING = "the model's template refused the order of the messages; system messages were sent as user turns"
_BETWEEN = "\n\n"
_TEMPLATE_WORDS = ("jinja", "template", "raise_exception", "must alternate", "system message", "system role")
"""What engines say when a template fails; some versions take it for a fault of their own (status 500)."""


async def in_accepted_form(
    messages: Sequence[Message], attempt: Callable[[Sequence[Message]], Awaitable[T]]
) -> tuple[T, tuple[str, ...]]:
    """What ``attempt`` gives for the messages, or for the first form of them that the template takes.

    With it a warning, if the form is another one. Raises ``EngineRefused`` if none is taken.
    """
    try:
        return await attempt(messages), ()
    except EngineRefused as error:
        forms = list(stricter_forms(messages)) if is_of_the_template(error) else []
        if not forms:
            raise
        refusal = error
    for form in forms:
        try:
            found = await attempt(form)
        except EngineRefused as error:
            if not is_of_the_template(error):
                raise
            continue
        logger.warning("conversation refused by the template, sent in stricter form: %s", refusal)
        return found, (WARNING,)
    # a conversation that does not suit the template is no fault of the server, whatever the engine says
    raise EngineRefused(str(refusal), status=min(refusal.status, 400))


def is_of_the_template(error: EngineRefused) -> bool:
    """Whether the engine's template engine gave up."""
    text = str(error).lower()
    return any(word in text for word in _TEMPLATE_WORDS)


def stricter_forms(messages: Sequence[Message]) -> Iterator[Sequence[Message]]:
    """Other forms of the messages: with one system message at the start, and without any."""
    seen = [list(messages)]
    for keeps_system in (True, False):
        form = list(strict(messages, keeps_system=keeps_system))
        if form not in seen:
            seen.append(form)
            yield form


def strict(messages: Sequence[Message], *, keeps_system: bool) -> Iterator[Message]:
    """The messages in turns, with at most one system message, which is the first. Nothing is left out."""
    start = next((i for i, message in enumerate(messages) if message.role != "system"), len(messages))
    if keeps_system and start:
        yield _joined(messages[:start])
        messages = messages[start:]
    turn: list[Message] = []
    for message in _behind_results(messages):
        as_said = _as_user(message) if message.role == "system" else message
        if turn and not _same_turn(turn[-1], as_said):
            yield _joined(turn)
            turn.clear()
        turn.append(as_said)
    if turn:
        yield _joined(turn)


def _behind_results(messages: Sequence[Message]) -> list[Message]:
    """The messages, with no system message between calls of tools and their results."""
    ordered: list[Message] = []
    held: list[Message] = []
    for message in messages:
        if message.role == "system":
            held.append(message)
            continue
        if message.role != "tool":
            ordered += held
            held.clear()
        ordered.append(message)
    return ordered + held


def _as_user(message: Message) -> Message:
    return replace(message, role="user", content=MARK + message.content)


def _same_turn(first: Message, second: Message) -> bool:
    return first.role == second.role and first.role in ("user", "assistant") and not first.tool_calls


def _joined(messages: Sequence[Message]) -> Message:
    """All of them as one, in the role and with the calls of the last."""
    if len(messages) == 1:
        return messages[0]
    return replace(
        messages[-1],
        content=_BETWEEN.join(message.content for message in messages if message.content),
        thinking=_BETWEEN.join(message.thinking for message in messages if message.thinking),
        images=tuple(image for message in messages for image in message.images),
    )
