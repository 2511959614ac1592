"""The smallest ingest there is: a run of `rows` counters, written through `store.building`.

As a script it says when it is inside, and goes on when it gets a line: tests kill it in between.
"""

import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

from tracekit import store


def install_views(con):
    con.execute("CREATE OR REPLACE VIEW runs AS SELECT run, source FROM run")
    con.execute("COMMENT ON VIEW runs IS 'One row per run.'")


def ingest(db, run, *, rows=3, source="first", wait=lambda: None, **options):
    with store.building(db, run, install_views=install_views, **options) as scratch:
        scratch.con.execute(
            "INSERT INTO run (run, backend, is_synthetic, source) VALUES (?, 'cpu', false, ?)",
            [run, source],
        )
        scratch.con.execute(
            "INSERT INTO counter"
            " SELECT ?, 0, 'profiled', 'after', 'c' || i, '{}', i FROM range(?) AS r(i)",
            [run, rows],
        )
        (scratch.folder / "inflated.json").write_text("what a reader put aside")
        wait()


def stop_here():
    sys.stdout.write("inside\n")
    sys.stdout.flush()
    sys.stdin.readline()


def stop_before_rename(db, run):
    replace = Path.replace
    Path.replace = lambda *paths: (stop_here(), replace(*paths))
    ingest(db, run)


def runs(db):
    con = store.open_readonly(db)
    found = con.sql("SELECT run, source FROM runs ORDER BY run").fetchall()
    con.close()
    return found


def files(folder):
    return sorted(path.name for path in folder.iterdir())


@contextmanager
def process(*words):
    """A Python process that has written a line to its standard output."""
    command = [sys.executable, *map(str, words)]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert child.stdout.readline(), "the process ended before it said anything"
        yield child
    finally:
        child.kill()
        child.communicate()


def ingesting(db, run, place="body"):
    return process(__file__, place, db, run)


def holding(db, options=""):
    code = f"import duckdb, sys; con = duckdb.connect(sys.argv[1], {options}); "
    return process("-c", code + "print('open', flush=True); sys.stdin.readline()", db)


if __name__ == "__main__":
    place, db, run = sys.argv[1:]
    if place == "body":
        ingest(db, run, wait=stop_here)
    else:
        stop_before_rename(db, run)
