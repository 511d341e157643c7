"""Structured output of a model that thinks: the constraint begins after the thought.

A grammar would forbid the thought, so the reply takes two runs. The first is free and ends as soon as the
model turns to its answer; the second goes on from the raw text of the thought, under the constraint. Its
prompt is the first one with the thought behind it, token for token, where Ollama renders a conversation that
many families' templates cannot express. Source: ``prompts`` §1.11.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import replace

from orchestrator.domain.chunks import Batches, Chunk, Done, DoneReason, Item
from orchestrator.inference.forced_calls import ForcedCalls
from orchestrator.inference.output import Splitter, split
from orchestrator.parsers.base import Parser
from orchestrator.runners.base import CompletionCall, Runner


async def think_then_constrain(
    runner: Runner, call: CompletionCall, parser: Parser, forced: ForcedCalls | None = None
) -> Batches:
    """The reply to ``call``, whose format or grammar holds for what follows the thought.

    A thought that uses up the budget is the whole reply; calls of tools are answers that no format concerns,
    unless they are ``forced``.
    """
    thought = _Thought(parser)
    free = runner.complete(_without_constraint(call, forced.beginnings if forced else ()))
    async with aclosing(free):
        async for batch in free:
            if items := thought.take(batch):
                yield items
            if thought.is_over:
                break
    if thought.needs_answer:
        prompt = await _continued(runner, call.prompt, thought.text)
        answer = split(runner.complete(replace(call, prompt=prompt)), forced.parser if forced else None)
        async with aclosing(answer):
            async for batch in answer:
                yield batch


def _without_constraint(call: CompletionCall, stops: tuple[str, ...]) -> CompletionCall:
    options = replace(call.options, stop=(*call.options.stop, *stops))
    return replace(call, format=None, grammar=None, options=options)


class _Thought:
    """What the first run has brought so far."""

    def __init__(self, parser: Parser) -> None:
        self._splitter = Splitter(parser)
        self._raw: list[str] = []
        self._called_tools = False
        self.text = ""
        """The raw text up to where the answer began."""
        self.is_over = False
        self.needs_answer = False

    def take(self, batch: Sequence[Item]) -> list[Item]:
        """The items of ``batch`` that belong to the reply; nothing of an answer is among them."""
        out: list[Item] = []
        for item in batch:
            if isinstance(item, Chunk):
                self._raw.append(item.content)
            for found in self._splitter.split((item,)):
                if self._is_answer(found):
                    self._end_before(found)
                    if isinstance(found, Chunk) and found.thinking:
                        out.append(found._replace(content=""))
                    return out
                out.append(found)
        return out

    def _is_answer(self, item: Item) -> bool:
        """Whether the model has begun to answer, or has stopped without an answer."""
        if self._called_tools:
            return False
        if isinstance(item, Done):
            return item.reason is DoneReason.STOP
        self._called_tools = bool(item.tool_calls)
        return bool(item.content.strip()) and not self._called_tools

    def _end_before(self, item: Item) -> None:
        raw = "".join(self._raw)
        content = item.content if isinstance(item, Chunk) else ""
        found = raw.rfind(content) if content else -1
        self.text = raw if found < 0 else raw[:found]
        self.is_over = self.needs_answer = True


async def _continued(runner: Runner, prompt: str | tuple[int, ...], thought: str) -> str | tuple[int, ...]:
    if isinstance(prompt, str):
        return prompt + thought
    return (*prompt, *await runner.tokenize(thought))
