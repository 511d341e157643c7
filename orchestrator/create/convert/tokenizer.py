"""The tokenizer of a Hugging Face model as GGUF metadata.

Source: ``gguf-convert`` §3.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from orchestrator.create.convert.errors import ConversionFailed

if TYPE_CHECKING:
    from orchestrator.create.convert.base import MetadataValue
    from orchestrator.create.convert.folder import ModelFolder

logger = logging.getLogger(__name__)

MAX_TOKENS = 1 << 22


class TokenType(IntEnum):
    """Kinds of tokens, as GGUF numbers them."""

    NORMAL = 1
    UNKNOWN = 2
    CONTROL = 3
    USER_DEFINED = 4
    UNUSED = 5
    BYTE = 6


_PRE_TOKENIZERS: Mapping[str, str] = {
    "d98f9631be1e9607a9848c26c1f9eac1aa9fc21ac6ba82a2fc0741af9780a48f": "llama-bpe",
    "03df5c5863ad70781dcfdef491ead25140f895fe8010964be0daefe27be32b02": "deepseek-llm",
    "21cde974d587f0d54dc8d56b183cc1e6239600172035c68fbd6d4b9f8da0576e": "deepseek-coder",
    "1ff7f41064896984db5d1bb6ff64fa4bc29007d08c1b439e505b7392777a319e": "qwen2",
    "00431aed57e696b747435f734d1e3b9b1bfd931a121fb5cac7129e97c181e9ba": "qwen35",
    "b92c0824a58e1d8dc3221cf3e12c433c3a86f57e46d57229993489f0798e7702": "laguna",
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855": "default",
}
"""SHA-256 of the patterns a text is split by → name of the pre-tokenizer."""

_SPECIAL_TOKENS: Mapping[str, str] = {
    "bos": "bos", "eos": "eos", "unk": "unknown", "sep": "seperator", "pad": "padding", "cls": "cls",
    "mask": "mask",
}  # fmt: skip
"""Word in the model's files → word in the GGUF key, whose spelling the engine knows."""


