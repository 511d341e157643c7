"""The files of a model's folder: none is read whole that is larger than anything that should be."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.create.convert.errors import ConversionFailed
from orchestrator.create.convert.folder import LARGEST_FILE_BYTES, ModelFolder

READERS = (
    ModelFolder.json,
    ModelFolder.object,
    ModelFolder.object_if_there,
    ModelFolder.content,
    ModelFolder.text,
)


@pytest.mark.parametrize("read", READERS)
def test_a_file_too_large_to_be_read_whole_is_refused(
    tmp_path: Path, read: Callable[[ModelFolder, str], object]
) -> None:
    path = tmp_path / "large"
    with path.open("wb") as file:
        file.truncate(LARGEST_FILE_BYTES + 1)
    with pytest.raises(ConversionFailed, match=f"read large: {LARGEST_FILE_BYTES + 1} bytes exceed maximum"):
        read(ModelFolder({"large": path}), "large")


@pytest.mark.parametrize("read", [*READERS[:2], *READERS[3:]])
def test_a_file_that_is_not_there_is_named(read: Callable[[ModelFolder, str], object]) -> None:
    with pytest.raises(ConversionFailed, match="open config.json: no such file or directory"):
        read(ModelFolder({}), "config.json")


def test_a_text_is_what_stands_in_its_file(tmp_path: Path) -> None:
    path = tmp_path / "chat_template.jinja"
    path.write_bytes(b"{{ a }}\r\n\xff")
    assert ModelFolder({path.name: path}).text(path.name) == "{{ a }}\r\n\ufffd"
