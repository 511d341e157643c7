"""The source of the pinned llama.cpp, checked and patched.

It comes from the first of: the folder ``ORCH_LLAMA_CPP_SOURCE`` names; the upstream tag; the source
distribution of a package that holds the same tree, where git is not there or reaches nothing. Whatever way it
came, the files that are built must have the pinned checksum; only a folder somebody named is taken as it is.
It is copied, so that patches never change it.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from orchestrator.llama_cpp import tree
from orchestrator.llama_cpp.errors import NoSource, TamperedSource
from orchestrator.llama_cpp.patches import apply_all
from orchestrator.llama_cpp.pin import Pin
from orchestrator.llama_cpp.project import Project

VARIABLE = "ORCH_LLAMA_CPP_SOURCE"

_STAMP = ".orch-source"
_FOLDER = "llama.cpp"
"""Where the tree is inside the source distribution."""
_ASK_PATIENCE_S = 30
_FETCH_PATIENCE_S = 900
_SLOW = ("-c", "http.lowSpeedLimit=1000", "-c", "http.lowSpeedTime=30", "-c", "core.autocrlf=false")
_PIP_MISMATCH = "DO NOT MATCH THE HASHES"

Say = Callable[[str], None]


class _Unreachable(Exception):
    """This way to the source does not work here; str() says why."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a tree came from."""

    kind: str
    """``git``, ``sdist`` or ``folder``."""
    patches: tuple[str, ...]
    """Names of the patches in it."""


def named_folder(environ: Mapping[str, str]) -> Path | None:
    """The source somebody named. Raises ``NoSource`` when it is none."""
    if not (text := environ.get(VARIABLE, "").strip()):
        return None
    folder = Path(text).expanduser().absolute()
    if not tree.is_llama_cpp(folder):
        raise _no_source(f"{VARIABLE}={text}: there is no llama.cpp source tree")
    return folder


def prepare(project: Project, into: Path, *, downloads: Path, environ: Mapping[str, str], say: Say) -> Origin:
    """Put the tree to build at ``into``, which is there whole or not at all.

    A tree that is there already is kept when it was prepared from the same pin and patches. Raises
    ``NoSource``, ``TamperedSource`` or ``BrokenPatch``.
    """
    folder = named_folder(environ)
    stamp = _stamp(project, folder)
    if kind := _prepared(into, stamp):
        return Origin(kind, tuple(path.name for path in project.patches))
    scratch = into.with_name(f"{into.name}.partial")
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    try:
        if folder is not None:
            say(f"source: {folder}")
            tree.copy(folder, scratch)
            kind = "folder"
        else:
            kind = _fetch(project.pin, scratch, downloads, environ, say)
        if applied := apply_all(scratch, project.patches):
            say(f"patches: {', '.join(applied)}")
        (scratch / _STAMP).write_text(f"{stamp} {kind}\n")
        shutil.rmtree(into, ignore_errors=True)
        scratch.rename(into)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return Origin(kind, tuple(path.name for path in project.patches))


def _stamp(project: Project, folder: Path | None) -> str:
    """What a prepared tree was made of."""
    total = hashlib.sha256((tree.digest(folder) if folder else project.pin.tree).encode())
    for patch in project.patches:
        total.update(patch.read_bytes())
    return total.hexdigest()


def _prepared(into: Path, stamp: str) -> str:
    """How the tree at ``into`` came there, if it is the one wanted."""
    try:
        found, kind = (into / _STAMP).read_text().split()
    except (OSError, ValueError):
        return ""
    return kind if found == stamp else ""


def _fetch(pin: Pin, into: Path, downloads: Path, environ: Mapping[str, str], say: Say) -> str:
    """Fetch the pinned tree; how it came."""
    archive = downloads / pin.archive_name
    reasons = []
    for kind, way in (("git", _from_git), ("sdist", _from_sdist)):
        if kind == "git" and _is_intact(archive, pin):
            continue  # the same files, fetched before
        try:
            way(pin, into, archive, environ, say)
        except _Unreachable as reason:
            say(f"source: {reason}")
            reasons.append(str(reason))
            continue
        _check(pin, into, kind)
        return kind
    raise _no_source(f"llama.cpp {pin.tag} cannot be fetched: {'; '.join(reasons)}", archive)


