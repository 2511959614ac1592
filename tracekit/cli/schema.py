"""tracekit schema: views and tables with the comments that the database holds."""

import itertools
from types import SimpleNamespace

import click

from tracekit.cli import options, output, table
from tracekit.errors import QueryError

MEANING = 24
"""Columns a meaning needs beside its column; with less it goes below."""


@click.command("schema")
@click.argument("name", required=False)
@click.option("--tables", is_flag=True, help="The tables behind the views too.")
@options.db()
@options.output_format()
def command(name: str | None, tables: bool, db: str | None, form: str) -> None:
    """List views and columns with their meaning.

    With NAME that view or table alone.
    """
    from tracekit.database import reading

    with reading(db) as database:
        found = database.report("schema", name=name, tables=tables or name is not None)
        if form == "table":
            _write_page(found.records(), name)
        else:
            output.write_data(found, form)


def _write_page(rows: list[SimpleNamespace], name: str | None) -> None:
    if not rows:
        raise QueryError(f"{name}: no such view or table; `tracekit schema --tables` lists them")
    for relation, columns in itertools.groupby(rows, key=lambda row: row.relation):
        output.write_lines([*_relation(relation, list(columns), output.page_width()), ""])


def _relation(relation: str, columns: list[SimpleNamespace], width: int) -> list[str]:
    first = columns[0]
    about = table.wrapped(f"{first.kind}: {first.relation_comment}", max(MEANING, width - 2))
    names = max(len(column.column_name) for column in columns)
    types = max(len(column.type) for column in columns)
    lines = [output.strong(relation), *(f"  {line}" for line in about)]
    for column in columns:
        head = f"  {column.column_name:{names}} {column.type:{types}} "
        lines += _column(head, column.comment or "", width)
    return lines


def _column(head: str, meaning: str, width: int) -> list[str]:
    """Name, type and meaning side by side, or where that gets too narrow one below the other."""
    if width - len(head) < MEANING:
        return [" ".join(["", "", *head.split()]), *_indented(meaning, 6, width)]
    first, *more = _indented(meaning, len(head), width) or [""]
    return [(head + first.strip()).rstrip(), *more]


def _indented(text: str, indent: int, width: int) -> list[str]:
    return [" " * indent + line for line in table.wrapped(text, max(MEANING, width - indent))]
