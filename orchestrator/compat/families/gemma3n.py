"""Gemma 3n: more tokens than the embeddings of each layer have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from orchestrator.compat.draft import Draft, first_rows
from orchestrator.compat.families.base import Family
from orchestrator.compat.plan import FilePlan
from orchestrator.compat.source import Source
from orchestrator.compat.vocabulary import cut_tokens, ends

_EMBEDDINGS = "token_embd.weight"
_PER_LAYER = "per_layer_token_embd.weight"
_END_OF_TEXT, _END_OF_TURN = 1, 106
_NORMAL, _BYTE = 1, 6


def _has_surplus(source: Source) -> bool:
    names = (_EMBEDDINGS, _PER_LAYER)
    return all(name in source.tensors for name in names) and len({_rows(source, name) for name in names}) > 1


def _rows(source: Source, name: str) -> int:
    return source.dimension(name, 1)


def _text(source: Source) -> FilePlan:
    draft = Draft(source)
    count = _rows(source, _PER_LAYER)
    draft.set("tokenizer.ggml.model", "str", "llama")
    draft.replace([_EMBEDDINGS], first_rows(source.tensor(_EMBEDDINGS), count))
    cut_tokens(draft, count)
    kinds = source.array("tokenizer.ggml.token_type")[:count]
    if kinds:
        tokens = source.array("tokenizer.ggml.tokens")
        draft.set("tokenizer.ggml.token_type", "arr:i32", list(_kinds(tokens, kinds)))
    found = list(ends(draft)) or [_END_OF_TEXT]
    if _END_OF_TURN not in found:
        found.append(_END_OF_TURN)
    draft.set("tokenizer.ggml.eos_token_ids", "arr:i32", found)
    return draft.plan()


def _kinds(tokens: Sequence[str], kinds: Sequence[int]) -> Iterator[int]:
    for token, kind in zip(tokens, kinds, strict=False):
        if token.startswith("<0x") and token.endswith(">") and len(token) == len("<0xNN>"):
            yield _BYTE
        elif token.startswith("<unused"):
            yield _NORMAL
        else:
            yield kind


FAMILIES = {"gemma3n": (Family(fits=_has_surplus, text=_text),)}
