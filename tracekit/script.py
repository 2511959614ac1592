"""SQL of several statements, each given the values that it names."""

from collections.abc import Mapping
from typing import Any

import duckdb


def run_script(con: duckdb.DuckDBPyConnection, sql: str, values: Mapping[str, Any]) -> None:
    """Execute statement after statement; DuckDB refuses values that a statement does not name."""
    for statement in con.extract_statements(sql):
        named = {name: values[name] for name in statement.named_parameters}
        con.execute(statement, named or None)
