"""Text in columns: aligned, fitted to the width, and safe to print whatever a name holds."""

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace

from rich.cells import cell_len, set_cell_size

from tracekit import units

GAP = " "


@dataclass(frozen=True, slots=True)
class Column:
    """Heading of a column; a flexible one is cut, to `minimum`, where a line gets too long.

    Columns that `yields` more are cut to their minimum before others are.
    """

    title: str
    is_right: bool = True
    is_flexible: bool = False
    minimum: int = 0
    yields: int = 0


Spec = tuple[Column, Callable[[SimpleNamespace], str]]
"""A column and how a row makes its cell."""


def label(title: str) -> Column:
    """Left-aligned column that is never cut."""
    return Column(title, is_right=False)


def name(title: str, minimum: int = 8, yields: int = 0) -> Column:
    """Left-aligned column whose cells are cut in the middle where the line gets too long."""
    return Column(title, is_right=False, is_flexible=True, minimum=minimum, yields=yields)


def of(rows: Sequence[SimpleNamespace], spec: Sequence[Spec], width: int) -> list[str]:
    """The heading, then one line per row; a column with nothing in it is left out."""
    made = [(column, [cell(row) for row in rows]) for column, cell in spec]
    filled = [(column, cells) for column, cells in made if not set(cells) <= {"", units.MISSING}]
    columns = [column for column, _ in filled]
    return lines(columns, list(zip(*(cells for _, cells in filled), strict=True)), width)


def lines(columns: Sequence[Column], rows: Sequence[Sequence[str]], width: int) -> list[str]:
    """The heading, then one line per row; no line ends in spaces."""
    cells = [[column.title for column in columns], *([visible(cell) for cell in r] for r in rows)]
    widths = _fit(
        columns, [max(map(cell_len, column)) for column in zip(*cells, strict=True)], width
    )
    return [_line(columns, row, widths) for row in cells]


def visible(text: str) -> str:
    """`text` with every control or other unprintable character written as its escape."""
    return text if text.isprintable() else "".join(map(_visible_character, text))


def shorten(text: str, width: int) -> str:
    """`text` cut in the middle to `width` cells, where it is longer."""
    if cell_len(text) <= width:
        return text
    # Namespace and function lead a C++ name; its tail tells template instances apart.
    tail = width // 4
    head = set_cell_size(text, width - tail - 1).rstrip()
    return f"{head}…{_last_cells(text, tail)}"


def flow(parts: Sequence[str], width: int, gap: str = "   ") -> list[str]:
    """`parts` side by side, on as many lines as they need."""
    found: list[str] = []
    for part in filter(None, parts):
        if found and cell_len(found[-1]) + cell_len(gap) + cell_len(part) <= width:
            found[-1] += gap + part
        else:
            found.append(part)
    return found


def wrapped(text: str, width: int) -> list[str]:
    """`text` broken between words into lines of at most `width`."""
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)


def _fit(columns: Sequence[Column], widths: list[int], width: int) -> list[int]:
    """Widths of columns, made narrower where most can be spared until the line fits."""
    flexible = [i for i, column in enumerate(columns) if column.is_flexible]
    excess = sum(widths) + len(GAP) * (len(widths) - 1) - width
    while excess > 0 and (spare := [i for i in flexible if widths[i] > columns[i].minimum]):
        widest = max(spare, key=lambda i: (columns[i].yields, widths[i] - columns[i].minimum))
        widths[widest] -= 1
        excess -= 1
    return widths


def _line(columns: Sequence[Column], row: Sequence[str], widths: Sequence[int]) -> str:
    cells = (
        _pad(shorten(cell, width) if column.is_flexible else cell, width, column.is_right)
        for column, cell, width in zip(columns, row, widths, strict=True)
    )
    return GAP.join(cells).rstrip()


def _pad(cell: str, width: int, is_right: bool) -> str:
    spaces = " " * (width - cell_len(cell))
    return spaces + cell if is_right else cell + spaces


def _last_cells(text: str, width: int) -> str:
    start = len(text) - width
    while cell_len(text[start:]) > width:  # wide characters take two cells
        start += 1
    return text[start:]


def _visible_character(character: str) -> str:
    if character.isprintable():
        return character
    return character.encode("unicode_escape").decode("ascii")
