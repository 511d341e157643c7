"""Names of models: ``[scheme://][host/][namespace/]model[:tag]``.

=========  ======  =======================  ==================  ======================
part       length  first character          other characters    default
=========  ======  =======================  ==================  ======================
host       1-350   ``A-Z a-z 0-9 _``        those and ``-.:``   ``registry.ollama.ai``
namespace  1-80    the same                 those and ``-``     ``library``
model      1-80    the same                 those and ``-.``    none
tag        1-80    the same                 those and ``-.``    ``latest``
scheme     any     any                      any                 ``https``
=========  ======  =======================  ==================  ======================

A name may end in a source selector (``:cloud``, ``-cloud``, ``:local``), which ``ModelReference`` takes off.
Source: ``store`` §2.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from pathlib import PurePosixPath

from orchestrator.domain.quoting import quoted
from orchestrator.errors import BadRequest

DEFAULT_HOST = "registry.ollama.ai"
DEFAULT_NAMESPACE = "library"
DEFAULT_TAG = "latest"
DEFAULT_SCHEME = "https"

MISSING = "!MISSING!"
"""Stands for the empty side of a separator; no valid part looks like it."""

_GRAMMAR = {
    "host": re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:-]{0,349}"),
    "namespace": re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,79}"),
    "model": re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,79}"),
    "tag": re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,79}"),
}


_FORM = (
    "a name is [host/][namespace/]model[:tag], each part of at most 80 letters, digits and _ - ., "
    "beginning with a letter, a digit or _"
)
_SHOWN = 120


class InvalidName(BadRequest):
    """A text that names no model: ``part`` of ``text`` is ``value``, which cannot be."""

    def __init__(self, text: str, part: str, value: str) -> None:
        super().__init__("invalid model name")
        self.text, self.part, self.value = text, part, value
        found = f"is {_shown(value)}" if value not in ("", MISSING) else "is missing"
        self.advice = f"the {part} {found} in {_shown(text)}; {_FORM}"


def _shown(text: str) -> str:
    return repr(text) if len(text) <= _SHOWN else f"{text[:_SHOWN]!r}…"


class InvalidReference(BadRequest):
    """A text with no model in it, or with more than one source selector."""


@dataclass(frozen=True, slots=True)
class NameParts:
    """The parts of a name as they were written; any may be empty or invalid."""

    host: str = ""
    namespace: str = ""
    model: str = ""
    tag: str = ""
    scheme: str = ""

    @classmethod
    def split(cls, text: str) -> NameParts:
        """Cut a text at its separators, without filling in defaults."""
        rest, tag = text, ""
        if text.rfind(":") > text.rfind("/"):
            rest, tag = _cut_last(text, ":")
        if "/" not in rest:
            return cls(model=rest, tag=tag)
        rest, model = _cut_last(rest, "/")
        if "/" not in rest:
            return cls(namespace=rest, model=model, tag=tag)
        rest, namespace = _cut_last(rest, "/")
        scheme, separator, host = rest.partition("://")
        if not separator:
            scheme, host = "", rest
        return cls(host=host, namespace=namespace, model=model, tag=tag, scheme=scheme)

    def merge(self, defaults: NameParts) -> NameParts:
        """These parts, with ``defaults`` where they are empty; the model is never filled in."""
        return NameParts(
            host=self.host or defaults.host,
            namespace=self.namespace or defaults.namespace,
            model=self.model,
            tag=self.tag or defaults.tag,
            scheme=self.scheme or defaults.scheme,
        )

    @property
    def invalid_part(self) -> str | None:
        """The first part that breaks the grammar; empty parts do."""
        for part, grammar in _GRAMMAR.items():
            if not grammar.fullmatch(getattr(self, part)):
                return part
        return None

    def same_as(self, other: NameParts) -> bool:
        """Equal but for case, as the parts of paths are compared; the scheme does not count."""
        return all(_fold(mine) == _fold(theirs) for mine, theirs in zip(self, other, strict=True))

    def __iter__(self) -> Iterator[str]:
        return iter((self.host, self.namespace, self.model, self.tag))

    def __str__(self) -> str:
        host = f"{self.host}/" if self.host else ""
        namespace = f"{self.namespace}/" if self.namespace else ""
        tag = f":{self.tag}" if self.tag else ""
        return f"{host}{namespace}{self.model}{tag}"


DEFAULT_PARTS = NameParts(
    host=DEFAULT_HOST, namespace=DEFAULT_NAMESPACE, tag=DEFAULT_TAG, scheme=DEFAULT_SCHEME
)


@dataclass(frozen=True, slots=True)
class ModelName:
    """A complete and valid name. Two names that differ in the scheme only are the same model."""

    host: str
    namespace: str
    model: str
    tag: str
    scheme: str = field(default=DEFAULT_SCHEME, compare=False)

    def __post_init__(self) -> None:
        parts = NameParts(self.host, self.namespace, self.model, self.tag)
        if (part := parts.invalid_part) is not None:
            raise InvalidName(str(parts), part, getattr(parts, part))

    @classmethod
    @lru_cache(maxsize=256)
    def parse(cls, text: str) -> ModelName:
        """Read a name and fill in the defaults. Raises ``InvalidName``."""
        parts = NameParts.split(text).merge(DEFAULT_PARTS)
        if (part := parts.invalid_part) is not None:
            raise InvalidName(text, part, getattr(parts, part))
        return cls(parts.host, parts.namespace, parts.model, parts.tag, parts.scheme)

    @classmethod
    def from_path(cls, path: PurePosixPath | str) -> ModelName | None:
        """The name of a manifest from its path below ``manifests/``; ``None`` when it names no model."""
        parts = str(path).split("/")
        if len(parts) != 4 or NameParts(*parts).invalid_part is not None:
            return None
        return cls(*parts)

    @property
    def parts(self) -> NameParts:
        return NameParts(self.host, self.namespace, self.model, self.tag, self.scheme)

    @property
    def full(self) -> str:
        """All four parts: ``host/namespace/model:tag``."""
        return f"{self.host}/{self.namespace}/{self.model}:{self.tag}"

    @property
    def short(self) -> str:
        """The shortest text that means this model; the tag is always there."""
        if _fold(self.host) != DEFAULT_HOST:
            return self.full
        if _fold(self.namespace) != DEFAULT_NAMESPACE:
            return f"{self.namespace_model}:{self.tag}"
        return f"{self.model}:{self.tag}"

    @property
    def namespace_model(self) -> str:
        """``namespace/model``: the repository of a registry."""
        return f"{self.namespace}/{self.model}"

    @property
    def path(self) -> PurePosixPath:
        """Where the manifest is, below ``manifests/``."""
        return PurePosixPath(self.host, self.namespace, self.model, self.tag)

    @property
    def base_url(self) -> str:
        """The registry's root: ``scheme://host``."""
        return f"{self.scheme}://{self.host}"

    def same_as(self, other: ModelName) -> bool:
        """Equal but for case: the two name one model of a store."""
        return self.parts.same_as(other.parts)

    def __str__(self) -> str:
        return self.short


