"""Completing a prompt. Source: ``api-native`` §9.2, ``prompts`` §1.5."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from functools import partial

from orchestrator.domain.chunks import Batches, Chunk, Done, DoneReason
from orchestrator.domain.formats import usable_format
from orchestrator.domain.quoting import quoted
from orchestrator.domain.requests import GenerateRequest, Message
from orchestrator.domain.think import Think
from orchestrator.inference.attachments import readable, refuse_unknown
from orchestrator.inference.enforcement import format_warnings
from orchestrator.inference.errors import MissingCapability, RawExcludesTemplate, TemplateUnusable
from orchestrator.inference.fitting import fitted_prompt
from orchestrator.inference.messages import generate_messages
from orchestrator.inference.output import split
from orchestrator.inference.path import choose_path
from orchestrator.inference.prepare import load_spec, option_remarks, settled_think
from orchestrator.inference.prompts import Prompt, RenderedPrompter, TaggedNativePrompter
from orchestrator.inference.rendered import completion_call, parser_by_tags
from orchestrator.inference.reply import Generation, Overflow, RenderedPrompt, Reply, Residency
from orchestrator.inference.service import Inference, check_top_logprobs, refuse_replaced, wanted_logprobs
from orchestrator.inference.strict import in_accepted_form
from orchestrator.inference.turn import Answer, Turn
from orchestrator.parsers import registry as parsers
from orchestrator.parsers.base import Parser
from orchestrator.runners.base import ChatCall, Runner
from orchestrator.store.model import Model
from orchestrator.templates.errors import TemplateSyntaxError
from orchestrator.templates.gotemplate import GoTemplate
from orchestrator.templates.image_tags import check_image_counts
from orchestrator.templates.prompt import render_insert

THOUGHTLESS = "format: holds from the first token, so that no thought can come before it; /api/chat has both"


@asynccontextmanager
async def generate(inference: Inference, request: GenerateRequest) -> AsyncIterator[Reply]:
    """Answer ``request``. The runner is held until the context is left; leaving early stops the engine."""
    started_ns = time.perf_counter_ns()
    check_top_logprobs(request)
    model = await inference.open(request.model)
    inference.refuse_stub(model)
    if not request.prompt and request.keep_alive is not None and request.keep_alive.is_zero:
        inference.scheduler.unload(model.files.key)
        yield Residency(DoneReason.UNLOAD)
        return
    path = choose_path(model, inference.go_template)
    think = _checked(model, request)
    spec = load_spec(model, request.options, inference.defaults, shift=request.shift, rendered=path.rendered)
    told = option_remarks(spec, request.options, completes=True)
    async with inference.scheduler.lease(spec, request.keep_alive) as lease:
        load_duration_ns = time.perf_counter_ns() - started_ns
        if not request.prompt:
            yield Residency(DoneReason.LOAD, told)
            return
        turn = Turn.of(inference, request, model, path, think, spec=spec, lease=lease, warnings=told)
        request = replace(request, images=await readable(request.images))
        prompt, overflow = await _prompt(turn, request)
        if request.debug_render_only:
            yield RenderedPrompt(prompt.text, len(prompt.media))
            return
        answer = await _answer(turn, request, prompt, overflow)
        items = inference.watched(answer.items, lease)
        async with aclosing(items):
            yield Generation(items, started_ns, load_duration_ns, answer.overflow, (*told, *answer.warnings))


def _checked(model: Model, request: GenerateRequest) -> Think | None:
    """The think setting in force. Raises ``BadRequest`` leaves for what cannot be done."""
    capabilities = model.files.capabilities
    if "image" in capabilities:
        raise MissingCapability("image generation models are not currently supported")
    if request.raw and (request.template or request.system or request.context):
        raise RawExcludesTemplate
    think = settled_think(model, request)
    refuse_replaced(model)
    if "completion" not in capabilities:
        raise MissingCapability(f"{quoted(request.model)} does not support generate")
    if request.suffix and "insert" not in capabilities:
        raise MissingCapability(f"{model.name.full} does not support insert")
    refuse_unknown(request.images, model)
    return think


async def _prompt(turn: Turn, request: GenerateRequest) -> tuple[Prompt, Overflow | None]:
    """The prompt, by the way that the request's fields choose."""
    check_image_counts([Message("user", images=request.images)], turn.model.files.families)
    if request.raw:
        return Prompt(request.prompt, request.images), None
    prompt, overflow = await _templated(turn, request)
    if request.context:
        earlier = await turn.runner.detokenize(request.context)
        prompt = replace(prompt, text=earlier + prompt.text)
    return prompt, overflow


async def _templated(turn: Turn, request: GenerateRequest) -> tuple[Prompt, Overflow | None]:
    template = _own_template(request.template)
    if request.suffix:
        source = template or turn.path.template
        text = render_insert(source, request.prompt, request.suffix, turn.think)
        return Prompt(text, request.images), None
    messages = generate_messages(turn.model, request)
    if template is not None:
        return await RenderedPrompter(template, (), turn.think).prompt(messages), None
    if turn.path.rendered or not turn.model.chat_template:
        prompter = RenderedPrompter(turn.path.source(), (), turn.think)
        return await fitted_prompt(turn, prompter, messages)
    return await _rendered_by_the_engine(turn, messages)


def _own_template(text: str) -> GoTemplate | None:
    """The template of the request. Raises ``TemplateUnusable``."""
    try:
        return GoTemplate.parse(text) if text else None
    except TemplateSyntaxError as error:
        raise TemplateUnusable(str(error)) from error


async def _rendered_by_the_engine(turn: Turn, messages: Sequence[Message]) -> tuple[Prompt, Overflow | None]:
    request = turn.request
    call = ChatCall(
        messages=(),
        options=turn.options,
        think=turn.think,
        format=usable_format(request.format),
        top_logprobs=wanted_logprobs(request),
    )
    prompter = TaggedNativePrompter(turn.runner, call)

    attempt = partial(fitted_prompt, turn, prompter)
    (prompt, overflow), warnings = await in_accepted_form(messages, attempt)
    return replace(prompt, warnings=warnings), overflow


async def _answer(turn: Turn, request: GenerateRequest, prompt: Prompt, overflow: Overflow | None) -> Answer:
    parser = None if request.raw else _parser(turn, prompt.text)
    warnings = (*prompt.warnings, *await _format_warnings(turn))
    call, overflow = await completion_call(turn, prompt, overflow, parser)
    items = turn.runner.complete(call)
    if not request.raw:
        items = _with_context(items, turn.runner, prompt.text)
    return Answer(split(items, parser), overflow, warnings)


async def _format_warnings(turn: Turn) -> tuple[str, ...]:
    """What does not hold of the format, and what had to give way to it."""
    found = await format_warnings(turn.request.format, rendered=True)
    if turn.request.format is not None and turn.think:
        return (*found, THOUGHTLESS)
    return found


def _parser(turn: Turn, prompt: str) -> Parser | None:
    parser = parsers.make(turn.path.parser_name)
    if parser is None:
        return parser_by_tags(turn, prompt, ())
    parser.start((), None, turn.think)
    return parser


async def _with_context(items: Batches, runner: Runner, prompt: str) -> Batches:
    """``items``, with the token ids of prompt and raw reply in the last one."""
    texts = [prompt]
    async with aclosing(items):
        async for batch in items:
            texts += [item.content for item in batch if isinstance(item, Chunk)]
            done = batch[-1]
            if not isinstance(done, Done):
                yield batch
                continue
            if len(batch) > 1:
                yield batch[:-1]
            yield [replace(done, context=tuple(await runner.tokenize("".join(texts))))]
