"""Grows the runs of a database by repeating their steps, later and under numbers of their own.

Usage: python benchmarks/grow.py DATABASE OUT --copies N

Made for the dashboard: 8 ranks of a million activities each from a few generated steps, in
seconds. Ledgers and counters stay those of one copy.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

import duckdb

TABLES = {
    "activity": ["step", "start_ns", "launch_ns", "activity_id", "correlation"],
    "host_call": ["start_ns", "correlation"],
    "host_op": ["start_ns"],
    "scope": ["start_ns"],
    "step": ["step", "start_ns", "host_start_ns"],
    "step_phase": ["step", "start_ns", "host_start_ns"],
    "step_category": ["step"],
    "collective": ["step", "start_ns", "launch_ns", "activity_id", "collective", "seq"],
}
"""What every copy adds to, so that nothing of it coincides with the copy before."""

NUMBERS = """
    CREATE TEMP TABLE number AS
    SELECT run, step.n AS step, activity.n AS activity_id, activity.m AS correlation,
           coalesce(collective.n, 1) AS collective, coalesce(collective.m, 1) AS seq, span.ns
    FROM (SELECT run, max(step) + 1 AS n FROM step GROUP BY run) AS step
    JOIN (SELECT run, max(activity_id) + 1 AS n, coalesce(max(correlation), 0) + 1 AS m
          FROM activity GROUP BY run) AS activity USING (run)
    LEFT JOIN (SELECT run, max(collective) + 1 AS n, max(seq) + 1 AS m
               FROM collective GROUP BY run) AS collective USING (run)
    JOIN (SELECT run, max(window_end_ns) - min(window_start_ns) AS ns
          FROM file GROUP BY run) AS span USING (run)
"""


def grow(source: Path, out: Path, copies: int) -> None:
    """Write `out`: `source` with the steps of every run `copies` times."""
    shutil.copyfile(source, out)
    with duckdb.connect(out) as con:
        con.execute("SET preserve_insertion_order = false")
        con.execute(NUMBERS)
        for table, columns in TABLES.items():
            con.execute(_repeat(table, columns), [copies])
        con.execute(
            "UPDATE file SET window_end_ns = window_end_ns + (? - 1) * number.ns"
            " FROM number WHERE file.run = number.run",
            [copies],
        )


def _repeat(table: str, columns: list[str]) -> str:
    """Statement that adds the copies of a table; its names are those above."""
    later = ", ".join(f"{table}.{name} + i * number.{_step_of(name)} AS {name}" for name in columns)
    return (
        f"INSERT INTO {table} SELECT {table}.* REPLACE ({later})"
        f" FROM {table} JOIN number USING (run), range(1, ?) AS copy (i)"
    )


def _step_of(column: str) -> str:
    return "ns" if column.endswith("_ns") else column


def main() -> None:
    """Grow a database as the command line says."""
    parser = argparse.ArgumentParser(description="Repeat the steps of the runs of a database.")
    parser.add_argument("database", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--copies", type=int, required=True)
    given = parser.parse_args()
    grow(given.database, given.out, given.copies)


if __name__ == "__main__":
    main()
