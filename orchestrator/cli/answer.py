"""Writing a model's answer while it comes: thinking set apart, lines wrapped, tool calls told."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from orchestrator.cli.wordwrap import WordWrap
from orchestrator.client.wire import ChatChunk, GenerateChunk
from orchestrator.units import metrics_summary

_GREY, _BOLD, _RESET = "\x1b[38;5;245m", "\x1b[1m", "\x1b[0m"


class Answer:
    """One answer on stdout. ``begun`` is called before the first output, to clear the place."""

    def __init__(self, *, wrap: bool, show_thinking: bool, begun: Callable[[], None]) -> None:
        self._on_terminal = sys.stdout.isatty()
        self._wrap = wrap and self._on_terminal
        self._show_thinking = show_thinking
        self._begun = begun
        self._thinking = False
        self._last = ""
        self._lines = self._new_lines()

    def write(self, content: str, thinking: str = "", tool_calls: Sequence[Mapping[str, Any]] = ()) -> None:
        """The next piece of the answer."""
        if content or self._show_thinking:
            self._begun()
        if thinking and self._show_thinking:
            self._write_thinking(thinking)
        if self._thinking and (content or tool_calls):
            self._end_thinking()
        for call in tool_calls:
            self._put(_tool_call(call))
        if content:
            self._put(self._lines.feed(content) if self._lines else content)
        sys.stdout.flush()

    def end(self, text: str = "") -> None:
        """Nothing more comes; ``text`` is written last."""
        self._begun()
        if self._thinking:
            self._style(_RESET)
        self._put(text)
        sys.stdout.flush()

    def _write_thinking(self, text: str) -> None:
        if not self._thinking:
            self._thinking = True
            self._lines = self._new_lines()
            self._style(_GREY + _BOLD)
            self._put("Thinking...\n")
            self._style(_RESET + _GREY)
        self._put(self._lines.feed(text) if self._lines else text)

    def _end_thinking(self) -> None:
        if self._last != "\n":
            self._put("\n")
        self._style(_GREY + _BOLD)
        self._put("...done thinking.\n\n")
        self._style(_RESET)
        self._thinking = False
        self._lines = self._new_lines()

    def _new_lines(self) -> WordWrap | None:
        return WordWrap(shutil.get_terminal_size().columns) if self._wrap else None

    def _style(self, codes: str) -> None:
        if self._on_terminal:
            sys.stdout.write(codes)

    def _put(self, text: str) -> None:
        if text:
            self._last = text[-1]
            sys.stdout.write(text)


def print_metrics(chunk: GenerateChunk | ChatChunk) -> None:
    """Say on stderr what the last chunk of an answer tells of times and counts."""
    numbers = {name: value for name, value in chunk.items() if isinstance(value, int)}
    print(metrics_summary(numbers), end="", file=sys.stderr)


def _tool_call(call: Mapping[str, Any]) -> str:
    function = call.get("function") or {}
    arguments = json.dumps(function.get("arguments") or {}, ensure_ascii=False, separators=(",", ":"))
    return (
        f"  Model called a non-existent function '{function.get('name', '')}()' with arguments: {arguments}\n"
    )
