"""Loads a trace the way another Python tool does and prints the seconds that took, as JSON.

Usage: PYTHON benchmarks/load.py json|hta TRACE    (PYTHON is one that has the tool)
"""

import gzip
import json
import sys
import time
from collections.abc import Callable


def load_json(trace: str) -> None:
    """Only builds Python's objects: the least any reader in plain Python needs."""
    opener = gzip.open if trace.endswith(".gz") else open
    with opener(trace, "rb") as file:
        json.load(file)


def hta_loader() -> Callable[[str], object]:
    """HTA's constructor: it parses and builds the table that its analyses start from."""
    from hta.trace_analysis import TraceAnalysis

    return lambda trace: TraceAnalysis(trace_files={0: trace})


def main(tool: str, trace: str) -> None:
    """Import the tool, then time its loading alone."""
    load = hta_loader() if tool == "hta" else load_json
    started = time.perf_counter()
    load(trace)
    print(json.dumps({"load_seconds": time.perf_counter() - started}))


if __name__ == "__main__":
    main(*sys.argv[1:])
