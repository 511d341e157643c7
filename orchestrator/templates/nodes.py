"""The syntax tree of a template.

::

    Tree    = text | output | if | with | range | call of a template | break | continue, in a list
    Pipe    = declared variables, then commands joined by |
    Command = operands: a value, or a function with its arguments
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Dot:
    """``.``"""


@dataclass(frozen=True, slots=True)
class Nil:
    """``nil``"""


@dataclass(frozen=True, slots=True)
class Literal:
    """A boolean, a number or a string."""

    value: bool | int | float | str


@dataclass(frozen=True, slots=True)
class Field:
    """``.A.B``"""

    path: tuple[str, ...]
    line: int


@dataclass(frozen=True, slots=True)
class Variable:
    """``$x`` or ``$x.A``; the name includes the dollar."""

    name: str
    path: tuple[str, ...]
    line: int


@dataclass(frozen=True, slots=True)
class Chain:
    """Fields of a parenthesised pipeline or of a function without arguments: ``(index .A 0).B``."""

    base: Operand
    path: tuple[str, ...]
    line: int


@dataclass(frozen=True, slots=True)
class Function:
    """The name of a function."""

    name: str
    line: int


@dataclass(frozen=True, slots=True)
class Command:
    """One stage of a pipeline."""

    operands: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Pipe:
    """``$x := a | b``"""

    commands: tuple[Command, ...]
    line: int
    variables: tuple[str, ...] = ()
    assigns: bool = False
    """The variables exist already (``=``)."""


Operand = Dot | Nil | Literal | Field | Variable | Chain | Function | Pipe


@dataclass(frozen=True, slots=True)
class Text:
    """What is written as it stands."""

    text: str


@dataclass(frozen=True, slots=True)
class Output:
    """``{{ pipe }}``: written, unless it sets a variable."""

    pipe: Pipe


@dataclass(frozen=True, slots=True)
class If:
    """``{{ if }}``; an ``else if`` is an ``If`` alone in ``otherwise``."""

    pipe: Pipe
    body: Block
    otherwise: Block | None = None


@dataclass(frozen=True, slots=True)
class With:
    """``{{ with }}``"""

    pipe: Pipe
    body: Block
    otherwise: Block | None = None


@dataclass(frozen=True, slots=True)
class Range:
    """``{{ range }}``"""

    pipe: Pipe
    body: Block
    otherwise: Block | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """``{{ template "name" pipe }}``"""

    name: str
    pipe: Pipe


@dataclass(frozen=True, slots=True)
class Break:
    """``{{ break }}``"""


@dataclass(frozen=True, slots=True)
class Continue:
    """``{{ continue }}``"""


Node = Text | Output | If | With | Range | Call | Break | Continue
Branch = If | With | Range
Block = tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Tree:
    """A template and what it defines; the main part has the empty name as well."""

    main: Block
    defined: Mapping[str, Block]