@dataclass(frozen=True, slots=True)
class SpecialToken:
    """A token with a role. ``add`` is whether it is put around texts, if the model says so."""

    id: int
    add: bool | None = None
    ids: tuple[int, ...] = ()
    """Further tokens that play the role, its own among them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokenizer:
    """Everything GGUF keeps of a tokenizer. Tokens, scores and types go together by index."""

    model: str
    tokens: list[str]
    scores: list[float]
    types: list[int]
    merges: list[str] = field(default_factory=list)
    pre: str = "default"
    special: Mapping[str, SpecialToken] = field(default_factory=dict)
    """By the word of the GGUF key: ``bos``, ``cls`` …"""
    chat_template: str = ""

    def padded(self, count: int) -> Tokenizer:
        """At least ``count`` tokens: the rows of the embedding that no token uses get names."""
        missing = count - len(self.tokens)
        if missing <= 0:
            return self
        if count > MAX_TOKENS:
            raise ConversionFailed(f"vocab_size {count} exceeds maximum {MAX_TOKENS}")
        return replace(
            self,
            tokens=self.tokens + [f"[PAD{number}]" for number in range(missing)],
            scores=self.scores + [-1.0] * missing,
            types=self.types + [TokenType.USER_DEFINED] * missing,
        )

    def metadata(self) -> dict[str, MetadataValue]:
        """The keys of GGUF."""
        metadata: dict[str, MetadataValue] = {
            "tokenizer.ggml.model": self.model,
            "tokenizer.ggml.pre": self.pre,
            "tokenizer.ggml.tokens": self.tokens,
            "tokenizer.ggml.scores": self.scores,
            "tokenizer.ggml.token_type": self.types,
        }
        if self.merges:
            metadata["tokenizer.ggml.merges"] = self.merges
        if self.chat_template:
            metadata["tokenizer.chat_template"] = self.chat_template
        for role, token in self.special.items():
            metadata[f"tokenizer.ggml.{role}_token_id"] = token.id
            if token.add is not None:
                metadata[f"tokenizer.ggml.add_{role}_token"] = token.add
            if token.ids:
                metadata[f"tokenizer.ggml.{role}_token_ids"] = token.ids
        return metadata


def read_tokenizer(folder: ModelFolder) -> Tokenizer:
    """The tokenizer of ``tokenizer.json``."""
    if not folder.has("tokenizer.json"):
        if folder.has("tokenizer.model"):
            raise ConversionFailed("tokenizer.model cannot be converted yet, tokenizer.json can")
        raise ConversionFailed("unknown tokenizer format")
    content = folder.object("tokenizer.json")
    model = _member(content, "model", dict)
    added = _added_tokens(content)
    tokens, types = _vocabulary(_member(model, "vocab", dict), added)
    config = folder.object_if_there("tokenizer_config.json")
    return Tokenizer(
        model="gpt2",
        tokens=tokens,
        scores=[float(number) for number in range(len(tokens))],
        types=types,
        merges=_merges(model.get("merges")),
        pre=_pre_tokenizer(content.get("pre_tokenizer")),
        special=_special_tokens(config, folder.object_if_there("generation_config.json"), added),
        chat_template=_chat_template(config, folder),
    )


@dataclass(frozen=True, slots=True)
class _AddedToken:
    id: int
    content: str
    special: bool


def _added_tokens(content: dict[str, Any]) -> list[_AddedToken]:
    tokens = []
    for entry in content.get("added_tokens") or []:
        match entry:
            case {"id": int(number), "content": str(text)} if 0 <= number < MAX_TOKENS:
                tokens.append(_AddedToken(number, text, entry.get("special") is True))
            case _:
                raise ConversionFailed(f"parse tokenizer.json: bad added token {entry!r:.80}")
    return tokens


def _vocabulary(vocab: dict[str, Any], added: list[_AddedToken]) -> tuple[list[str], list[int]]:
    """Texts and types of the tokens by id; ids that no token has are filled."""
    by_id: dict[int, tuple[str, int]] = {}
    for text, number in vocab.items():
        if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < MAX_TOKENS:
            raise ConversionFailed(f"parse tokenizer.json: bad id {number!r:.80} of token {text!r:.80}")
        by_id[number] = (text, TokenType.NORMAL)
    for token in added:
        by_id[token.id] = (token.content, TokenType.CONTROL if token.special else TokenType.USER_DEFINED)
    entries = [
        by_id.get(number, (f"[PAD{number}]", TokenType.UNUSED))
        for number in range(max(by_id, default=-1) + 1)
    ]
    return [text for text, _ in entries], [kind for _, kind in entries]


def _merges(merges: Any) -> list[str]:
    if merges is None:
        return []
    if isinstance(merges, list):
        if all(isinstance(merge, str) for merge in merges):
            return merges
        if all(isinstance(merge, list) and all(isinstance(part, str) for part in merge) for merge in merges):
            return [" ".join(merge) for merge in merges]
    raise ConversionFailed("could not parse tokenizer merges. expected []string or [][]string")


def _pre_tokenizer(pre_tokenizer: Any) -> str:
    digest = hashlib.sha256()
    match pre_tokenizer:
        case {"pretokenizers": list(steps)}:
            for step in steps:
                match step:
                    case {"type": "Split", "pattern": {"Regex": str(pattern)}}:
                        digest.update(pattern.encode())
    name = _PRE_TOKENIZERS.get(digest.hexdigest())
    if name is None:
        logger.warning("unknown pre-tokenizer, using the default", extra={"digest": digest.hexdigest()})
    return name or "default"


def _special_tokens(
    config: dict[str, Any], generation: dict[str, Any], added: list[_AddedToken]
) -> dict[str, SpecialToken]:
    ids = {token.content: token.id for token in added}
    special = {}
    for word, role in _SPECIAL_TOKENS.items():
        match config.get(f"{word}_token"):
            case str(text) | {"content": str(text)} if text in ids:
                add = _added_around(config, word)
                special[role] = SpecialToken(ids[text], add, _alternatives(generation, word))
    return special


def _added_around(config: dict[str, Any], word: str) -> bool | None:
    key = f"add_{word}_token"
    if key not in config:
        return None
    value = config[key]
    if value is not None and not isinstance(value, bool):
        raise ConversionFailed(f"parse tokenizer_config.json: {key} must be a boolean")
    return bool(value)


def _alternatives(generation: dict[str, Any], word: str) -> tuple[int, ...]:
    match generation.get(f"{word}_token_id"):
        case list(ids) if all(isinstance(number, int) and 0 <= number < MAX_TOKENS for number in ids):
            return tuple(ids)
    return ()


def _chat_template(config: dict[str, Any], folder: ModelFolder) -> str:
    match config.get("chat_template"):
        case None:
            return folder.text("chat_template.jinja") if folder.has("chat_template.jinja") else ""
        case str(template):
            return template
        case list(entries):
            for entry in entries:
                match entry:
                    case {"name": "default", "template": str(template)}:
                        return template
            return ""
        case other:
            raise ConversionFailed(
                f"invalid chat_template: {type(other).__name__} is neither a text nor a list"
            )


def _member(parent: dict[str, Any], name: str, kind: type[dict[str, Any]]) -> dict[str, Any]:
    value = parent.get(name)
    if not isinstance(value, kind):
        raise ConversionFailed(f"parse tokenizer.json: {name} must be an object")
    return value
