"""Converting the folder of a Hugging Face model to a GGUF file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from orchestrator.create.convert.config import Config
from orchestrator.create.convert.errors import ConversionFailed
from orchestrator.create.convert.folder import ModelFolder


def convert_directory(
    files: Mapping[str, Path], out: Path, on_progress: Callable[[int, int], None] = lambda done, total: None
) -> None:
    """Convert the model of ``files`` (name in the folder → file) to the GGUF file ``out``.

    Runs for seconds to minutes, so it belongs into a thread; ``out`` appears only when it is complete.
    ``on_progress`` is called there with the bytes written and those to be written; what it raises ends the
    conversion. Raises ``ConversionFailed`` and ``OSError``.
    """
    # numpy and the writer take a quarter of a second to load, and the daemon starts without them
    from orchestrator.create.convert.registry import converter_of
    from orchestrator.create.convert.writer import write_gguf

    folder = ModelFolder(files)
    values = folder.object("config.json")
    architecture = _architecture(values)
    content = converter_of(architecture)(folder, Config(values, architecture))
    try:
        write_gguf(out, content, on_progress)
    except UnicodeEncodeError as error:  # JSON can name halves of characters
        raise ConversionFailed(f"a token or name is not text: {error.object!r:.80}") from error


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
