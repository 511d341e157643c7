"""A llama.cpp source tree: the part of it that is built, copied, unpacked and told from any other."""

from __future__ import annotations

import hashlib
import shutil
import tarfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

PARTS = (
    *("CMakeLists.txt", "LICENSE", "cmake", "common", "ggml", "include", "licenses"),
    *("scripts", "src", "tools", "vendor"),
)
"""What of the tree the build reads; models, tests and documents are left where they are."""


def is_llama_cpp(root: Path) -> bool:
    """Whether ``root`` looks like the top of such a tree."""
    return all((root / name).exists() for name in ("CMakeLists.txt", "ggml/CMakeLists.txt", "tools/server"))


def digest(root: Path) -> str:
    """SHA-256 over the names and contents of the files that are built, in the order of their names."""
    total = hashlib.sha256()
    for path in sorted(_files(root), key=lambda path: path.relative_to(root).as_posix()):
        with path.open("rb") as file:
            content = hashlib.file_digest(file, "sha256").hexdigest()
        total.update(f"{content}  {path.relative_to(root).as_posix()}\n".encode())
    return total.hexdigest()


def copy(root: Path, into: Path) -> None:
    """Copy the part that is built."""
    for path in _files(root):
        target = into / path.relative_to(root)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, target)


def unpack(archive: Path, into: Path, *, folder: str) -> None:
    """Unpack the part that is built from ``<any>/<folder>/`` of a gzipped tar file.

    Only plain files are taken, so nothing can be written outside ``into``.
    """
    with tarfile.open(archive, "r:gz") as tar:
        for member in tar:
            parts = PurePosixPath(member.name).parts
            wanted = member.isreg() and parts[1:2] == (folder,) and parts[2:3] and parts[2] in PARTS
            if not wanted or ".." in parts:
                continue
            target = into.joinpath(*parts[2:])
            target.parent.mkdir(parents=True, exist_ok=True)
            source = tar.extractfile(member)
            assert source is not None  # it is a plain file
            with source, target.open("wb") as file:
                shutil.copyfileobj(source, file)
            target.chmod(0o755 if member.mode & 0o100 else 0o644)


def _files(root: Path) -> Iterator[Path]:
    for part in PARTS:
        path = root / part
        if path.is_file() and not path.is_symlink():
            yield path
        elif path.is_dir():
            yield from (file for file in path.rglob("*") if file.is_file() and not file.is_symlink())
