"""Tables as the command line draws them: no rules, columns four spaces apart, blanks up to the end."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, repeat, zip_longest

from orchestrator.cli.cells import cells

Row = Sequence[str]

_GAP = 4
_LIMIT = 30
_FURTHER = 2


def table(header: Row, rows: Sequence[Row]) -> str:
    """A table with column titles. Scripts cut it at columns, so the blanks at the ends of lines stay."""
    widths = _widths([header, *rows], _LIMIT)
    head = (" " * _GAP).join(_padded(cell, width) for cell, width in zip(header, widths, strict=False))
    return f"{head} \n{block(rows, widths=widths)}"


def block(
    rows: Sequence[Row], *, indent: int = 0, limit: int = _LIMIT, widths: Sequence[int] | None = None
) -> str:
    """Rows without a header. Cells wider than ``limit`` are wrapped at blanks."""
    widths = widths or _widths(rows, limit)
    return "".join(_drawn(row, widths, indent=indent, limit=limit) for row in rows)


def _drawn(row: Row, widths: Sequence[int], *, indent: int, limit: int) -> str:
    """The lines of one row; those behind the first are set in, if there is room."""
    lines = zip_longest(*(_wrap(cell, limit) for cell in row), fillvalue="")
    margins = chain([indent], repeat(indent + _FURTHER if indent else 0))
    return "".join(
        f"{' ' * margin}{_line(line, widths)}\n" for margin, line in zip(margins, lines, strict=False)
    )


def _line(row: Row, widths: Sequence[int]) -> str:
    return "".join(_padded(cell, width + _GAP) for cell, width in zip(row, widths, strict=False))


def _widths(rows: Sequence[Row], limit: int) -> list[int]:
    return [max(_width(cell, limit) for cell in column) for column in zip_longest(*rows, fillvalue="")]


def _width(cell: str, limit: int) -> int:
    """What a column needs for a cell: all of the limit, if it is wrapped."""
    return max(min(cells(cell), limit), *map(cells, _wrap(cell, limit)))


def _padded(text: str, width: int) -> str:
    return text + " " * (width - cells(text))


def _wrap(text: str, limit: int) -> list[str]:
    """The lines of a text, with as little left over in all but the last as can be; no word is cut.

    The squares of what is left over are summed up, so a line may end early for the sake of the next.
    """
    words = text.split(" ")
    lengths = [cells(word) for word in words]
    limit = max(limit, *lengths)
    ends = _line_ends(lengths, limit)
    lines, start = [], 0
    while start < len(words):
        lines.append(" ".join(words[start : ends[start]]))
        start = ends[start]
    return lines


def _line_ends(lengths: Sequence[int], limit: int) -> list[int]:
    """For each word: where a line that begins with it ends, at best."""
    count = len(lengths)
    ends, costs = [count] * count, [0] * count
    for start in reversed(range(count)):
        length, best = lengths[start], None
        for end in range(start + 1, count + 1):
            if length > limit:
                break
            if end == count:  # the last line may be as short as it is
                best, ends[start] = 0, count
                break
            cost = (limit - length) ** 2 + costs[end]
            if best is None or cost < best:
                best, ends[start] = cost, end
            length += 1 + lengths[end]
        costs[start] = best or 0
    return ends
