"""Calls of collectives by hand, as the matching leaves them, and NCCL's log beside them."""

import json
from importlib.resources import files

from database import add, memory_database

from tracekit.derive import ORDER
from tracekit.script import run_script

NCCL = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
SECOND = 1_000_000_000
MESSAGES = [name for name in ORDER if name.startswith("collectives/message")]

TABLES = """
CREATE TEMP TABLE matched (
    id BIGINT, file_id INTEGER, dp INTEGER, rank INTEGER, collective INTEGER, step INTEGER,
    phase VARCHAR, name VARCHAR, category VARCHAR, impl VARCHAR, group_size INTEGER,
    n_ranks INTEGER, start_ns BIGINT, launch_ns BIGINT
);
CREATE TEMP TABLE work (
    id BIGINT, thread BIGINT, stream BIGINT, launch_id BIGINT, is_graph BOOLEAN, graph_id BIGINT,
    launch_ns BIGINT, at_ns BIGINT
);
CREATE TEMP TABLE device_event (
    id BIGINT, correlation BIGINT, external_id BIGINT, grid VARCHAR, collective VARCHAR
);
CREATE TEMP TABLE collective_arg (
    file_id INTEGER, kind VARCHAR, name VARCHAR, thread BIGINT, start_ns BIGINT, dur_ns BIGINT,
    external_id BIGINT, correlation BIGINT, collective VARCHAR, dtype VARCHAR, n_in BIGINT,
    n_out BIGINT, group_size INTEGER, seq BIGINT, in_dims VARCHAR, in_types VARCHAR
);
"""


class Calls:
    """One run: every call has its start in whole seconds, and its launch half a second before."""

    def __init__(self, **run):
        self.con = memory_database()
        self.con.execute(TABLES)
        facts = {"engine": "vllm", "tensor_parallel": 2, **run}
        add(self.con, "run", "r", **facts)
        for rank in range(8):
            window = {"window_start_ns": 0, "window_end_ns": 99 * SECOND}
            add(self.con, "file", "r", file_id=rank, rank=rank, **window)
        self.n = 0

    def call(
        self, start, rank=0, graph=None, grid=None, is_launched=True, own_thread=None, **given
    ):
        """A call; `graph` is (launch, id of the graph). Gives its id."""
        self.n += 1
        launch_ns = round((start - 0.5) * SECOND) if is_launched and own_thread is None else None
        facts = {"category": "all_reduce", "impl": "nccl", "name": NCCL, "phase": "forward"}
        facts |= {"collective": self.n, "group_size": 2, "dp": 0, **given}
        start_ns = round(start * SECOND)
        launch, graph_id = graph or (-self.n, None)
        call = {"id": self.n, "file_id": rank, "rank": rank, "start_ns": start_ns, **facts}
        self.insert("matched", **call, launch_ns=launch_ns)
        moment = start_ns if own_thread is not None else launch_ns
        place = {"id": self.n, "thread": own_thread or 1, "launch_id": launch, "at_ns": moment}
        place |= {"stream": own_thread, "launch_ns": launch_ns, "is_graph": graph is not None}
        self.insert("work", **place, graph_id=graph_id)
        if own_thread is None:
            shape = None if grid is None else f"[{grid}, 1, 1]"
            self.insert("device_event", id=self.n, correlation=self.n, grid=shape)
        return self.n

    def replay(self, start, n=3, graph_id=1, **given):
        """A graph launch with `n` calls; gives their ids."""
        launch = 1000 + round(start)
        given = {"graph": (launch, graph_id), "step": round(start), **given}
        return [self.call(start + i / 10, **given) for i in range(n)]

    def args(self, call, name, n_in, n_out, dtype="BFloat16", group_size=2):
        """What the kernel of a call has in its args."""
        self.con.execute(
            "INSERT INTO collective_arg BY NAME SELECT file_id, 'kernel' AS kind, name, start_ns,"
            " id AS correlation, $1 AS collective, $2 AS dtype, $3 AS n_in, $4 AS n_out,"
            " $5 AS group_size FROM matched WHERE id = $6",
            [name, dtype, n_in, n_out, group_size, call],
        )

    def op(self, name, start, dur, dims, types, kind="op", thread=1, rank=0):
        """An op or span on the host with shapes, seconds."""
        times = {"start_ns": round(start * SECOND), "dur_ns": round(dur * SECOND)}
        shapes = {"in_dims": json.dumps(dims), "in_types": json.dumps(types)}
        facts = {"file_id": rank, "kind": kind, "name": name, "thread": thread}
        self.insert("collective_arg", **facts, **times, **shapes)

    def step(self, step, tokens, rank=0):
        """A decode step with so many tokens."""
        load = {"n_prefill_tokens": 0, "n_decode_tokens": tokens}
        add(self.con, "step", "r", rank=rank, step=step, kind="decode", **load)

    def config(self, path="model/config.json", **said):
        """The model's config.json."""
        facts = {"file_id": 100, "path": path, "kind": "config"}
        add(self.con, "file", "r", **facts, metadata=json.dumps(said))

    def log(self, *runs, rank=0, comm="0xa", at=None, category="all_reduce", **given):
        """Lines of the log: (calls, elements) one after the other; `at` second of the first."""
        facts = {"host": "a", "pid": 1, "tid": 1, "n_ranks": 2, "dtype": "bfloat16", "root": 0}
        facts |= {
            "source": "coll",
            "collective": "AllReduce",
            "is_in_place": False,
            "stream": "0x1",
        }
        elements = [size for calls, size in runs for _ in range(calls)]
        for i, size in enumerate(elements):
            ((line,),) = self.con.execute("SELECT count(*) FROM nccl_call").fetchall()
            moment = None if at is None else round((at + i) * SECOND)
            row = {"file_id": 200 + rank, "at_byte": line, "rank": rank, "comm": comm, **facts}
            row |= {"category": category, "n_elements": size, "bytes": 2 * size, **given}
            self.insert("nccl_call", run="r", logged_ns=moment, **row)

    def tuning(self, size, algorithm="RING", protocol="LL", n_channels=None, **given):
        """NCCL's choice for a size in bytes."""
        row = {"run": "r", "file_id": 200, "at_byte": 1, "host": "a", "pid": 1, "tid": 1}
        row |= {"category": "all_reduce", "bytes": size, "n_channels": n_channels, **given}
        self.insert("nccl_tuning", **row, algorithm=algorithm, protocol=protocol)

    def insert(self, table, **row):
        """One row; columns and table are names of ours."""
        columns, marks = ", ".join(row), ", ".join("?" * len(row))
        self.con.execute(f"INSERT INTO {table} ({columns}) VALUES ({marks})", list(row.values()))

    def messages(self, *columns):
        """Columns of `message` by id of the call."""
        for name in MESSAGES:
            sql = files("tracekit.derive").joinpath(f"{name}.sql").read_text()
            run_script(self.con, sql, {"run": "r"})
        rows = self.con.execute(f"SELECT id, {', '.join(columns)} FROM message").fetchall()
        assert len(rows) == self.n
        return {row[0]: row[1:] if len(columns) > 1 else row[1] for row in rows}

    def told(self):
        """What the ledger says: (file, example)."""
        return self.con.execute("SELECT file_id, example FROM ledger ORDER BY ALL").fetchall()
