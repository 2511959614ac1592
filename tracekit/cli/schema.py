"""tracekit schema: views and tables with the comments that the database holds."""

import itertools
from types import SimpleNamespace

import click

from tracekit.cli import options, output, table
from tracekit.errors import QueryError


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
    about = table.wrapped(f"{first.kind}: {first.relation_comment}", width - 2)
    names = max(len(column.column_name) for column in columns)
    types = max(len(column.type) for column in columns)
    lines = [output.strong(relation), *(f"  {line}" for line in about)]
    for column in columns:
        head = f"  {column.column_name:{names}} {column.type:{types}} "
        meaning = table.wrapped(column.comment or "", width - len(head)) or [""]
        lines += [(head if i == 0 else " " * len(head)) + text for i, text in enumerate(meaning)]
    return lines
