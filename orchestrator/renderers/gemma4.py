"""Gemma 4: one turn of the model holds its thoughts, calls, their results and its answer.

Source: ``prompts`` §5.6.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from orchestrator.domain.requests import Message
from orchestrator.domain.think import Think
from orchestrator.domain.tools import Tool
from orchestrator.domain.white_space import trim
from orchestrator.renderers.gemma4_declarations import NOTATION, declaration
from orchestrator.renderers.images import ImageTags
from orchestrator.renderers.turns import is_prefill, last_index, role_at

_CHANNEL = re.compile(r"<\|channel>.*?(?:<channel\|>|\Z)", re.DOTALL)
_END = "<turn|>\n"


class Gemma4Renderer:
    """``large`` models write an empty thought when they do not think."""

    leading_bos = "<bos>"
    places_images = True

    def __init__(self, *, large: bool = False) -> None:
        self._large = large

    def render(self, messages: Sequence[Message], tools: Sequence[Tool], think: Think | None) -> str:
        has_system = role_at(messages, 0) in ("system", "developer")
        out = [self.leading_bos]
        tags = ImageTags()
        if has_system or tools or think:
            system = _tagged(tags, messages[0], messages[0].content) if has_system else ""
            switch = "<|think|>\n" if think else ""
            out.append(f"<|turn>system\n{switch}{system}{''.join(map(declaration, tools))}{_END}")
        turns = messages[1:] if has_system else messages
        out.extend(_Conversation(turns, tags).write())
        if not is_prefill(turns):
            out.append(self._generation(turns, thinks=bool(think)))
        return "".join(out)

    def _generation(self, turns: Sequence[Message], *, thinks: bool) -> str:
        last = max((i for i, message in enumerate(turns) if message.role != "tool"), default=-1)
        if last < 0 or turns[last].role != "assistant" or not turns[last].tool_calls:
            no_thought = "<|channel>thought\n<channel|>" if self._large and not thinks else ""
            return f"<|turn>model\n{no_thought}"
        return "<|channel>thought\n" if thinks and last < len(turns) - 1 else ""


class _Conversation:
    """The turns after the system's."""

    def __init__(self, turns: Sequence[Message], tags: ImageTags) -> None:
        self.turns = turns
        self.tags = tags
        self.last_user = last_index(turns, "user")

    def write(self) -> Iterable[str]:
        spoken = [i for i, message in enumerate(self.turns) if message.role != "tool"]
        before = ""
        for place, i in enumerate(spoken):
            message = self.turns[i]
            after = role_at(self.turns, spoken[place + 1]) if place + 1 < len(spoken) else ""
            if not message.role == before == "assistant":
                yield f"<|turn>{'model' if message.role == 'assistant' else message.role}\n"
            if message.role == "assistant":
                yield from self.answer(i, after)
            else:
                yield _tagged(self.tags, message, message.content) + _END
            before = message.role

    def answer(self, index: int, after: str) -> Iterable[str]:
        message = self.turns[index]
        if message.thinking and index > self.last_user:
            yield f"<|channel>thought\n{message.thinking}\n<channel|>"
        for call in message.tool_calls:
            yield f"<|tool_call>call:{call.name}{{{NOTATION.members(call.arguments)}}}<tool_call|>"
        results = self.results(index) if message.tool_calls else []
        yield from results
        content = _tagged(self.tags, message, _CHANNEL.sub("", message.content))
        yield content
        if message.tool_calls and not results:
            yield "<|tool_response>"
        elif after == "assistant" or (results and not content and not after):
            return
        elif after or not is_prefill(self.turns):
            yield _END

    def results(self, index: int) -> list[str]:
        """What the tools gave, as far as it follows the calls directly."""
        names = {call.id: call.name for call in self.turns[index].tool_calls if call.id}
        found: list[str] = []
        for message in self.turns[index + 1 :]:
            if message.role != "tool":
                break
            name = names.get(message.tool_call_id) or message.tool_name or "unknown"
            value = NOTATION.text(self.tags.tagged(message))
            found.append(f"<|tool_response>response:{name}{{value:{value}}}<tool_response|>")
        return found


def _tagged(tags: ImageTags, message: Message, content: str) -> str:
    """A text trimmed before the tags of the message's images go in."""
    return tags.tagged(replace(message, content=trim(content)))
