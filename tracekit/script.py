"""SQL of several statements, each given the values that it names."""

from collections.abc import Mapping
from typing import Any

import duckdb

_parsed: dict[str, list[tuple[duckdb.Statement, set[str]]]] = {}
"""Of each text its statements and what they name: parsing is a sixth of deriving a small run."""


def run_script(con: duckdb.DuckDBPyConnection, sql: str, values: Mapping[str, Any]) -> None:
    """Execute statement after statement; DuckDB refuses values that a statement does not name."""
    if sql not in _parsed:
        _parsed[sql] = [(part, part.named_parameters) for part in con.extract_statements(sql)]
    for statement, names in _parsed[sql]:
        con.execute(statement, {name: values[name] for name in names} or None)
