"""Llama 3 in files from before its tokenizer had a name."""

from __future__ import annotations

from orchestrator.compat.draft import Draft
from orchestrator.compat.families.base import Family
from orchestrator.compat.plan import FilePlan
from orchestrator.compat.source import Source
from orchestrator.compat.vocabulary import lacks_pre_tokenizer, set_pre_tokenizer

_END_OF_TEXT, _START_OF_HEADER, _END_OF_TURN = 128001, 128006, 128009
_HEADER, _TURN = "<|start_header_id|>", "<|eot_id|>"
_TOKENS = "tokenizer.ggml.tokens"


def _is_early(source: Source) -> bool:
    """Looks at few keys first: the list of tokens takes a while to read."""
    config = source.config
    nameless = config.string("tokenizer.ggml.pre") in ("", "default")
    ends_early = config.uint("tokenizer.ggml.eos_token_id") == _END_OF_TEXT
    if not (nameless or ends_early) or source.array_length(_TOKENS) <= _END_OF_TURN:
        return False
    tokens = source.array(_TOKENS)
    template = config.string("tokenizer.chat_template")
    return tokens[_END_OF_TURN] == _TURN and (
        tokens[_START_OF_HEADER] == _HEADER or _HEADER in template or _TURN in template
    )


def _text(source: Source) -> FilePlan:
    draft = Draft(source)
    if lacks_pre_tokenizer(draft):
        set_pre_tokenizer(draft, "llama-bpe")
    for key in ("tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id"):
        if source.config.uint(key, default=_END_OF_TEXT) == _END_OF_TEXT:
            draft.set(key, "u32", _END_OF_TURN)
    draft.set("tokenizer.ggml.eos_token_ids", "arr:i32", [_END_OF_TURN])
    return draft.plan()


FAMILIES = {"llama": (Family(fits=_is_early, text=_text),)}
