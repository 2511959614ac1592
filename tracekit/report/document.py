"""What a report holds, before it is HTML or Markdown: text only, numbers already in words."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Literal, get_args

from tracekit import units
from tracekit.queries.header import Query
from tracekit.report.charts import Chart

Column = tuple[str, Callable[[SimpleNamespace], str]]
"""Heading of a column and how a row makes its cell; a heading in `>` is of numbers: `>ms`."""


@dataclass(frozen=True, slots=True)
class Heading:
    """Heading of a table's column."""

    title: str
    is_number: bool


@dataclass(frozen=True, slots=True)
class Table:
    """A table; rows whose number is in `totals` are sums."""

    caption: str
    headings: tuple[Heading, ...]
    rows: tuple[tuple[str, ...], ...]
    totals: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Figure:
    """A key figure, what it is of, and a note on how it was come by."""

    name: str
    value: str
    unit: str
    note: str = ""


Topic = Literal["all_reduce", "ranks", "gemm", "host", "drafts", "unknown", "runs"]
"""What a finding is about; `runs`: two of them, side by side."""

TOPICS: tuple[Topic, ...] = get_args(Topic)


@dataclass(frozen=True, slots=True)
class Finding:
    """A sentence, what is to be said beside it, the rows that prove it, and what it is about."""

    title: str
    text: str
    proof: Table
    topic: Topic = "runs"


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the report; what it does not have is empty."""

    title: str
    words: tuple[str, ...] = ()
    charts: tuple[Chart, ...] = ()
    tables: tuple[Table, ...] = ()


@dataclass(frozen=True, slots=True)
class Asked:
    """A query that the report was made from, and what was asked of it."""

    query: Query
    values: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Document:
    """A report; `status` is why the capture failed, empty where it did not."""

    run: str
    status: str
    figures: tuple[Figure, ...]
    findings: tuple[Finding, ...]
    sections: tuple[Section, ...]
    asked: tuple[Asked, ...]


def table(
    caption: str,
    rows: Sequence[SimpleNamespace],
    columns: Sequence[Column],
    totals: Callable[[SimpleNamespace], bool] = lambda row: False,
) -> Table:
    """A table of rows; a column with nothing in it is left out."""
    made = [(title, [cell(row) for row in rows]) for title, cell in columns]
    filled = [column for column in made if not set(column[1]) <= {"", units.MISSING}]
    headings = (Heading(title.removeprefix(">"), title.startswith(">")) for title, _ in filled)
    cells = tuple(zip(*(cells for _, cells in filled), strict=True))
    return Table(
        caption, tuple(headings), cells, tuple(i for i, row in enumerate(rows) if totals(row))
    )
