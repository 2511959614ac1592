"""What holds for any steps and any kernels."""

import pytest
from database import add, dicts, memory_database
from hypothesis import given, settings
from hypothesis import strategies as st

START, END = 0, 1_000
interval = st.tuples(
    st.integers(START, END - 1), st.integers(0, 300), st.sampled_from("abc"), st.integers(0, 1)
)


def union(intervals):
    covered = {t for start, dur in intervals for t in range(start, start + dur)}
    return len(covered)


@pytest.fixture(scope="module")
def con():
    return memory_database()


def fill(con, ranks):
    """A step on each rank, its window START to END, with the kernels of one list each."""
    for table in ("run", "step", "activity", "step_category", "kernel"):
        con.execute(f"DELETE FROM {table}")
    add(con, "run", "r")
    for rank, kernels in enumerate(ranks):
        busy = union([(start, min(dur, END - start)) for start, dur, _, _ in kernels])
        times = {"start_ns": START, "dur_ns": END - START, "busy_ns": busy}
        idle = END - START - busy
        add(con, "step", "r", rank=rank, step=0, kind="decode", idle_ns=idle, **times)
        for number, (start, dur, name, stream) in enumerate(kernels):
            kernel = {"name": name, "category": "gemm", "stream": stream, "step": 0}
            add(
                con,
                "activity",
                "r",
                rank=rank,
                activity_id=number,
                start_ns=start,
                dur_ns=dur,
                **kernel,
            )


@settings(deadline=None, max_examples=40)
@given(st.lists(st.lists(interval, max_size=8), min_size=1, max_size=3))
def test_rows_are_unions_and_close_to_the_step(con, ranks):
    fill(con, ranks)
    found = dicts(con, "breakdown", run="r", by="kernel")
    work = {row["name"]: row for row in found if row["row_kind"] == "work"}
    for name in work:
        unions = [union([(s, d) for s, d, n, _ in kernels if n == name]) for kernels in ranks]
        calls = sum(n == name for kernels in ranks for *_, n, _ in kernels)
        assert work[name]["busy_ns"] == pytest.approx(sum(unions) / len(ranks), abs=0.5)
        assert work[name]["calls"] == pytest.approx(calls / len(ranks))
    assert set(work) == {n for kernels in ranks for *_, n, _ in kernels}
    assert sum(row["busy_ns"] for row in found[:-1]) == found[-1]["busy_ns"] == END - START


@settings(deadline=None, max_examples=40)
@given(
    st.lists(
        st.tuples(st.sampled_from(["forward", "sample", "draft"]), st.integers(1, 900)),
        min_size=1,
        max_size=9,
    ),
    st.sampled_from([0.0, 0.01, 0.2, 1.1]),
)
def test_folding_changes_no_sum(con, parts, fold):
    fill(con, [[]])
    con.execute("UPDATE step SET busy_ns = 900, idle_ns = 100")
    for number, (phase, busy) in enumerate(parts):
        row = {"step": 0, "rank": 0, "phase": phase, "n": 1, "sum_ns": busy, "busy_ns": busy}
        add(con, "step_category", "r", category=f"c{number}", exposed_ns=busy, **row)
    whole = dicts(con, "breakdown", run="r")
    folded = dicts(con, "breakdown", run="r", fold=fold)
    for name in ("busy_ns", "exposed_ns", "calls"):
        assert sum(row[name] or 0 for row in folded) == sum(row[name] or 0 for row in whole)
    assert folded[-1] == whole[-1]
    assert len(folded) <= len(whole)
