"""Loads a trace with a Python tool and prints the seconds that took after imports, as JSON.

Usage: PYTHON benchmarks/load.py json|hta|tracekit TRACE    (PYTHON is one that has the tool)

tracekit writes a database, bench.duckdb beside the trace; the others build tables in memory.
"""

import gzip
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path


def load_json(trace: str) -> None:
    """Only builds Python's objects: the least any reader in plain Python needs."""
    opener = gzip.open if trace.endswith(".gz") else open
    with opener(trace, "rb") as file:
        json.load(file)


def hta_loader() -> Callable[[str], object]:
    """HTA's constructor: it parses and builds the table that its analyses start from."""
    from hta.trace_analysis import TraceAnalysis

    return lambda trace: TraceAnalysis(trace_files={0: trace})


def tracekit_loader() -> Callable[[str], object]:
    """An ingest to the end: the database is in its place with all derived tables and views."""
    from tracekit import ingest

    return lambda trace: ingest(trace, run="bench", db=Path(trace).with_name("bench.duckdb"))


LOADERS = {"json": lambda: load_json, "hta": hta_loader, "tracekit": tracekit_loader}


def main(tool: str, trace: str) -> None:
    """Import the tool, then time its loading alone."""
    load = LOADERS[tool]()
    started = time.perf_counter()
    load(trace)
    print(json.dumps({"load_seconds": time.perf_counter() - started}))


if __name__ == "__main__":
    main(*sys.argv[1:])