class Source(StrEnum):
    """Where a reference asks a model to come from."""

    NONE = ""
    LOCAL = "local"
    CLOUD = "cloud"


@dataclass(frozen=True, slots=True)
class ModelReference:
    """What a client wrote for a model: a name, not yet parsed, and the source it selects."""

    base: str
    source: Source = Source.NONE

    @classmethod
    def parse(cls, text: str) -> ModelReference:
        """Take the selector off. Raises ``InvalidReference`` when empty, or when there are two selectors."""
        trimmed = text.strip()
        if not trimmed:
            raise InvalidReference("model is required")
        base, source = _cut_selector(trimmed)
        if source is not Source.NONE and _cut_selector(base)[1] is not Source.NONE:
            raise InvalidReference(f"use either :local or :cloud, not both: {quoted(trimmed)}")
        return cls(base, source)

    @property
    def name(self) -> ModelName:
        """The name without the selector. Raises ``InvalidName``."""
        return ModelName.parse(self.base)

    @property
    def pull_name(self) -> str:
        """The text that names the stored model: a cloud model is kept as a stub of its own."""
        if self.source is not Source.CLOUD:
            return self.base
        has_tag = self.base.rfind(":") > self.base.rfind("/")
        return f"{self.base}-cloud" if has_tag else f"{self.base}:cloud"


def _cut_last(text: str, separator: str) -> tuple[str, str]:
    before, _, after = text.rpartition(separator)
    return before or MISSING, after or MISSING


def _cut_selector(text: str) -> tuple[str, Source]:
    before, colon, last = text.rpartition(":")
    word = last.strip().lower()
    if not colon or "/" in word:
        return text, Source.NONE
    if word in (Source.CLOUD, Source.LOCAL):
        return before.strip(), Source(word)
    if word.endswith("-cloud"):
        return text.rstrip()[: -len("-cloud")].strip(), Source.CLOUD
    return text, Source.NONE


def _fold(text: str) -> str:
    """One-to-one case folding: ``s`` and ``ſ`` are equal, ``ß`` and ``ss`` are not."""
    return "".join(folded if len(folded := char.casefold()) == 1 else char.lower() for char in text)
