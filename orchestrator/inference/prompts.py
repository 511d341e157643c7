"""Prompts of one conversation: made, measured, and cut to the context window.

A ``Prompter`` knows how one model's prompts are made. ``fit_messages`` drops whole messages, ``cut_prompt``
is the last resort for text that cannot lose any. What was lost is counted in ``Overflow``, never silent.
Source: ``prompts`` §1.10, §3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from orchestrator.domain.chunks import ToolCall
from orchestrator.domain.loads import ModelFacts
from orchestrator.domain.options import Options
from orchestrator.domain.requests import Message
from orchestrator.domain.think import Think
from orchestrator.domain.tools import Tool, tool_json
from orchestrator.inference.errors import PromptTooLong
from orchestrator.inference.truncate import Fit, fit
from orchestrator.renderers.base import Renderer
from orchestrator.runners.base import ChatCall, Runner
from orchestrator.runners.llama.bodies import adds_bos, bare_prompt
from orchestrator.templates.gotemplate import GoTemplate
from orchestrator.templates.image_tags import tag_images
from orchestrator.templates.prompt import render_chat
from orchestrator.wire.json import dumps

MEDIUM_TOKENS = 768
"""What one image is taken to cost, for models with a projector."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt with ``[img-N]`` where the N-th of ``media`` goes."""

    text: str
    media: tuple[bytes, ...] = ()
    warnings: tuple[str, ...] = ()
    """What of the request is not in it as it was meant."""


class Prompter(Protocol):
    """Makes the prompts of one request."""

    async def prompt(self, messages: Sequence[Message]) -> Prompt:
        """The prompt of these messages."""

    async def measured_text(self, messages: Sequence[Message]) -> str:
        """The text whose tokens count against the window; a template's is without tags of media."""

    def surely_fits(self, messages: Sequence[Message], budget: int) -> bool:
        """Whether the prompt cannot have more tokens than ``budget``, told without making it."""


class RenderedPrompter:
    """Prompts rendered by the daemon, with a family's renderer or a Go template."""

    def __init__(self, source: Renderer | GoTemplate, tools: Sequence[Tool], think: Think | None) -> None:
        self._source = source
        self._tools = tuple(tools)
        self._think = think

    async def measured_text(self, messages: Sequence[Message]) -> str:
        if isinstance(self._source, GoTemplate):
            return render_chat(self._source, messages, self._tools or None, self._think)
        return (await self.prompt(messages)).text

    async def prompt(self, messages: Sequence[Message]) -> Prompt:
        if isinstance(self._source, GoTemplate):
            text = render_chat(self._source, tag_images(messages), self._tools or None, self._think)
        else:
            tagged = messages if self._source.places_images else tag_images(messages)
            text = self._source.render(tagged, self._tools, self._think)
        return Prompt(_well_formed(text), _media(messages))

    def surely_fits(self, messages: Sequence[Message], budget: int) -> bool:
        return False  # rendering is cheap: the caller looks at the text


class NativePrompter:
    """Prompts made by the engine's template engine from the template in the model file."""

    def __init__(self, runner: Runner, call: ChatCall) -> None:
        self._runner = runner
        self._call = call

    async def prompt(self, messages: Sequence[Message]) -> Prompt:
        return Prompt(await self._runner.apply_template(self.call(messages)))

    async def measured_text(self, messages: Sequence[Message]) -> str:
        return (await self.prompt(messages)).text

    def call(self, messages: Sequence[Message]) -> ChatCall:
        """The engine's request for these messages."""
        return replace(self._call, messages=tuple(messages))

    def surely_fits(self, messages: Sequence[Message], budget: int) -> bool:
        """A token is a byte at least; half the window is left for what the template adds.

        Should that not be enough for once, the engine refuses the prompt before it has read any of it, and
        the caller measures after all.
        """
        size = sum(_size(message) for message in messages)
        if self._call.tools:
            size += len(dumps([tool_json(tool) for tool in self._call.tools]))
        return size <= budget // 2


class TaggedNativePrompter(NativePrompter):
    """The same for ``/api/generate``: media go into the text as tags and come along by themselves."""

    async def prompt(self, messages: Sequence[Message]) -> Prompt:
        bare = [replace(message, images=()) for message in tag_images(messages)]
        return Prompt(await self._runner.apply_template(self.call(bare)), _media(messages))


async def fit_messages(
    prompter: Prompter, runner: Runner, messages: Sequence[Message], *, budget: int, count_media: bool
) -> Fit:
    """The messages that fit into ``budget`` tokens. ``count_media``: the model has a projector."""

    async def cost(candidates: Sequence[Message]) -> int:
        media = MEDIUM_TOKENS * sum(len(m.images) for m in candidates) if count_media else 0
        text = await prompter.measured_text(candidates)
        if media == 0 and len(text.encode(errors="replace")) < budget:
            return 0  # a token is a byte at least: no need to ask the tokenizer
        return len(await runner.tokenize(text)) + media

    if prompter.surely_fits(messages, budget):
        return Fit(tuple(messages), 0, 0)
    return await fit(messages, cost, budget)


async def cut_prompt(
    runner: Runner, prompt: str, leading_bos: str, options: Options, facts: ModelFacts, *, shift: bool
) -> tuple[str | tuple[int, ...], int, int]:
    """``prompt``, or its tokens with the middle taken out, if it is longer than the window.

    Returns it with the number of tokens before and the number taken out (both 0 when it was not measured).
    Raises ``PromptTooLong`` where the engine may not shift its context.
    """
    num_ctx = options.num_ctx
    if num_ctx <= 1 or len(prompt.encode(errors="replace")) < num_ctx:
        return prompt, 0, 0
    tokens = await runner.tokenize(bare_prompt(prompt, leading_bos, facts), add_special=True)
    if len(tokens) <= num_ctx - 1:
        return prompt, len(tokens), 0
    if not shift:
        raise PromptTooLong
    keep = num_ctx - 1 if options.num_keep < 0 else options.num_keep + adds_bos(facts)
    keep = min(keep, num_ctx - 1)
    limit = num_ctx - max((num_ctx - keep) // 2, 1)
    shortened = (*tokens[:keep], *tokens[len(tokens) - (limit - keep) :])
    return shortened, len(tokens), len(tokens) - limit


def _size(message: Message) -> int:
    """An upper bound of the tokens a message makes, media aside."""
    text = (message.role, message.content, message.tool_name, message.tool_call_id)
    size = sum(len(part.encode(errors="replace")) for part in text)
    return size + sum(_call_size(call) for call in message.tool_calls) + MEDIUM_TOKENS * len(message.images)


def _call_size(call: ToolCall) -> int:
    return len(call.name) + len(dumps(call.arguments)) + len(call.id)


def _well_formed(text: str) -> str:
    """``text`` with U+FFFD for bytes of a template that are no UTF-8: JSON has no way to write those."""
    return text if text.isascii() else text.encode(errors="surrogateescape").decode(errors="replace")


def _media(messages: Sequence[Message]) -> tuple[bytes, ...]:
    return tuple(image for message in messages for image in message.images)
