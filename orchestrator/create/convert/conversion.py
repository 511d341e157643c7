"""Converting the folder of a Hugging Face model to a GGUF file."""

from __future__ import annotations

import struct
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.create.convert.config import Config
from orchestrator.create.convert.errors import ConversionFailed
from orchestrator.create.convert.folder import ModelFolder

if TYPE_CHECKING:
    from orchestrator.create.convert.base import GgufContent
    from orchestrator.files.gguf import GgufConfig

Conversion = Generator[int, None, None]
"""Work that tells after each tensor how many bytes are written. Closed before its end it leaves nothing."""


def convert_directory(files: Mapping[str, Path], out: Path) -> Conversion:
    """Convert the model of ``files`` (name in the folder → file) to the GGUF file ``out``.

    Takes seconds to minutes, so it belongs into a thread; ``out`` appears only when it is complete. Raises
    ``ConversionFailed`` and ``OSError``.
    """
    # numpy and the writer take a quarter of a second to load, and the daemon starts without them
    from orchestrator.create.convert.registry import converter_of

    folder = ModelFolder(files)
    values = folder.object("config.json")
    architecture = _architecture(values)
    content = converter_of(architecture)(folder, Config(values, architecture))
    yield from _written(out, content)


def convert_adapter_directory(base: GgufConfig, files: Mapping[str, Path], out: Path) -> Conversion:
    """Convert the LoRA adapter of ``files``, for a model with the metadata ``base``, likewise."""
    from orchestrator.create.convert.adapter import convert_adapter

    yield from _written(out, convert_adapter(ModelFolder(files), base))


def _written(out: Path, content: GgufContent) -> Conversion:
    from orchestrator.create.convert.writer import write_gguf

    try:
        yield from write_gguf(out, content)
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
