"""The tokenizer of a Hugging Face model as GGUF metadata.

Source: ``gguf-convert`` §3.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from orchestrator.create.convert.errors import ConversionFailed
from orchestrator.create.convert.sentencepiece import Piece, read_sentencepiece

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
    adds_space: bool = True
    """An engine of the ``llama`` kind puts a space in front of a text."""

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
            scores=self.scores + [_PADDING_SCORE] * missing,
            types=self.types + [TokenType.USER_DEFINED] * missing,
        )

    def cut(self, count: int) -> Tokenizer:
        """At most ``count`` tokens."""
        return replace(self, tokens=self.tokens[:count], scores=self.scores[:count], types=self.types[:count])

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
        if not self.adds_space:
            metadata["tokenizer.ggml.add_space_prefix"] = False
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
    """The tokenizer of ``tokenizer.model``, or else of ``tokenizer.json``."""
    if folder.has("tokenizer.model"):
        content = folder.object_if_there("tokenizer.json")
        added = _added_tokens(content)
        vocabulary = _sentencepiece(folder)
    elif folder.has("tokenizer.json"):
        content = folder.object("tokenizer.json")
        added = _added_tokens(content)
        vocabulary = _byte_level(content, added)
    else:
        raise ConversionFailed("unknown tokenizer format")
    config = folder.object_if_there("tokenizer_config.json")
    merges = content.get("model", {}).get("merges") if isinstance(content.get("model"), dict) else None
    return replace(
        vocabulary,
        merges=_merges(merges),
        pre=_pre_tokenizer(content.get("pre_tokenizer")),
        special=_special_tokens(config, folder.object_if_there("generation_config.json"), added),
        chat_template=_chat_template(config, folder),
        adds_space=vocabulary.adds_space and config.get("add_prefix_space") is not False,
    )


def _byte_level(content: dict[str, Any], added: list[_AddedToken]) -> Tokenizer:
    by_id = _vocabulary(_member(_member(content, "model", dict), "vocab", dict), added)
    tokens, scores, types = [], [], []
    for number in range(max(by_id, default=-1) + 1):
        text, kind = by_id.get(number, (f"[PAD{number}]", TokenType.UNUSED))
        tokens.append(text)
        scores.append(float(number) if number in by_id else _PADDING_SCORE)
        types.append(kind)
    return Tokenizer(model="gpt2", tokens=tokens, scores=scores, types=types)


_KEPT_TYPES = frozenset({TokenType.UNKNOWN, TokenType.CONTROL, TokenType.UNUSED, TokenType.BYTE})
_ADDED_SCORE = -1000.0
_PADDING_SCORE = -1.0
_CONTROLS = frozenset(
    f"<{word}>"
    for word in (
        "start_of_turn", "end_of_turn", "start_function_declaration", "end_function_declaration",
        "start_function_call", "end_function_call", "start_function_response", "end_function_response",
        "escape",
    )
)  # fmt: skip
"""Pieces that structure a conversation, whatever their type in the file."""


def _sentencepiece(folder: ModelFolder) -> Tokenizer:
    model = read_sentencepiece(folder.content("tokenizer.model"))
    controls = _CONTROLS | _additional_special(folder)
    known = [replace(piece, type=_type(piece, controls)) for piece in model.pieces]
    pieces = [*known, *_added_pieces(folder, known)]
    return Tokenizer(
        model="llama",
        tokens=[piece.text for piece in pieces],
        scores=[piece.score for piece in pieces],
        types=[piece.type for piece in pieces],
        adds_space=model.adds_space,
    )


def _type(piece: Piece, controls: Set[str]) -> int:
    if piece.text in controls:
        return TokenType.CONTROL
    return piece.type if piece.type in _KEPT_TYPES else TokenType.NORMAL


def _additional_special(folder: ModelFolder) -> frozenset[str]:
    names = set()
    for entry in folder.object_if_there("special_tokens_map.json").get("additional_special_tokens") or ():
        match entry:
            case str(text) | {"content": str(text)}:
                names.add(text)
    return frozenset(names)


def _added_pieces(folder: ModelFolder, pieces: Sequence[Piece]) -> Iterator[Piece]:
    """The tokens of ``added_tokens.json``, which go on where the pieces end."""
    added = folder.object_if_there("added_tokens.json")
    for text, number in added.items():
        if not isinstance(number, int) or isinstance(number, bool):
            raise ConversionFailed(f"parse added_tokens.json: bad id {number!r:.80} of token {text!r:.80}")
    size = len(pieces)
    for text, number in sorted(added.items(), key=lambda entry: entry[1]):
        if 0 <= number < len(pieces):
            if pieces[number].text != text:
                raise ConversionFailed(f"token mismatch: {text} != {pieces[number].text} at pos [{number}]")
            continue
        if number != size:
            raise ConversionFailed(f"invalid token id: [{number}] as pos [{size}]")
        size += 1
        yield Piece(text, _ADDED_SCORE, TokenType.USER_DEFINED)


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


def _vocabulary(vocab: dict[str, Any], added: list[_AddedToken]) -> dict[int, tuple[str, int]]:
    """Texts and types of the tokens by id."""
    by_id: dict[int, tuple[str, int]] = {}
    for text, number in vocab.items():
        if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < MAX_TOKENS:
            raise ConversionFailed(f"parse tokenizer.json: bad id {number!r:.80} of token {text!r:.80}")
        by_id[number] = (text, TokenType.NORMAL)
    for token in added:
        by_id[token.id] = (token.content, TokenType.CONTROL if token.special else TokenType.USER_DEFINED)
    return by_id


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
