"""Tables as the command line draws them: no rules, columns four spaces apart, blanks up to the end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest

from orchestrator.cli.cells import cells

Row = Sequence[str]

_GAP = 4


def table(header: Row, rows: Sequence[Row]) -> str:
    """A table with column titles. Scripts cut it at columns, so the blanks at the ends of lines stay."""
    widths = _widths([header, *rows])
    head = (" " * _GAP).join(_padded(cell, width) for cell, width in zip(header, widths, strict=False))
    return f"{head} \n{block(rows, widths=widths)}"


def block(
    rows: Sequence[Row], *, indent: int = 0, limit: int = 30, widths: Sequence[int] | None = None
) -> str:
    """Rows without a header. Cells wider than ``limit`` are wrapped at blanks."""
    lines = [line for row in rows for line in _wrapped(row, limit)]
    widths = widths or _widths(lines)
    return "".join(f"{' ' * indent}{_line(line, widths)}\n" for line in lines)


def _line(row: Row, widths: Sequence[int]) -> str:
    return "".join(_padded(cell, width + _GAP) for cell, width in zip(row, widths, strict=False))


def _widths(rows: Sequence[Row]) -> list[int]:
    return [max(map(cells, column)) for column in zip_longest(*rows, fillvalue="")]


def _padded(text: str, width: int) -> str:
    return text + " " * (width - cells(text))


def _wrapped(row: Row, limit: int) -> Iterator[Row]:
    columns = [_wrap(cell, limit) for cell in row]
    return (list(line) for line in zip_longest(*columns, fillvalue=""))


def _wrap(text: str, limit: int) -> list[str]:
    if cells(text) <= limit:
        return [text]
    lines = [""]
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}" if lines[-1] else word
        if lines[-1] and cells(longer) > limit:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines
