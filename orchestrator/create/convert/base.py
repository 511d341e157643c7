"""What converters give: the content of a GGUF file, before it is written."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from orchestrator.create.convert.config import Config
    from orchestrator.create.convert.folder import ModelFolder


@dataclass(frozen=True, slots=True)
class Uints:
    """An array that is stored as u32 rather than i32."""

    values: tuple[int, ...]


MetadataValue = (
    bool | int | float | str | Sequence[bool] | Sequence[int] | Sequence[float] | Sequence[str] | Uints
)
"""Stored as bool, u32, f32 or string, and as arrays of bool, i32, f32, strings or u32."""

StoredType = Literal["F32", "F16", "BF16", "MXFP4"]


@dataclass(frozen=True, slots=True)
class OutputTensor:
    """A tensor to be written. Its values are read only when its turn comes."""

    name: str
    shape: tuple[int, ...]
    """Outermost dimension first, as numpy counts."""
    stored: StoredType
    read: Callable[[], NDArray[Any]]
    """The values in the stored type; BF16 as the 16-bit integers of its bits, MXFP4 as its bytes."""
    from_fp8: bool = False
    """The checkpoint has it in FP8."""
    stacked: bool = False
    """It was put together from tensors of single experts."""


@dataclass(frozen=True, slots=True)
class GgufContent:
    """One GGUF file. Keys of the architecture itself lack its prefix."""

    architecture: str
    metadata: Mapping[str, MetadataValue]
    tensors: Sequence[OutputTensor]


class Converter(Protocol):
    """Turns the folder of a model of one architecture into a GGUF file. Raises ``ConversionFailed``."""

    def __call__(self, folder: ModelFolder, config: Config) -> GgufContent: ...
