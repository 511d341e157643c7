"""What can go wrong between a pin and a build.

::

    EngineBuildError      root
    ├── UnknownPreset     there is no build of that name (``build``)
    ├── MalformedPin      LLAMA_CPP_VERSION does not say what to build
    ├── NoSource          no way to the source worked
    ├── TamperedSource    what came is not what was pinned
    ├── BrokenPatch       a patch of ours does not fit the source
    ├── MissingTool       no CMake, no compiler
    └── BuildFailed       CMake or the compiler said no
"""

from __future__ import annotations

from orchestrator.errors import OrchestratorError


class EngineBuildError(OrchestratorError):
    """There is no engine at the end of this; nothing half done is left where engines are looked for."""


class MalformedPin(EngineBuildError):
    """The pin, or the project around it, cannot be read."""

    hint = "restore llama/ and CMakePresets.json from the repository"


class NoSource(EngineBuildError):
    """None of the ways to the source worked."""


class TamperedSource(EngineBuildError):
    """What came is not what was pinned. It has been thrown away."""

    hint = (
        "do not build it; try another network, or check the checksums in llama/LLAMA_CPP_VERSION "
        "as llama/README.md says if you have just changed the pin"
    )


class BrokenPatch(EngineBuildError):
    """A patch does not fit the source."""

    hint = (
        "the patch was made for another llama.cpp: make it anew for this one, as llama/README.md says, "
        "or go back to the pin it was made for"
    )


class MissingTool(EngineBuildError):
    """A program that building needs is not there."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


class BuildFailed(EngineBuildError):
    """CMake or the compiler said no."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint
