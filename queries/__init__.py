"""Views and reports over the tables of a tracekit database: one SELECT per file."""

from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

import duckdb

from tracekit.errors import QueryError
from tracekit.queries.header import Query, Value, parse

VIEW_ORDER = (
    "runs",
    "activities",
    "spec_decode",
    "steps",
    "step_units",
    "step_phases",
    "step_breakdown",
    "kernel_names",
    "collectives",
    "collective_calls",
    "windows",
    "decode_costs",
    "gpu_samples",
    "calibrations",
    "ingest_ledger",
)
"""Views in the order to create them: a view may read the tables and the views before it."""

MACRO_ORDER = ("steps", "compare", "whatif", "whatif_tokens")
"""Files of macros in the order to create them, after the views."""


@cache
def catalog() -> tuple[Query, ...]:
    """Every view, in VIEW_ORDER, then every report by name."""
    views = [_read("views", name) for name in VIEW_ORDER]
    reports = sorted(_stems("reports"))
    return (*views, *(_read("reports", name) for name in reports))


def load(name: str) -> Query:
    """The view or report called `name`.

    Raises:
        QueryError: there is none of that name.
    """
    for query in catalog():
        if query.name == name:
            return query
    reports = ", ".join(query.name for query in catalog() if query.kind == "report")
    raise QueryError(f"{name!r}: no such report; there are: {reports}")


@cache
def examples() -> dict[str, str]:
    """Queries to start from, by what each shows: a SELECT over the views."""
    paths = sorted(_folder("examples").iterdir(), key=lambda path: path.name)
    texts = [path.read_text("utf-8") for path in paths if path.name.endswith(".sql")]
    return {_title(text): text.split("\n", 1)[1] for text in texts}


def install(con: duckdb.DuckDBPyConnection) -> None:
    """Create all views and shared macros in the current database, with the headers' comments."""
    con.execute("BEGIN")  # one commit: each of its own takes longer than the statement
    for name in VIEW_ORDER:
        for statement in _view_statements(load(name)):
            con.execute(statement)
    for name in MACRO_ORDER:
        con.execute(_folder("macros").joinpath(f"{name}.sql").read_text("utf-8"))
    con.execute("COMMIT")


def run(con: duckdb.DuckDBPyConnection, name: str, /, **params: Value) -> duckdb.DuckDBPyConnection:
    """The connection with the report's result set open; parameters left out have their defaults.

    Raises:
        QueryError: no such report, or a parameter is missing or unknown.
    """
    query = load(name)
    return con.execute(query.sql, query.bind(params))


def _view_statements(view: Query) -> Iterator[str]:
    # Replacing a view drops its comments: they are written again each time.
    yield f"CREATE OR REPLACE VIEW {view.name} AS {view.sql}"
    yield f"COMMENT ON VIEW {view.name} IS {_literal(f'{view.title} Grain: {view.grain}')}"
    for column in view.columns:
        yield f"COMMENT ON COLUMN {view.name}.{column.name} IS {_literal(column.meaning)}"


def _title(text: str) -> str:
    return text.split("\n", 1)[0].removeprefix("--").strip()


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _folder(kind: str) -> Traversable:
    return files(__name__).joinpath(kind)


def _stems(kind: str) -> list[str]:
    names = [entry.name for entry in _folder(kind).iterdir()]
    return [name.removesuffix(".sql") for name in names if name.endswith(".sql")]


def _read(kind: str, name: str) -> Query:
    text = _folder(kind).joinpath(f"{name}.sql").read_text(encoding="utf-8")
    return parse(name, kind.removesuffix("s"), text)
