"""The tokenizer's keys, as far as several families write them wrongly."""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator.compat.draft import Draft

_PRE = "tokenizer.ggml.pre"
_PER_TOKEN = (
    ("tokenizer.ggml.tokens", "arr:str"),
    ("tokenizer.ggml.scores", "arr:f32"),
    ("tokenizer.ggml.token_type", "arr:i32"),
)


def lacks_pre_tokenizer(draft: Draft) -> bool:
    """Whether the file does not say how text is cut before tokens are looked up."""
    return draft.source.config.string(_PRE) in ("", "default")


def set_pre_tokenizer(draft: Draft, name: str) -> None:
    draft.set(_PRE, "str", name)


def cut_tokens(draft: Draft, count: int) -> None:
    """Leave out tokens that have no embedding."""
    for key, kind in _PER_TOKEN:
        if draft.source.array_length(key) > count:
            draft.set(key, kind, draft.source.array(key)[:count])


def ends(draft: Draft) -> Iterator[int]:
    """Ids of the tokens that end a text, as the source lists them."""
    return (value for value in draft.source.array("tokenizer.ggml.eos_token_ids") if isinstance(value, int))
