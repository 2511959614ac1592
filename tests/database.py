"""Databases by hand: rows of the tables, in round microseconds, with the columns that matter."""

from functools import cache
from pathlib import Path
from tempfile import NamedTemporaryFile, TemporaryDirectory

import duckdb

from tracekit import api, queries, schema, store
from tracekit.run import discover

REQUIRED = {
    "run": {"backend": "gpu", "is_synthetic": False},
    "file": {"path": "rank0.json", "kind": "trace", "dp": 0, "bytes": 1},
    "ledger": {"skipped": 0, "is_loss": True},
    "activity": {
        "file_id": 0,
        "dp": 0,
        "device_kind": "gpu",
        "activity_kind": "kernel",
        "stream": 7,
        "phase": "forward",
        "phase_source": "engine",
        "link": "launch",
    },
    "kernel": {},
    "step": {"file_id": 0, "dp": 0, "is_verify": False, "is_complete": True},
    "step_phase": {"dp": 0, "phase_source": "engine"},
    "step_category": {"dp": 0, "overhang_ns": 0},
    "host_call": {},
    "capture_window": {},
    "counter": {"file_id": 0, "labels": "{}", "window_name": "profiled"},
    "iteration": {"file_id": 0, "dp": 0, "is_dummy": False, "at_byte": 0},
    "spec_sample": {"file_id": 0, "dp": 0, "at_byte": 0, "engine": "vllm"},
    "gpu_sample": {"file_id": 0},
    "request": {"file_id": 0},
    "collective": {
        "file_id": 0,
        "dp": 0,
        "comm": "tp",
        "n_activities": 1,
        "phase": "forward",
        "name": "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
        "category": "all_reduce",
        "impl": "nccl",
        "is_fused": False,
        "match": "order",
    },
    "clock_offset": {
        "dp": 0,
        "offset_ns": 0,
        "drift_ppm": 0,
        "origin_ns": 0,
        "is_applied": False,
        "n": 100,
        "spread_ns": 0,
    },
    "nccl_comm": {"file_id": 0, "at_byte": 0, "host": "box", "pid": 9, "comm": "0x55aa0"},
    "nccl_note": {"file_id": 0, "at_byte": 0, "host": "box", "pid": 9},
    "calibration": {
        "file_id": 0,
        "tool": "tracekit",
        "mode": "eager",
        "category": "all_reduce",
        "is_in_place": True,
    },
}


def us(microseconds):
    return round(microseconds * 1000)


@cache
def _empty_file():
    """Bytes of a database without a run: to copy them takes a tenth of making one."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "empty.duckdb"
        with store.building(path, "", install_views=queries.install):
            pass
        return path.read_bytes()


def memory_database():
    """An empty database, tables and views made; nothing is left of it once it is closed."""
    con = duckdb.connect(":memory:", config={"memory_limit": "4GB"})  # none needs a tenth of it
    with NamedTemporaryFile(suffix=".duckdb") as file:
        file.write(_empty_file())
        file.flush()
        con.execute("ATTACH ? AS made (RECOVERY_MODE 'NO_WAL_WRITES')", [file.name])
    con.execute("USE made")
    return con


def write_database(path, *fills):
    """A database file with the runs that `fills` insert, each one given (connection, run name)."""
    path.write_bytes(_empty_file())
    with duckdb.connect(path) as con:
        for fill in fills:
            fill(con, fill.__name__)
    return path


def read_run(con, run, *paths):
    """What an ingest puts into an empty database; to make and publish a file takes a third more.

    Into an empty one alone: an ingest never sees another run.
    """
    (inputs,) = discover(paths, run=run)
    with TemporaryDirectory() as folder:
        scratch = store.Scratch(con, Path(folder), begin_views=lambda: None)
        api._fill(scratch, inputs, rules=None, progress=None)


def memory_run(*paths):
    """A database in memory that has what the paths hold as run `r`."""
    con = memory_database()
    read_run(con, "r", *paths)
    found = con.cursor()  # it does not see what was staged
    found.execute("USE made")
    return found


def write_joined(path, runs):
    """A database file of several: `runs` are those of one run `r` each, by their names in it."""
    write_database(path)
    with duckdb.connect(path) as con:
        for run, db in runs.items():
            con.execute(f"ATTACH '{db}' AS one (READ_ONLY)")
            for table in schema.RUN_TABLES:
                of_run = f"SELECT * REPLACE ('{run}' AS run) FROM one.{table}"
                con.execute(f"INSERT INTO {table} BY NAME {of_run}")
            con.execute("DETACH one")
    return path


def join(path, fill):
    """One run more in a database that others may have open, as an ingest brings it there."""
    name = fill.__name__
    with store.building(path, name, install_views=queries.install) as scratch:
        fill(scratch.con, name)


def add(con, table, run, **row):
    """Insert one row; columns that the table requires and the caller left out have a default."""
    columns = {"run": run, **REQUIRED[table], **row}
    names, marks = ", ".join(columns), ", ".join("?" * len(columns))
    con.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", list(columns.values()))


def add_call(con, run, collective, starts, durs, ranks=None, **row):
    """Insert one call of a collective, matched over its ranks: start and duration of each, in us.

    A number of `row` that is a tuple is one for each rank.
    """
    for i, (start, dur) in enumerate(zip(starts, durs, strict=True)):
        own = {name: value[i] if isinstance(value, tuple) else value for name, value in row.items()}
        matched = {"wait_ns": us(max(starts) - start), "transfer_ns": us(min(durs))}
        facts = {"collective": collective, "seq": collective, "activity_id": collective}
        times = {"start_ns": us(start), "dur_ns": us(dur), "group_size": len(starts)}
        rank = i if ranks is None else ranks[i]
        add(con, "collective", run, rank=rank, **{**facts, **times, **matched, **own})


def rows(con, name, /, **params):
    return queries.run(con, name, **params).fetchall()


def dicts(con, name, /, **params):
    names = [column.name for column in queries.load(name).columns]
    return [dict(zip(names, row, strict=True)) for row in rows(con, name, **params)]
