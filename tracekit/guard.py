"""What the text of a query may do: read one database by one SELECT, and nothing else."""

import re

import duckdb

from tracekit.errors import QueryError

_FIRST = re.compile(r"^(?:\s|--[^\n]*\n|/\*.*?\*/)*(\w+)", re.DOTALL)
"""The first word that is in no comment."""


def lock(con: duckdb.DuckDBPyConnection) -> None:
    """From now on the connection reads what it has attached; nothing can be set any more.

    DuckDB still allows files in its folder for spilling: `check` leaves nothing that writes there.
    """
    con.execute("SET enable_external_access = false; SET lock_configuration = true")


def check(con: duckdb.DuckDBPyConnection, query: str) -> None:
    """Passes for one SELECT.

    Raises:
        QueryError: it is something else, or no UTF-8.
        duckdb.Error: it is no SQL.
    """
    try:
        query.encode()
    except UnicodeEncodeError as error:
        raise QueryError(
            f"query: character {error.start + 1} is not UTF-8; write it anew"
        ) from error
    # execute() would give None for no statement, and run several to give the last one's rows.
    statements = con.extract_statements(query)
    kinds = [statement.type.name for statement in statements]
    if not kinds:
        raise QueryError("query: it is empty; write a SELECT")
    if len(kinds) > 1:
        raise QueryError(f"query: {len(kinds)} statements; give one SELECT at a time")
    if kinds != ["SELECT"]:
        raise QueryError(_no_select(kinds[0], statements[0].query))


def _no_select(kind: str, text: str) -> str:
    if kind == "MULTI":  # PIVOT without its values: DuckDB makes a type first
        return "query: a PIVOT that has to look for its values; list them: ON column IN (...)"
    # DuckDB calls an INSTALL a LOAD; WITH may begin a DELETE.
    word = _FIRST.search(text)
    name = kind if word is None or word[1].upper() == "WITH" else word[1].upper()
    return f"query: {name} where only a SELECT is run; the database cannot be changed from here"
