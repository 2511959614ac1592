"""Rows made in Python into a table, many at a time."""

from collections.abc import Mapping, Sequence

import duckdb

Value = str | int | float | bool | list[float] | None

_BATCH = 20_000


def insert(con: duckdb.DuckDBPyConnection, table: str, rows: Sequence[Mapping[str, Value]]) -> None:
    """Insert rows that have the same columns; table and columns are names of ours, never data.

    Lists as parameters: a statement for each row takes 100 times as long.
    """
    for start in range(0, len(rows), _BATCH):
        batch = rows[start : start + _BATCH]
        names = list(batch[0])
        values = {name: [row[name] for row in batch] for name in names}
        unnested = ", ".join(f"unnest(${name})" for name in names)
        con.execute(f"INSERT INTO {table} ({', '.join(names)}) SELECT {unnested}", values)
