"""Times of calls, over all ranks, as the figures of calibration.json."""

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import distributed
from tracekit_bench_calls import Call, Clock

Table = list[list[int]]
"""A row per repetition, a column per call, ns; the last column is the whole repetition."""


def timed(
    calls: Sequence[Call], n: int, clock: Clock, before: Callable[[], None], delay_ns: int = 0
) -> Table:
    """Run the calls in their order, `n` times; `before` each time, a delay before each call."""
    marks = []
    for _ in range(n):
        before()
        row = []
        for call in calls:
            if delay_ns:
                clock.delay(delay_ns)
            begin = clock.mark()
            call.run()
            row.append((begin, clock.mark()))
        marks.append(row)
    clock.settle()
    return [
        [*(clock.ns(begin, end) for begin, end in row), clock.ns(row[0][0], row[-1][1])]
        for row in marks
    ]


def over_ranks(table: Table, control: Any, *, is_longest: bool = True) -> Table:
    """Each time as the rank has it that took longest, or shortest."""
    found = torch.tensor(table, dtype=torch.int64)
    operation = distributed.ReduceOp.MAX if is_longest else distributed.ReduceOp.MIN
    distributed.all_reduce(found, op=operation, group=control)
    rows: Table = found.tolist()
    return rows


def by_size(calls: Sequence[Call], table: Table) -> dict[int, list[int]]:
    """Times of single calls by their bytes; of calls timed as one each has the mean."""
    found: dict[int, list[int]] = defaultdict(list)
    for row in table:
        for call, ns in zip(calls, row, strict=False):  # the last column is of all of them
            found[call.n_bytes] += [round(ns / call.n_calls)] * call.n_calls
    return found


def figures(times: Sequence[int]) -> dict[str, int]:
    """Percentiles by the nearest rank."""
    ordered = sorted(times)
    return {
        "n": len(ordered),
        "p50_ns": ordered[math.ceil(0.5 * len(ordered)) - 1],
        "p95_ns": ordered[math.ceil(0.95 * len(ordered)) - 1],
        "min_ns": ordered[0],
    }
