"""How a package is installed on a system like this one."""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass

_VERBS = {"apt-get": "install", "dnf": "install", "pacman": "-S", "zypper": "install", "apk": "add"}


@dataclass(frozen=True, slots=True)
class PackageManager:
    """A program that installs packages."""

    name: str
    verb: str

    def command(self, packages: str) -> str:
        """The command that installs them, as it is shown in advice."""
        return f"`{self.name} {self.verb} {packages}`"


def package_manager() -> PackageManager | None:
    """The one that this system has."""
    if sys.platform == "darwin":
        return PackageManager("brew", "install")
    return next((PackageManager(name, verb) for name, verb in _VERBS.items() if shutil.which(name)), None)
