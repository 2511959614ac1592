"""tracekit sql: any SELECT over the views and tables."""

import itertools
import sys
from typing import TYPE_CHECKING

import click
from rich.cells import cell_len

from tracekit.cli import options, output, table

if TYPE_CHECKING:
    from tracekit.database import Result, Row

SHOWN = 100
"""Rows of a table; csv and json give all."""


@click.command("sql")
@click.argument("query")
@options.db()
@options.output_format()
def command(query: str, db: str | None, form: str) -> None:
    """Run a query on the database.

    QUERY is one SELECT, or - to read it from stdin. It can only read, and only this database;
    `tracekit schema` lists the views and their columns.
    """
    from tracekit.database import reading

    with reading(db) as database:
        found = database.sql(sys.stdin.read() if query == "-" else query)
        if form == "table":
            _write_page(found)
        else:
            output.write_data(found, form)


def _write_page(found: "Result") -> None:
    rows = list(itertools.islice(found, SHOWN + 1))
    output.write_lines(_lines(found.columns, rows[:SHOWN], output.page_width()))
    if len(rows) > SHOWN:
        output.note(f"first {SHOWN} rows; --format csv or json gives all")


def _lines(names: list[str], rows: list["Row"], width: int) -> list[str]:
    """A table, or where that does not fit each row with a line per column."""
    cells = [[_cell(value) for value in row] for row in rows]
    columns = [_column(name, [row[i] for row in rows]) for i, name in enumerate(names)]
    heading, *lines = table.lines(columns, cells, width)
    if all(cell_len(line) <= width for line in (heading, *lines)):
        return [output.strong(heading), *lines]
    return [line for row in cells for line in ["", *_record(names, row, width)]][1:]


def _record(names: list[str], cells: list[str], width: int) -> list[str]:
    columns = (table.label(""), table.name(""))
    return table.lines(columns, list(zip(names, cells, strict=True)), width)[1:]


def _cell(value: object) -> str:
    if value is None:
        return "NULL"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _column(name: str, values: list[object]) -> table.Column:
    is_number = all(isinstance(value, int | float | None) for value in values)
    return table.Column(name) if is_number else table.name(name)
