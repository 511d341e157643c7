"""The CMake project that builds the engine, and what makes one build of it differ from another."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from orchestrator.llama_cpp.errors import MalformedPin
from orchestrator.llama_cpp.pin import Pin

_PACKAGE = Path(__file__).resolve().parents[1]
_FOLDERS = (_PACKAGE / "engine_project", _PACKAGE.parent)
"""Where the project is: packed into an installed package, or in a checkout."""
_CPU_INFO = Path("/proc/cpuinfo")
_THIS_PROCESSOR = "native"
"""The preset whose result runs only on processors like the one that built it."""


@dataclass(frozen=True, slots=True)
class _Preset:
    """One way to build."""

    name: str
    use: str
    system: str
    """The only system it is for, by the name Python has for it; empty if it is for all."""


@dataclass(frozen=True)
class Project:
    """The folder with ``CMakePresets.json`` and ``llama/``."""

    root: Path

    @cached_property
    def pin(self) -> Pin:
        """What is built. Raises ``MalformedPin``."""
        return Pin.parse(_text(self.root / "llama" / "LLAMA_CPP_VERSION"))

    @cached_property
    def presets(self) -> Mapping[str, str]:
        """Names of the builds there can be on this system, with what each is for. Raises ``MalformedPin``."""
        return {
            preset.name: preset.use for preset in self._presets if preset.system in ("", platform.system())
        }

    @property
    def presets_elsewhere(self) -> Mapping[str, str]:
        """Names of the other builds, with the system that each is for. Raises ``MalformedPin``."""
        return {preset.name: preset.system for preset in self._presets if preset.name not in self.presets}

    @property
    def _presets(self) -> Iterator[_Preset]:
        try:
            for preset in json.loads(_text(self.root / "CMakePresets.json"))["configurePresets"]:
                if not preset.get("hidden"):
                    yield _Preset(
                        preset["name"], preset["displayName"], preset.get("condition", {}).get("rhs", "")
                    )
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise MalformedPin(f"CMakePresets.json cannot be read: {error!r}") from error

    @property
    def patches(self) -> tuple[Path, ...]:
        """Our changes, in the order in which they apply."""
        return tuple(sorted((self.root / "llama" / "patches").glob("*.patch")))

    def key(self, preset: str) -> str:
        """Name of a build of ``preset``."""
        return f"{self.pin.tag}-{preset}-{self.recipe(preset)[:12]}"

    def recipe(self, preset: str) -> str:
        """SHA-256 of all that decides what comes out: pin, patches, options and kind of machine."""
        total = hashlib.sha256()
        for path in sorted(self._ingredients()):
            total.update(f"\0{path.relative_to(self.root).as_posix()}\0".encode() + path.read_bytes())
        for fact in (preset, platform.system(), platform.machine()):
            total.update(f"\0{fact}".encode())
        if preset == _THIS_PROCESSOR:
            total.update(_processor().encode())
        return total.hexdigest()

    def _ingredients(self) -> list[Path]:
        llama = self.root / "llama"
        files = [self.root / "CMakeLists.txt", self.root / "CMakePresets.json"]
        files += [llama / "CMakeLists.txt", llama / "LLAMA_CPP_VERSION"]
        return [*files, *(llama / "cmake").glob("*.cmake"), *self.patches]


def find_project() -> Project | None:
    """The project that came with this package, if it did."""
    return next((Project(root) for root in _FOLDERS if (root / "llama/LLAMA_CPP_VERSION").is_file()), None)


def _processor() -> str:
    """The instructions this processor has, as far as the system tells."""
    try:
        with _CPU_INFO.open() as lines:
            return next((line for line in lines if line.startswith(("flags", "Features"))), "")
    except OSError:
        return platform.processor()


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise MalformedPin(f"{path} cannot be read: {error.strerror}") from error
