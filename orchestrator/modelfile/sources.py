"""The files that FROM, ADAPTER and DRAFT mean: paths, and what is taken from a directory.

Source: ``modelfile`` §4.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from orchestrator.modelfile.content import Content, content_of
from orchestrator.modelfile.errors import InvalidModelfile


@dataclass(frozen=True, slots=True)
class _Weights:
    """One way to store weights: the files' pattern, what they must contain, further files below."""

    pattern: str
    content: Content | None = None
    nested_pattern: str | None = None


_ADAPTER_WEIGHTS = (_Weights("adapter_model.safetensors"), _Weights("adapters.safetensors"))
_WEIGHTS = (
    _Weights("model*.safetensors", nested_pattern="*/model*.safetensors"),
    _Weights("consolidated*.safetensors"),
    _Weights("pytorch_model*.bin", Content.ZIP),
    _Weights("consolidated*.pth", Content.ZIP),
    _Weights("*.gguf", Content.BINARY),
    _Weights("*.bin", Content.BINARY),
)
_TEXT_PATTERNS = ("*.json", "*/*.json", "chat_template.jinja")
_TOKENIZER_PATTERNS = ("tokenizer.model", "*/tokenizer.model")


def resolved(text: str, directory: Path) -> Path:
    """The path that ``text`` means in a Modelfile of ``directory``, without dots; it need not exist."""
    if text.startswith("~"):
        path = _below_home(text)
    elif text.startswith(("/", "\\")):
        path = Path(text)
    else:
        path = directory / text
    return Path(os.path.normpath(path))


def files_of(path: Path, *, adapter: bool = False) -> tuple[Path, ...]:
    """The files to upload for ``path``: itself, or those of a directory that matter, links resolved.

    Raises ``InvalidModelfile``, and ``OSError`` if ``path`` is not there.
    """
    if not path.is_dir():
        path.stat()
        return (path,)
    directory = path.resolve()
    files = {
        *_weights(directory, (*_ADAPTER_WEIGHTS, *_WEIGHTS) if adapter else _WEIGHTS),
        *_texts(directory),
        *_tokenizer(directory),
    }
    return tuple(sorted(files))


def _weights(directory: Path, ways: tuple[_Weights, ...]) -> list[Path]:
    for way in ways:
        files = _matches(directory, way.pattern)
        if files and all(way.content in (None, content_of(file)) for file in files):
            return files + (_matches(directory, way.nested_pattern) if way.nested_pattern else [])
    raise InvalidModelfile(
        "no Modelfile or safetensors files found",
        hint=f"{directory} has no file named like {', '.join(way.pattern for way in ways)}",
    )


def _texts(directory: Path) -> Iterator[Path]:
    for pattern in _TEXT_PATTERNS:
        for file in _matches(directory, pattern):
            if (content := content_of(file)) is not Content.TEXT:
                raise InvalidModelfile(f"invalid content type: expected {content} for {file}")
            yield file


def _tokenizer(directory: Path) -> list[Path]:
    for pattern in _TOKENIZER_PATTERNS:
        files = [file for file in _matches(directory, pattern) if content_of(file) is Content.BINARY]
        if files:
            return files
    return []


def _matches(directory: Path, pattern: str) -> list[Path]:
    """The files that match, under the names their links lead to, which must not lead out of ``directory``."""
    files = (_inside(directory, match) for match in sorted(directory.glob(pattern)))
    return [file for file in files if file.is_file()]


def _inside(directory: Path, match: Path) -> Path:
    # unlike ``resolve`` this is an error of the system for links in a circle
    file = Path(os.path.realpath(match, strict=True))
    if file.is_relative_to(directory):
        return file
    message = f"insecure path: {os.path.relpath(file, directory)}"
    if ".cache" in message:
        message += "\n\nUse --local-dir <dir> when downloading model to disable caching"
    raise InvalidModelfile(message, hint=f"{match} leads out of {directory}")


def _below_home(text: str) -> Path:
    path = os.path.expanduser(text)  # noqa: PTH111  # says by its answer whether the user is known
    if path == text:
        user = text[1:].partition("/")[0]
        raise InvalidModelfile(f"failed to find user '{user}': user: unknown user {user}")
    return Path(path)