def _from_git(pin: Pin, into: Path, _archive: Path, environ: Mapping[str, str], say: Say) -> None:
    git = shutil.which("git", path=environ.get("PATH"))
    if git is None:
        raise _Unreachable("there is no git")
    asked = _run([git, *_SLOW, "ls-remote", "--tags", pin.git, pin.tag], environ, _ASK_PATIENCE_S)
    if asked.returncode:
        raise _Unreachable(f"{pin.git} does not answer ({_reason(asked.stderr)})")
    if not asked.stdout.strip():
        raise _Unreachable(f"{pin.git} has no tag {pin.tag}")
    say(f"source: tag {pin.tag} of {pin.git}")
    clone = into.with_name(f"{into.name}.git")
    shutil.rmtree(clone, ignore_errors=True)
    try:
        command = [git, *_SLOW, "clone", "--quiet", "--depth", "1", "--branch", pin.tag, pin.git, str(clone)]
        done = _run(command, environ, _FETCH_PATIENCE_S)
        if done.returncode:
            raise _Unreachable(f"git clone of {pin.git} failed ({_reason(done.stderr)})")
        tree.copy(clone, into)
    finally:
        shutil.rmtree(clone, ignore_errors=True)


def _from_sdist(pin: Pin, into: Path, archive: Path, environ: Mapping[str, str], say: Say) -> None:
    if not _is_intact(archive, pin):
        say(f"source: {pin.requirement} from the package index")
        _download(pin, archive, environ)
    tree.unpack(archive, into, folder=_FOLDER)


def _download(pin: Pin, archive: Path, environ: Mapping[str, str]) -> None:
    """Fetch the source distribution with pip, which checks it before it looks inside."""
    scratch = archive.with_suffix(".partial")
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    try:
        wanted = scratch / "requirements.txt"
        wanted.write_text(f"{pin.requirement} --hash=sha256:{pin.archive}\n")
        command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", "download"]
        command += ["--quiet", "--retries", "1", "--no-deps", "--no-binary", pin.distribution]
        command += ["--require-hashes", "--requirement", str(wanted), "--dest", str(scratch)]
        done = _run(command, environ, _FETCH_PATIENCE_S)
        if _PIP_MISMATCH in done.stderr:
            raise TamperedSource(f"{pin.requirement}: the archive does not have the pinned checksum")
        found = next(scratch.glob("*.tar.gz"), None)
        if done.returncode or found is None:
            raise _Unreachable(f"pip cannot fetch {pin.requirement} ({_reason(done.stderr)})")
        if _sha256(found) != pin.archive:
            raise TamperedSource(f"{pin.requirement}: the archive does not have the pinned checksum")
        found.replace(archive)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _check(pin: Pin, root: Path, kind: str) -> None:
    if tree.digest(root) != pin.tree:
        raise TamperedSource(f"llama.cpp {pin.tag} from {kind}: its files do not have the pinned checksum")


def _is_intact(archive: Path, pin: Pin) -> bool:
    """Whether an archive is there and is the one; another is thrown away."""
    if not archive.is_file():
        return False
    if _sha256(archive) == pin.archive:
        return True
    archive.unlink()
    return False


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _run(
    command: Sequence[str], environ: Mapping[str, str], patience_s: float
) -> subprocess.CompletedProcess[str]:
    """Run a program that must not ask anybody anything."""
    quiet = {**environ, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    try:
        return subprocess.run(
            command,
            env=quiet,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=patience_s,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise _Unreachable(f"{Path(command[0]).name} got no answer within {patience_s:.0f} s") from error


def _reason(text: str) -> str:
    """The line in which git or pip says what went wrong."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if line.startswith(("fatal:", "ERROR:"))] or lines
    return telling[-1] if telling else "it did not say why"


def _no_source(message: str, archive: Path | None = None) -> NoSource:
    error = NoSource(message)
    ways = [f"set {VARIABLE} to a folder with its source", "try again with a network"]
    if archive is not None:
        ways.append(f"put the source distribution named in llama/LLAMA_CPP_VERSION to {archive}")
    error.hint = "; or ".join(ways)
    return error
