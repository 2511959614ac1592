"""Raw tables to derived tables, in SQL: links, steps, phases and their times.

Words of the SQL files:

at_ns      the moment that decides step and phase: start of the launch call; on CPU the op's own; in
           a file without calls the activity's own on the device; NULL where the launch is missing
launch_id  correlation id of a launch; below zero for an activity that has none
k          step within its file, from 0; `number` turns it into the step that all ranks share
habit      what begins a step in a file: run_batch, execute, pass (SGLang), old_step (vLLM <= 0.11),
           profiler_step, v2_marker, graph (replays of the largest repeating one, or nothing)
role       what a host annotation is to us; `pass` is one of the target model
led        launches with the start of the unbroken run of input copies that leads to each
piece      the part of an activity that its step, phase and category have not covered before
swept      time cut at every edge of a piece: what runs until the next edge

and of those of collectives:

call       one collective on one rank; a kernel that ends the one before it is part of its call
pair       number of one collective, the same on all ranks that took part in it
stretch    calls that a step and phase of a communicator hold; they are paired in their order
stage      where SGLang profiles each stage of inference to a file of its own; not pipeline_stage
node       a rank of an engine as one number; root the one that its clock is set by
claim      a message as one source has it: args, NCCL's log, shapes or the model
pass       calls that one graph launch replays, or the many small graphs of a forward together
streak     calls of one size in a row in NCCL's log: what a graph's warm-up and capture left there
sent       what NCCL chooses by: category, bytes, channels and ranks
choice     algorithm and protocol that NCCL chose, by its log; bound the time of its own model
"""

from importlib.resources import files

import duckdb

from tracekit.errors import TraceFormatError
from tracekit.script import run_script

ORDER = (
    "steps/innermost",
    "steps/scopes",
    "steps/signature",
    "steps/work",
    "steps/cpu_work",
    "steps/passes",
    "steps/launch",
    "steps/begin",
    "steps/dummy",
    "steps/place",
    "steps/emitted",
    "steps/phases",
    "steps/complete",
    "steps/attribute",
    "steps/windows",
    "steps/sweep",
    "steps/number",
    "steps/publish",
    "steps/totals",
    "run",
    "counters",
    "collectives/calls",
    "collectives/communicators",
    "collectives/pairing",
    "collectives/clocks",
    "collectives/alignment",
    "collectives/matched",
    "collectives/message_events",
    "collectives/message_model",
    "collectives/message_log",
    "collectives/message_replay",
    "collectives/message_size",
    "collectives/message_bound",
    "collectives/message",
    "collectives/publish",
    "ledger",
)
"""Names of the SQL files, each reading what those before it made."""

_OF_CALLS = frozenset(name for name in ORDER if name.startswith("collectives/")) - {
    "collectives/calls"
}
"""Left out where the run has no call of a collective: they would cost it 0.1 s for nothing."""


def derive(con: duckdb.DuckDBPyConnection, run: str) -> None:
    """Fill every derived table of the one run in the database from the staged events.

    Needs the TEMP tables `device_event`, `cpu_no_work` and `collective_category`, and
    the tables `file`, `ledger`, `kernel` and `run`. Raises TraceFormatError where the ledger does
    not add up.
    """
    # DuckDB 2.0 makes a nested loop of an ASOF join with a side it takes for small: 12 times slower
    # for 55,000 launches against 1,358 scope segments.
    con.execute("SET asof_loop_join_threshold = 0")
    for name in ORDER:
        if name not in _OF_CALLS or _has_calls(con):
            run_script(con, files(__name__).joinpath(f"{name}.sql").read_text(), {"run": run})
    _check_ledger(con)


def _has_calls(con: duckdb.DuckDBPyConnection) -> bool:
    return con.execute("SELECT 1 FROM collective_call LIMIT 1").fetchone() is not None


def _check_ledger(con: duckdb.DuckDBPyConnection) -> None:
    wrong = con.execute(
        "SELECT path, ledger.events, kept, skipped FROM ledger JOIN file USING (file_id)"
        " WHERE reason IS NULL AND ledger.events != kept + skipped"
    ).fetchall()
    for path, events, kept, skipped in wrong:
        raise TraceFormatError(
            f"{path}: {events} events read, but {kept} kept and {skipped} skipped;"
            " tracekit lost some: please report it with the file"
        )
