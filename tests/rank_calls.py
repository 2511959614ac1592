"""Steps of a rank that launch collectives, and what is found of those."""

from traces import ALL_REDUCE, decode

NCCL = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"

PERIOD = 100
"""Microseconds from one call to the next of a step."""


def step(trace, number, calls, clock=0, name=ALL_REDUCE, every=2_000, **args):
    """A step that launches, after its GEMM, one call for each (late, dur) of `calls`; None: lost.

    Calls end together on ranks that are late by what they last less.
    """
    start = 1_000 + every * number
    decode(trace, start, lead=10 + clock)
    for k, call in enumerate(calls):
        if call is not None:
            late, dur = call
            at = start + 100 + PERIOD * k + late + clock
            trace.run(name, start + 16, at, dur, **args)
    return trace


def group(seq, ranks, name="0", desc="", collective="allreduce"):
    """Args that torch gives kernels of a process group."""
    return {
        "Collective name": collective,
        "In msg nelems": 64,
        "Out msg nelems": 64,
        "Group size": len(ranks),
        "dtype": "BFloat16",
        "Process Group Name": name,
        "Process Group Description": desc,
        "Process Group Ranks": str(list(ranks)),
        "Seq": seq,
    }


def matched(db, columns="seq, rank, wait_ns, transfer_ns, match"):
    return db.sql(f"SELECT {columns} FROM collectives ORDER BY collective, rank").fetchall()


def doubts(db):
    query = (
        "SELECT DISTINCT regexp_extract(reason, '\\((.*)\\)', 1) FROM ingest_ledger"
        " WHERE reason LIKE 'collectives%' ORDER BY ALL"
    )
    return [reason for (reason,) in db.sql(query).fetchall()]
