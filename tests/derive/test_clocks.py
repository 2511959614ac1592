"""Whose clock is off, found by the ends of collectives."""

import pytest
from rank_calls import NCCL, doubts, group, matched, step
from traces import Trace, ingest


def clocked(clocks, hosts=None, n=8, skew=(0, 1, 0, 2)):
    """Ranks whose GPU clocks are off; each call's ends lie apart by what `skew` says."""
    traces = []
    for rank, clock in enumerate(clocks):
        trace = Trace(rank, host=hosts[rank] if hosts else "node-a")
        for number in range(n):
            late = 10 * ((rank + number) % len(clocks))
            calls = [(late, 60 - late + skew[(rank + k) % len(skew)]) for k in range(4)]
            step(trace, number, calls, clock)
        traces.append(trace)
    return traces


def offsets(db):
    query = "SELECT offset_ns, is_applied FROM clock_offset ORDER BY rank"
    return db.sql(query).fetchall()


def wrong_waits(db, ranks, tolerance_ns):
    """Calls whose wait is not what `clocked` made it."""
    query = """
    SELECT count(*)
    FROM collectives
    WHERE wait_ns IS NULL
        OR abs(wait_ns - 10000 * ($ranks - 1 - (rank + step) % $ranks)) > $tolerance
    """
    values = {"ranks": ranks, "tolerance": tolerance_ns}
    return db.execute(query, values).fetchall()[0][0]


def test_on_a_common_clock_nothing_is_corrected(tmp_path):
    db = ingest(tmp_path, *clocked([0, 0, 0, 0]))
    assert [applied for _, applied in offsets(db)] == [False] * 4
    assert wrong_waits(db, 4, 0) == 0


@pytest.mark.parametrize("clock", [50, -50, 12])
def test_a_clock_that_is_off_is_found_within_two_microseconds(tmp_path, clock):
    db = ingest(tmp_path, *clocked([0, 0, clock, 0]))
    found = offsets(db)
    assert abs(found[2][0] + 1_000 * clock) <= 2_000
    assert [applied for _, applied in found] == [False, False, True, False]
    assert wrong_waits(db, 4, 2_000) == 0
    early = db.sql("SELECT sum(n_early_after)::BIGINT FROM clock_offset").fetchall()
    assert early == [(0,)]


def test_of_two_ranks_one_is_corrected(tmp_path):
    db = ingest(tmp_path, *clocked([0, 40], skew=(0, 0)))
    assert offsets(db) == [(0, False), (-40_000, True)]
    assert wrong_waits(db, 2, 0) == 0


def test_few_calls_correct_no_clock(tmp_path):
    db = ingest(tmp_path, *clocked([0, 30, 0], n=1))
    assert [applied for _, applied in offsets(db)] == [False] * 3


@pytest.mark.parametrize("hosts", [("a", "a"), ("a", "b")])
@pytest.mark.parametrize("drift", [10, -10])
def test_a_clock_that_drifts_is_set_right(tmp_path, drift, hosts):
    """By 50 us in a second, in steps of 200 ms: ends of early and late ones lie 400 us apart."""
    first, second = (Trace(rank, host=host) for rank, host in enumerate(hosts))
    for number in range(40):
        step(first, number, [(0, 50)], every=200_000)
        step(second, number, [(20, 30)], 30 + drift * number, every=200_000)
    db = ingest(tmp_path, first, second)
    far, near = db.sql(
        "SELECT min(wait_ns), max(wait_ns), min(transfer_ns), max(transfer_ns), count(wait_ns)"
        " FROM collectives GROUP BY rank ORDER BY rank"
    ).fetchall()
    assert near == (0, 0, 30_000, 30_000, 40)
    assert 19_950 <= far[0] <= far[1] <= 20_050
    assert db.sql("SELECT DISTINCT last_rank FROM collective_calls").fetchall() == [(1,)]
    drifts = "SELECT max(drift_ppm) - min(drift_ppm) FROM clock_offset"
    assert db.sql(drifts).fetchall() == [(pytest.approx(50, rel=0.01),)]


@pytest.mark.parametrize("args", [{}, {"name": NCCL}], ids=["by order", "by Seq"])
def test_a_clock_that_jumps_tells_no_waits(tmp_path, args):
    first, second = Trace(0), Trace(1)
    for number in range(40):
        told = args and {**args, **group(number, [0, 1], desc="TP")}
        step(first, number, [(0, 50)], **told)
        step(second, number, [(20, 30)], 400 * (number >= 20), **told)
    db = ingest(tmp_path, first, second)
    found = db.sql("SELECT wait_ns, transfer_ns, last_rank FROM collective_calls").fetchall()
    assert found == [(None, 30_000, 1)] * 40
    assert doubts(db) == ["kept, waits unknown"]


@pytest.mark.parametrize(("jump", "at"), [(20, 20), (10, 9), (-6, 20)])
def test_a_clock_that_jumps_by_little_is_not_taken_for_one_that_drifts(tmp_path, jump, at):
    first, second = Trace(0), Trace(1)
    for number in range(40):
        step(first, number, [(0, 50)])
        step(second, number, [(20, 30)], jump * (number >= at))
    db = ingest(tmp_path, first, second)
    found = db.sql("SELECT wait_ns, transfer_ns, last_rank FROM collective_calls").fetchall()
    assert found == [(None, 30_000, 1)] * 40
    assert doubts(db) == ["kept, waits unknown"]


def test_ends_that_move_less_than_their_noise_are_no_drift(tmp_path):
    db = ingest(tmp_path, *clocked([0, 0, 50, 0], n=40, skew=(0, 3, 0, 5)))
    assert db.sql("SELECT DISTINCT drift_ppm FROM clock_offset").fetchall() == [(0,)]


def test_hosts_are_brought_together_by_their_collectives(tmp_path):
    far = 7_000_000
    hosts = ["a", "a", "b", "b"]
    db = ingest(tmp_path, *clocked([0, 0, far, far], hosts))
    assert [applied for _, applied in offsets(db)] == [True] * 4
    assert wrong_waits(db, 4, 2_000) == 0


def test_hosts_with_too_few_calls_have_transfers_but_no_waits(tmp_path):
    db = ingest(tmp_path, *clocked([0, 5_000], ["a", "b"], n=1, skew=(0,)))
    assert matched(db, "wait_ns, transfer_ns, match")[:2] == [(None, 50_000, "order")] * 2
    assert doubts(db) == ["kept, waits unknown"]
