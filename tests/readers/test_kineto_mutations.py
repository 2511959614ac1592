"""Random damage to a trace: an error of ours or a balanced ledger, never anything else."""

import gzip
import json
import time

import pytest
from mutations import mutated

from tracekit.errors import TracekitError

SHARED_TRACE = "public/vllm_mi300_fullgraph_decode.json.gz"
SECONDS = 10
"""More than a hundred times what reading the trace takes."""


def like_a_real_one():
    """A few steps of two kernels each, with all that surrounds them in a real file."""
    events = [{"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "args": {"name": "python"}}]
    for i in range(60):
        ids = {"External id": i, "correlation": 100 + i}
        at = 4909914679000.125 + 50 * i
        base = {"ph": "X", "pid": 1, "tid": 1, "dur": 7.25}
        scope = f"execute_context_0(0)_generation_{i}({i})"
        events += [
            base | {"cat": "user_annotation", "name": scope, "ts": at},
            base | {"cat": "cpu_op", "name": "aten::mm", "ts": at + 1, "args": ids},
            base | {"cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": at + 2, "args": ids},
            {"ph": "s", "id": 100 + i, "pid": 1, "tid": 1, "ts": at + 2, "cat": "ac2g"},
            base
            | {"cat": "kernel", "name": "void gemm<4, (int)7>(float*)", "tid": 7, "ts": at + 5}
            | {"args": ids | {"stream": 7, "device": 0, "grid": [1, 2, 3], "block": [4, 1, 1]}},
        ]
    head = {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "GPU"}]}
    tail = {"baseTimeNanoseconds": 1719853884000000000, "distributedInfo": {"rank": 0}}
    return json.dumps(head | {"traceEvents": events} | tail).encode()


def check(read, content, name):
    started = time.monotonic()
    try:
        staged = read(content, name)
    except TracekitError:
        return
    ((kept,),) = staged.rows("SELECT count(*) FROM kept")
    assert staged.file()["events"] == kept + sum(n for n, _ in staged.ledger().values())
    assert time.monotonic() - started < SECONDS


@pytest.mark.parametrize("seed", range(100))
def test_damaged_json_is_read_or_refused(read, seed):
    check(read, mutated(like_a_real_one(), seed), "t.json")


@pytest.mark.parametrize("seed", range(30))
def test_damaged_gzip_is_read_or_refused(read, seed):
    check(read, mutated(gzip.compress(like_a_real_one()), seed), "t.json.gz")


@pytest.mark.parametrize("seed", range(20))
def test_a_damaged_recorded_trace_is_read_or_refused(read, shared, seed):
    data = gzip.decompress((shared / SHARED_TRACE).read_bytes())
    check(read, mutated(data, seed), "t.json")
