"""The generator of synthetic runs, as its users call it."""

import fcntl
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

from database import read_run, write_database

GENERATE = Path(__file__).parents[1] / "sample_traces" / "generate.py"


def generate(out, *arguments):
    """Run the generator; gives what it prints."""
    command = [sys.executable, str(GENERATE), str(out), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@cache
def dialects():
    """Names of all dialects."""
    return tuple(line.split()[0] for line in generate(".", "--list").splitlines())


class Generated:
    """Runs of dialects, each made when first asked for, once for all workers of pytest-xdist."""

    def __init__(self, tmp_path_factory):
        base = tmp_path_factory.getbasetemp()
        own = "PYTEST_XDIST_WORKER" in os.environ  # a worker's folder is within that of the session
        self.folder = (base.parent if own else base) / "generated"
        self.folder.mkdir(exist_ok=True)

    def written(self, dialect):
        """Folder that holds what the generator wrote: the dialect's run folder."""
        return self._once(dialect, lambda out: generate(out, "--dialect", dialect))

    def ingested(self, dialect):
        """Run folder and database, where it is called `r`."""
        source = self.written(dialect) / dialect

        def ingest(out):
            write_database(out / "run.duckdb", r)

        def r(con, run):
            read_run(con, run, source)

        return source, self._once(f"{dialect}-ingested", ingest) / "run.duckdb"

    def _once(self, name, make):
        out, unfinished = self.folder / name, self.folder / f"{name}-unfinished"
        with (self.folder / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not out.exists():
                unfinished.mkdir()
                make(unfinished)
                unfinished.rename(out)
        return out
