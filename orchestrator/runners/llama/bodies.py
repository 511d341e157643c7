"""Request bodies for llama-server, built from calls.

The members and their conditions are Ollama's, whose clients' results depend on them; where the engine
refuses a value that Ollama passes on, it is given one of the same meaning.

Source: ``llama-server`` §7.1, §8, §9, §10; ``prompts`` §1.8–1.10, §3.3; ``multimodal`` §2–4.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import orjson

from orchestrator.domain.formats import JsonFormat, OutputFormat, SchemaFormat
from orchestrator.domain.loads import LoadSpec, ModelFacts
from orchestrator.domain.option_limits import longest_answer, longest_look_back
from orchestrator.domain.options import Options, float32
from orchestrator.domain.requests import Message
from orchestrator.domain.tools import tool_json
from orchestrator.media.detect import Kind, kind_of
from orchestrator.runners.base import ChatCall, CompletionCall

Body = dict[str, Any]

ANY_OBJECT = {"type": "object"}
"""The schema of any JSON object."""

_MEDIA_TAG = re.compile(r"\[img-(\d+)\]")
_LITERAL_BOS = "<bos>"
_AUDIO_FORMATS = {Kind.WAV: "wav", Kind.MP3: "mp3", Kind.FLAC: "flac"}
_IMAGE_TYPES = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
    b"BM": "image/bmp",
    b"\0\0\1\0": "image/x-icon",
    b"\0\0\2\0": "image/x-icon",
}
"""First bytes → type. Anything else is called JPEG: the engine looks for itself."""
_ADDS_BOS = frozenset({"lfm2", "gemma4"})


def completion_body(call: CompletionCall, spec: LoadSpec, marker: str) -> Body:
    """The body of ``POST /completion``."""
    body: Body = {"prompt": _prompt(call, spec.files.facts, marker), "stream": True, "cache_prompt": True}
    body |= _sampling(call.options, num_ctx=spec.options.num_ctx)
    # a runner keeps what its command line says unless told otherwise, 0 included
    absent = [name for name in ("n_predict", "typical_p", "stop") if not body[name]]
    if not body["n_keep"] and spec.options.num_keep <= 0:
        absent.append("n_keep")
    for name in absent:
        del body[name]
    body |= _constraint(call.format, call.grammar)
    if call.top_logprobs is not None:
        body["n_probs"] = max(call.top_logprobs, 1)
    if call.preserved_tokens:
        body["preserved_tokens"] = list(call.preserved_tokens)
    return body | dict(call.extra)


def chat_body(call: ChatCall, spec: LoadSpec) -> Body:
    """The body of ``POST /v1/chat/completions``."""
    return _chat(call, stream=True, num_ctx=spec.options.num_ctx)


def template_body(call: ChatCall) -> Body:
    """The body of ``POST /apply-template``: that of the chat, its budget not yet bounded."""
    return _chat(call, stream=False, num_ctx=None)


def embedding_body(text: str, facts: ModelFacts) -> Body:
    """The body of ``POST /v1/embeddings``; the engine normalises unless the metadata says otherwise."""
    return {"input": text} if _normalizes(facts) else {"input": text, "embd_normalize": -1}


def rerank_body(query: str, documents: Sequence[str]) -> Body:
    """The body of ``POST /v1/rerank``."""
    return {"query": query, "documents": list(documents)}


def tokenize_body(text: str, *, add_special: bool) -> Body:
    """The body of ``POST /tokenize``."""
    return {"content": text, "add_special": True} if add_special else {"content": text}


def detokenize_body(tokens: Sequence[int]) -> Body:
    """The body of ``POST /detokenize``."""
    return {"tokens": list(tokens)}


def encode(body: Body) -> bytes:
    """``body`` as JSON."""
    try:
        return orjson.dumps(body)
    except TypeError:  # integers beyond 64 bits
        return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode(errors="replace")


def adds_bos(facts: ModelFacts) -> bool:
    """Whether the model's tokenizer puts a BOS in front of every prompt by itself."""
    return facts.add_bos or facts.tokenizer_pre in _ADDS_BOS or facts.tokenizer_model == "gemma4"


def budget(options: Options, num_ctx: int) -> int:
    """``num_predict`` as it is sent: an unlimited or immense one becomes ten contexts."""
    limit = longest_answer(num_ctx)
    return options.num_predict if 0 <= options.num_predict <= limit else limit


def _chat(call: ChatCall, *, stream: bool, num_ctx: int | None) -> Body:
    body: Body = {
        "messages": [_message(message) for message in call.messages],
        "stream": stream,
        "cache_prompt": True,
    }
    body |= _sampling(call.options, num_ctx=num_ctx)
    body["stop"] = body["stop"] or None
    if call.tools:
        body["tools"] = [tool_json(tool) for tool in call.tools]
    if call.think is not None:
        body["chat_template_kwargs"] = {"enable_thinking": bool(call.think)}
        if call.think.word is not None:
            body["chat_template_kwargs"]["reasoning_effort"] = call.think.word
    if call.top_logprobs is not None:
        body |= {"logprobs": True, "top_logprobs": max(call.top_logprobs, 1)}
    if call.format is not None:
        body["response_format"] = _response_format(call.format)
    return body | dict(call.extra)


def _looked_back(last_n: int, num_ctx: int) -> int:
    """``repeat_last_n`` as it is sent: no more than there can be; a negative one is the window."""
    return min(last_n, longest_look_back(num_ctx)) if last_n >= 0 else num_ctx


