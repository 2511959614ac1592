"""Runs of collectives made by hand, and what reports say of them."""

from database import add, dicts, memory_database, us

from tracekit import queries

FAST = {"starved_ns": 0, "bytes": 14_000, "bytes_source": "args", "dtype": "BFloat16"}
UNNAMED = "unnamed all_reduce"
"""Of calls that name no process group."""


def database(n_ranks=2, n_steps=1, world_size=None, **step):
    """A run of decode steps of 1,000 us each, without work."""
    con = memory_database()
    add(con, "run", "r", engine="vllm", world_size=world_size or n_ranks)
    for rank in range(n_ranks):
        add(con, "file", "r", file_id=rank, rank=rank)
        for number in range(n_steps):
            times = {"start_ns": us(1_000 * number), "dur_ns": us(1_000), "busy_ns": us(900)}
            row = {"kind": "decode", "idle_ns": us(100), **times, **step}
            add(con, "step", "r", rank=rank, step=number, **row)
    return con


def work(con, step, n, durs, busy=None, category="all_reduce", phase="forward"):
    """The category's time in a step, as the breakdown has it: sum on each rank, union if less."""
    for rank, dur in enumerate(durs):
        row = {"rank": rank, "step": step, "phase": phase, "n": n, "sum_ns": us(dur)}
        union = us(dur if busy is None else busy)
        add(con, "step_category", "r", category=category, busy_ns=union, exposed_ns=union, **row)


def signatures(con, **params):
    return dicts(con, "comms", run="r", **params)


def calls(con):
    names = [column.name for column in queries.load("collective_calls").columns]
    found = con.execute("FROM collective_calls ORDER BY collective").fetchall()
    return [dict(zip(names, row, strict=True)) for row in found]
