"""Converting the folder of a Hugging Face model to a GGUF file."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.create.convert.config import Config
from orchestrator.create.convert.errors import ConversionFailed
from orchestrator.create.convert.folder import ModelFolder

if TYPE_CHECKING:
    from orchestrator.create.convert.base import GgufContent
    from orchestrator.files.gguf import GgufConfig


Progress = Callable[[int, int], None]


def convert_directory(
    files: Mapping[str, Path], out: Path, on_progress: Progress = lambda done, total: None
) -> None:
    """Convert the model of ``files`` (name in the folder → file) to the GGUF file ``out``.

    Runs for seconds to minutes, so it belongs into a thread; ``out`` appears only when it is complete.
    ``on_progress`` is called there with the bytes written and those to be written; what it raises ends the
    conversion. Raises ``ConversionFailed`` and ``OSError``.
    """
    # numpy and the writer take a quarter of a second to load, and the daemon starts without them
    from orchestrator.create.convert.registry import converter_of

    folder = ModelFolder(files)
    values = folder.object("config.json")
    architecture = _architecture(values)
    content = converter_of(architecture)(folder, Config(values, architecture))
    _write(out, content, on_progress)


def convert_adapter_directory(
    base: GgufConfig,
    files: Mapping[str, Path],
    out: Path,
    on_progress: Progress = lambda done, total: None,
) -> None:
    """Convert the LoRA adapter of ``files``, for a model with the metadata ``base``, likewise."""
    from orchestrator.create.convert.adapter import convert_adapter

    _write(out, convert_adapter(ModelFolder(files), base), on_progress)


def _write(out: Path, content: GgufContent, on_progress: Progress) -> None:
    from orchestrator.create.convert.writer import write_gguf

    try:
        write_gguf(out, content, on_progress)
    except UnicodeEncodeError as error:  # JSON can name halves of characters
        raise ConversionFailed(f"a token or name is not text: {error.object!r:.80}") from error
    except (struct.error, OverflowError) as error:  # sums and products of what stands in the configuration
        raise ConversionFailed(f"a number in the configuration is too large: {error}") from error


def _architecture(config: Mapping[str, object]) -> str:
    match config.get("architectures"):
        case [str(architecture), *_] if architecture:
            return architecture
        case None | []:
            raise ConversionFailed("unknown architecture")
        case other:
            raise ConversionFailed(
                f"parse config.json: architectures must be a list of texts, not {other!r:.80}"
            )
