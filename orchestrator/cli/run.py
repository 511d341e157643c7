"""``orch run``: one answer, a vector, or a conversation."""

from __future__ import annotations

import sys
from contextlib import closing
from http import HTTPStatus
from typing import Any

from orchestrator.cli.answer import Answer, print_metrics
from orchestrator.cli.attachments import take_files
from orchestrator.cli.connection import server
from orchestrator.cli.grammar import UsageError
from orchestrator.cli.progress import Display
from orchestrator.cli.settings import Settings, refuse_image_models
from orchestrator.cli.transfers import fetch
from orchestrator.client.errors import ApiError
from orchestrator.client.native import NativeClient
from orchestrator.client.wire import GenerateChunk, ModelCard
from orchestrator.domain.durations import format_duration, parse_duration
from orchestrator.domain.json_value import parse_json
from orchestrator.domain.quoting import quoted
from orchestrator.errors import BadRequest
from orchestrator.store.canonical import canonical_json

_THINK_LEVELS = ("high", "medium", "low", "max")


def run(
    model: str,
    *words: str,
    dimensions: int = 0,
    format: str = "",
    hidethinking: bool = False,
    insecure: bool = False,
    keepalive: str = "",
    nowordwrap: bool = False,
    think: str | None = None,
    truncate: bool | None = None,
    verbose: bool = False,
) -> None:
    """Answer a prompt, or talk when there is none and somebody sits at a terminal."""
    with server() as native:
        settings = Settings(
            model,
            think=_think(think),
            keep_alive=_keep_alive(keepalive),
            word_wrap=not nowordwrap,
            verbose=verbose,
            hide_thinking=hidethinking,
        )
        prompt, is_conversation = _input(words)
        settings.card = _show_or_fetch(native, model, insecure=insecure)
        refuse_image_models(settings.card)
        if settings.can("embedding"):
            _print_vector(native, settings, prompt, truncate=truncate, dimensions=dimensions)
            return
        settings.format = _format(format)
        if is_conversation:
            from orchestrator.cli.session import converse

            converse(native, settings)
        else:
            _answer(native, settings, prompt)


def _think(text: str | None) -> bool | str | None:
    match text:
        case None:
            return None
        case "" | "true":
            return True
        case "false":
            return False
        case _ if text in _THINK_LEVELS:
            return text
        case _:
            raise UsageError(
                f"invalid value for --think: {quoted(text)} (must be true, false, high, medium, low, or max)"
            )


def _keep_alive(text: str) -> str | None:
    return format_duration(parse_duration(text)) if text else None


def _format(text: str) -> Any:
    if text in ("", "json"):
        return text or None
    try:
        return parse_json(text)
    except ValueError as error:
        raise UsageError(f"invalid value for --format: neither json nor a JSON schema: {error}") from error


def _input(words: tuple[str, ...]) -> tuple[str, bool]:
    """The prompt, from standard input and the words; and whether there will be a conversation instead."""
    piped = "" if sys.stdin.isatty() else sys.stdin.buffer.read().decode(errors="replace")
    prompt = " ".join([piped, *words] if piped else words)
    return prompt, not words and sys.stdin.isatty() and sys.stdout.isatty()


def _show_or_fetch(native: NativeClient, model: str, *, insecure: bool) -> ModelCard:
    try:
        return native.show(model)
    except ApiError as error:
        if error.status != HTTPStatus.NOT_FOUND:
            raise
    fetch(native, model, insecure=insecure)
    return native.show(model)


def _print_vector(
    native: NativeClient, settings: Settings, text: str, *, truncate: bool | None, dimensions: int
) -> None:
    if not text:
        raise BadRequest(
            f'embedding models require input text. Usage: orch run {settings.model} "your text here"'
        )
    body = {
        "model": settings.model,
        "input": text,
        "keep_alive": settings.keep_alive,
        "truncate": truncate,
        "dimensions": dimensions if dimensions > 0 else None,
    }
    reply = native.embed({name: value for name, value in body.items() if value is not None})
    vectors = reply.get("embeddings") or []
    if not vectors:
        raise BadRequest("no embeddings returned")
    print(canonical_json(vectors[0]).decode(), end="")


def _answer(native: NativeClient, settings: Settings, prompt: str) -> None:
    text, images = take_files(prompt) if settings.takes_files else (prompt, [])
    request = settings.request(prompt=text, images=images or None)
    last: GenerateChunk = {}
    with Display(keep=False) as display, closing(native.generate(request)) as chunks:
        display.spinner()
        answer = Answer(
            wrap=settings.word_wrap, show_thinking=not settings.hide_thinking, begun=display.close
        )
        try:
            for last in chunks:
                answer.write(last.get("response", ""), last.get("thinking", ""))
        except KeyboardInterrupt:
            answer.end()
            return
        answer.end("\n\n" if text else "")
    if settings.verbose and text:
        print_metrics(last)
