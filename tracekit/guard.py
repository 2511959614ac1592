"""What the text of a query may do: read one database by one SELECT, and nothing else."""

import duckdb

from tracekit.errors import QueryError


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
    kinds = [statement.type.name for statement in con.extract_statements(query)]
    if not kinds:
        raise QueryError("query: it is empty; write a SELECT")
    if len(kinds) > 1:
        raise QueryError(f"query: {len(kinds)} statements; give one SELECT at a time")
    if kinds != ["SELECT"]:
        raise QueryError(_no_select(kinds[0]))


def _no_select(kind: str) -> str:
    if kind == "MULTI":  # PIVOT without its values: DuckDB makes a type first
        return "query: a PIVOT that has to look for its values; list them: ON column IN (...)"
    return f"query: {kind} where only a SELECT is run; the database cannot be changed from here"
