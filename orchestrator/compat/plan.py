"""A view: the file that a stock engine would like to read instead of the published one.

A view is planned from the header alone, and can be looked at, before anything is written. Its tensors are
stretches of the source where the numbers stay as they are, and work to be done where they do not.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, TypeAlias

from orchestrator.files.ggml import packed_bytes
from orchestrator.files.gguf import TensorInfo


@dataclass(frozen=True, slots=True)
class Stretch:
    """Bytes of the source."""

    offset: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Kept:
    """A value of the source, as it is: where type and value stand, without the key."""

    span: Stretch


@dataclass(frozen=True, slots=True)
class Given:
    """A value of our own; ``kind`` as in ``GgufHeader.types``."""

    kind: str
    value: Any


Value: TypeAlias = Kept | Given


class Operation(Enum):
    """What can be done to numbers; ``compat.arithmetic`` does it."""

    PROMOTE = "promote"
    """As F32, one tensor after the other."""
    PLUS_ONE = "plus_one"
    """As F32, each one larger."""
    FRAME = "frame"
    """The convolution of one frame out of that of two: ``number``, and how many ``channels`` there are."""
    INTERLEAVE = "interleave"
    """Rows of the two halves of each of ``heads`` in turn."""
    RESAMPLE = "resample"
    """Position embeddings of ``embedding`` channels, for a square of ``side``."""
    ZEROS = "zeros"
    """``count`` of them, as F32."""
    IDENTITY = "identity"
    """A square of ``side`` that changes nothing, as F32."""


@dataclass(frozen=True, slots=True)
class Computed:
    """Data that is made of tensors of the source."""

    operation: Operation
    inputs: tuple[TensorInfo, ...] = ()
    arguments: Mapping[str, int] = field(default_factory=dict)


Data: TypeAlias = tuple[Stretch, ...] | Computed


@dataclass(frozen=True, slots=True)
class PlannedTensor:
    """A tensor of a view."""

    name: str
    shape: tuple[int, ...]
    """Innermost dimension first."""
    type: str
    data: Data

    @property
    def elements(self) -> int:
        return math.prod(self.shape)

    @property
    def size_bytes(self) -> int:
        return packed_bytes(self.type, self.elements)

    @property
    def stretch(self) -> Stretch | None:
        """Where the whole tensor stands in the source, if it stands there in one piece."""
        match self.data:
            case (Stretch() as only,):
                return only
            case _:
                return None


@dataclass(frozen=True, slots=True)
class FilePlan:
    """One file of a view."""

    metadata: Mapping[str, Value]
    tensors: tuple[PlannedTensor, ...]
    alignment: int

    @property
    def data_bytes(self) -> int:
        """Size of all tensors, paddings left out."""
        return sum(tensor.size_bytes for tensor in self.tensors)


@dataclass(frozen=True, slots=True)
class ViewPlan:
    """What takes the place of one published file."""

    text: FilePlan | None = None
    """Stands for the weights; ``None`` in the view of a separate projector."""
    projector: FilePlan | None = None