def _sampling(options: Options, *, num_ctx: int | None) -> Body:
    """The options of sampling; without ``num_ctx`` those that depend on it go as they are."""
    last_n = options.repeat_last_n
    return {
        "n_predict": options.num_predict if num_ctx is None else budget(options, num_ctx),
        "n_keep": max(options.num_keep, -1),
        "seed": options.seed,
        "temperature": _shortest(options.temperature),
        "top_k": options.top_k,
        "top_p": _shortest(options.top_p),
        "min_p": _shortest(options.min_p),
        "typical_p": _shortest(options.typical_p),
        # the engine refuses -1, "the whole context", and penalties that are not positive
        "repeat_last_n": last_n if num_ctx is None else _looked_back(last_n, num_ctx),
        "repeat_penalty": _shortest(options.repeat_penalty) if options.repeat_penalty > 0 else 1.0,
        "presence_penalty": _shortest(options.presence_penalty),
        "frequency_penalty": _shortest(options.frequency_penalty),
        "stop": list(options.stop),
    }


@lru_cache(maxsize=256)
def _shortest(value: float) -> float:
    """The shortest decimal that is ``value`` in single precision: 0.8 rather than 0.800000011920929."""
    candidates = (float(f"{value:.{digits}g}") for digits in range(6, 9))
    return next((short for short in candidates if float32(short) == value), value)


def _prompt(call: CompletionCall, facts: ModelFacts, marker: str) -> Any:
    if not isinstance(call.prompt, str):
        return list(call.prompt)
    text = bare_prompt(call.prompt, call.leading_bos, facts)
    if not call.media:
        return text
    text, order = _place_media(text, len(call.media), marker)
    return {"prompt_string": text, "multimodal_data": [_base64(call.media[index]) for index in order]}


def bare_prompt(text: str, leading_bos: str, facts: ModelFacts) -> str:
    """``text`` without the BOS that the tokenizer would double; ``leading_bos`` is the renderer's."""
    if not adds_bos(facts):
        return text
    if leading_bos and text.startswith(leading_bos):
        return text[len(leading_bos) :]
    return text.removeprefix(_LITERAL_BOS)


def _place_media(text: str, count: int, marker: str) -> tuple[str, list[int]]:
    """``text`` with the first tag of each medium replaced by ``marker``, and the media in the markers' order.

    The engine pairs markers and data by position. A medium without a tag goes in front.
    """
    placed: list[int] = []

    def place(tag: re.Match[str]) -> str:
        index = int(tag[1])
        if index >= count or index in placed:
            return tag[0]
        placed.append(index)
        return marker

    text = _MEDIA_TAG.sub(place, text)
    untagged = [index for index in range(count) if index not in placed]
    return marker * len(untagged) + text, untagged + placed


def _constraint(format: OutputFormat | None, grammar: str | None) -> Body:
    """The engine obeys one of the two keys only, so never both are sent."""
    if grammar is not None:
        return {"grammar": grammar}
    match format:
        case None:
            return {}
        case JsonFormat():
            return {"json_schema": ANY_OBJECT}
        case SchemaFormat(schema):
            return {"json_schema": schema}


def _response_format(format: OutputFormat) -> Body:
    match format:
        case JsonFormat():
            return {"type": "json_object"}
        case SchemaFormat(schema):
            return {"json_schema": {"name": "schema", "schema": schema}, "type": "json_schema"}


def _message(message: Message) -> Body:
    body: Body = {"content": _content(message), "role": message.role}
    if message.tool_name:
        body["name"] = message.tool_name
    if message.tool_call_id:
        body["tool_call_id"] = message.tool_call_id
    if message.tool_calls:
        body["tool_calls"] = [
            ({"id": call.id} if call.id else {})
            | {
                "index": call.index,
                "type": "function",
                "function": {"name": call.name, "arguments": _arguments(call.arguments)},
            }
            for call in message.tool_calls
        ]
    return dict(sorted(body.items()))


def _content(message: Message) -> str | list[Body]:
    if not message.images:
        return message.content
    text: Iterable[Body] = [{"text": message.content, "type": "text"}] if message.content else []
    return [*text, *(_medium(data) for data in message.images)]


def _medium(data: bytes) -> Body:
    kind = kind_of(data)
    if audio := _AUDIO_FORMATS.get(kind):
        return {"input_audio": {"data": _base64(data), "format": audio}, "type": "input_audio"}
    if kind is Kind.VIDEO:
        return {"input_video": {"data": _base64(data)}, "type": "input_video"}
    mime = next((name for start, name in _IMAGE_TYPES.items() if data.startswith(start)), "image/jpeg")
    return {"image_url": {"url": f"data:{mime};base64,{_base64(data)}"}, "type": "image_url"}


def _arguments(arguments: Mapping[str, Any]) -> str:
    # not orjson: integers may have any size
    return json.dumps(arguments, ensure_ascii=False, separators=(",", ":"))


def _base64(data: bytes) -> str:
    return b64encode(data).decode()


def _normalizes(facts: ModelFacts) -> bool:
    match facts.architecture:
        case "bert":
            return facts.tokenizer_model == "bert" and facts.normalize_embeddings is not False
        case "nomic-bert" | "nomic-bert-moe":
            return facts.normalize_embeddings is True
        case _:
            return True
