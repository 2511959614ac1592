"""Writes what the documentation quotes from the software; `make docs` runs it, a test compares.

README.md             tables of commands and views, and what the commands shown print
docs/sql.md           columns of the views, from their comments in the database
"""

import re
from collections.abc import Callable
from pathlib import Path

import duckdb

from tracekit import queries, schema

DOCS = Path(__file__).parent


def views() -> list[schema.Relation]:
    """Public views in the order in which they build on one another."""
    with duckdb.connect() as con:
        schema.apply(con)
        queries.install(con)
        relations = {relation.name: relation for relation in schema.describe(con)}
    return [relations[name] for name in queries.VIEW_ORDER]


def fill(text: str, marker: str, body: str) -> str:
    """The text with `body` between `<!-- marker -->` and `<!-- end -->`."""
    pattern = rf"(<!-- {marker} -->\n).*?(<!-- end -->)"
    filled, n = re.subn(pattern, lambda found: found[1] + body + found[2], text, flags=re.DOTALL)
    if n != 1:
        raise ValueError(f"marker {marker!r} occurs {n} times")
    return filled


def sql_reference(text: str) -> str:
    """docs/sql.md with a table of columns for each view."""
    return fill(text, "views", "\n".join(map(_view_section, views())))


def _view_section(view: schema.Relation) -> str:
    rows = [f"| `{c.name}` | {c.type} | {_cell(c.comment)} |" for c in view.columns]
    head = [
        f"### {view.name}",
        "",
        view.comment,
        "",
        "| column | type | meaning |",
        "|---|---|---|",
    ]
    return "\n".join([*head, *rows, ""])


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


DOCUMENTS: dict[Path, Callable[[str], str]] = {DOCS / "sql.md": sql_reference}


if __name__ == "__main__":
    for path, update in DOCUMENTS.items():
        path.write_text(update(path.read_text()))
