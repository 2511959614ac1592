"""Collectives over ranks: which calls are one, who waited for whom, whose clock is off."""

import pytest
from database import memory_run
from traces import ALL_REDUCE, GEMM, NORM, Trace, decode, ingest

ALL_GATHER = "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
NCCL = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
TWO_SHOT = "void flashinfer::trtllm_mnnvl_allreduce::twoshotAllreduceKernel<8>("
TAIL = "void flashinfer::trtllm_mnnvl_allreduce::rmsNormLamport<8>("
SEND_RECV = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"

PERIOD = 100
"""Microseconds from one call to the next of a step."""


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


def matched(db, columns="seq, rank, wait_ns, transfer_ns, match"):
    return db.sql(f"SELECT {columns} FROM collectives ORDER BY collective, rank").fetchall()


def doubts(db):
    query = (
        "SELECT DISTINCT regexp_extract(reason, '\\((.*)\\)', 1) FROM ingest_ledger"
        " WHERE reason LIKE 'collectives%' ORDER BY ALL"
    )
    return [reason for (reason,) in db.sql(query).fetchall()]


def test_the_last_rank_waits_for_nobody_and_the_shortest_call_is_the_transfer(tmp_path):
    first = step(Trace(0), 0, [(0, 50), (20, 30)])
    second = step(Trace(1), 0, [(30, 20), (0, 50)])
    assert matched(ingest(tmp_path, first, second)) == [
        (0, 0, 30_000, 20_000, "order"),
        (0, 1, 0, 20_000, "order"),
        (1, 0, 0, 30_000, "order"),
        (1, 1, 20_000, 30_000, "order"),
    ]


def test_a_single_rank_has_calls_that_match_nothing_and_nobody_is_told(tmp_path):
    db = ingest(tmp_path, step(Trace(0), 0, [(0, 50)]))
    assert matched(db) == [(0, 0, None, None, "none")]
    assert doubts(db) == []


def test_a_kernel_that_ends_the_one_before_is_part_of_its_call(tmp_path):
    def split(rank, late):
        trace = decode(Trace(rank), 1_000)
        trace.run(TWO_SHOT, 1_016, 1_100 + late, 10)
        return trace.run(TAIL, 1_017, 1_112 + late, 8)

    db = ingest(tmp_path, split(0, 0), split(1, 5))
    columns = "rank, dur_ns, n_activities, is_fused, impl, wait_ns"
    assert matched(db, columns) == [
        (0, 20_000, 2, True, "mnnvl", 5_000),
        (1, 20_000, 2, True, "mnnvl", 0),
    ]


def test_a_tail_after_something_else_is_a_call_of_its_own(tmp_path):
    trace = decode(Trace(0), 1_000).run(TWO_SHOT, 1_015, 1_100, 10)
    trace.run(NORM, 1_016, 1_112, 3).run(TAIL, 1_017, 1_120, 8)
    assert matched(ingest(tmp_path, trace), "dur_ns, n_activities") == [(10_000, 1), (8_000, 1)]


def test_the_same_replay_on_all_ranks_is_a_template(tmp_path):
    def replay(rank):
        trace = Trace(rank)
        for start in (1_000, 2_000):
            trace.scope("execute_context_0(0)_generation_1(1)", start, 20)
            kernels = [(GEMM, start + 10, 20, 7), (ALL_REDUCE, start + 40, 30, 7)]
            trace.graph(kernels, start + 5)
        return trace

    db = ingest(tmp_path, replay(0), replay(1))
    assert [row[-1] for row in matched(db)] == ["template"] * 4


def test_seq_of_the_process_group_outranks_the_order(tmp_path):
    def rank(number, seqs):
        trace = decode(Trace(number), 1_000)
        for place, seq in enumerate(seqs):
            trace.run(NCCL, 1_016, 1_100 + 100 * place, 50, **group(seq, [0, 1], desc="TP"))
        return trace

    db = ingest(tmp_path, rank(0, [4, 5, 6]), rank(1, [4, 6]))
    assert matched(db, "comm, seq, rank, match") == [
        ("TP", 4, 0, "exact"),
        ("TP", 4, 1, "exact"),
        ("TP", 5, 0, "none"),
        ("TP", 6, 0, "exact"),
        ("TP", 6, 1, "exact"),
    ]
    assert doubts(db) == ["kept, unmatched"]


def grouped(number, ranks, *seqs):
    trace = decode(Trace(number), 1_000)
    for place, seq in enumerate(seqs):
        trace.run(NCCL, 1_016, 1_100 + 100 * place, 50, **group(seq, ranks, desc="TP"))
    return trace


def test_a_group_of_more_ranks_than_it_says_is_no_proof(tmp_path):
    db = ingest(tmp_path, *(grouped(number, [0, 1], 4) for number in range(4)))
    found = matched(db, "rank, match, group_size")
    assert found == [(rank, "order", 4) for rank in range(4)]
    assert doubts(db) == ["kept, matched by order"]


def test_a_seq_that_repeats_is_no_proof(tmp_path):
    db = ingest(tmp_path, *(grouped(number, [0, 1], 4, 4, 5) for number in (0, 1)))
    found = matched(db, "seq, rank, match")
    assert found == [
        *[(4, rank, "order") for _ in range(2) for rank in (0, 1)],
        (5, 0, "exact"),
        (5, 1, "exact"),
    ]
    assert doubts(db) == ["kept, matched by order"]


def test_two_groups_of_one_description_are_two_communicators(tmp_path):
    def rank(number):
        ranks = [0, 1] if number < 2 else [2, 3]
        args = group(7, ranks, name=str(ranks[0]), desc="TP")
        trace = decode(Trace(number), 1_000)
        return trace.run(NCCL, 1_016, 1_100 + 10 * number, 100 - 10 * number, **args)

    db = ingest(tmp_path, *map(rank, range(4)))
    assert matched(db, "rank, collective, wait_ns, group_size") == [
        (0, 0, 10_000, 2),
        (1, 0, 0, 2),
        (2, 1, 10_000, 2),
        (3, 1, 0, 2),
    ]
    comms = ["TP 0 [0, 1]"] * 2 + ["TP 2 [2, 3]"] * 2
    assert [comm for comm, _ in matched(db, "comm, rank")] == comms


@pytest.mark.parametrize("lacks", [{"Seq"}, {"Seq", "Group size"}])
def test_a_group_without_seq_is_whole_with_as_many_ranks_as_it_says(tmp_path, lacks):
    def rank(number):
        ranks = [0, 1] if number < 2 else [2, 3]
        args = group(7, ranks, name=str(ranks[0]), desc="TP")
        told = {name: value for name, value in args.items() if name not in lacks}
        return decode(Trace(number), 1_000).run(NCCL, 1_016, 1_100, 100, **told)

    query = "SELECT match, group_size, is_whole FROM collective_calls"
    db = ingest(tmp_path, *map(rank, range(4)))
    assert db.sql(query).fetchall() == [("order", 2, True)] * 2


def test_a_lost_call_does_not_shift_the_others(tmp_path):
    def rank(number, lost=None):
        calls = [(10 * number, 50 - 10 * number)] * 5
        if lost is not None:
            calls[lost] = None
        return step(Trace(number), 0, calls)

    db = ingest(tmp_path, rank(0), rank(1, lost=2), rank(2))
    found = matched(db, "(start_ns - 1700000000001100000) // 100000, rank, wait_ns, match")
    whole = [(k, r, 20_000 - 10_000 * r, "order") for k in (0, 1, 3, 4) for r in range(3)]
    assert sorted(found) == sorted([*whole, (2, 0, None, "none"), (2, 2, None, "none")])


def test_equal_counts_with_different_losses_are_found_out(tmp_path):
    whole = [(0, 50)] * 6
    first = step(Trace(0), 0, [None, *whole[1:]])
    second = step(Trace(1), 0, [*whole[:5], None])
    db = ingest(tmp_path, first, second)
    assert [row[1:] for row in matched(db)] == [
        (1, None, None, "none"),
        *[(rank, 0, 50_000, "order") for _ in range(4) for rank in (0, 1)],
        (0, None, None, "none"),
    ]
    assert doubts(db) == ["kept, paired by time", "kept, unmatched"]


def test_a_rank_without_any_of_them_leaves_the_others_unmatched(tmp_path):
    ranks = [step(Trace(rank), 0, [(0, 50)]) for rank in range(3)]
    ranks[2] = step(Trace(2), 0, [(0, 50)], name=ALL_GATHER)
    db = ingest(tmp_path, *ranks)
    assert {match for (match,) in matched(db, "match")} == {"none"}


def test_draft_and_target_are_told_apart(tmp_path):
    def rank(number):
        trace = Trace(number)
        trace.scope("execute_context_0(0)_generation_1(3)", 1_000, 40)
        trace.scope("gpu_model_runner: forward", 1_001, 30)
        trace.scope("gpu_model_runner: draft", 1_050, 30)
        trace.run(ALL_REDUCE, 1_010, 1_100, 20)
        return trace.run(ALL_REDUCE, 1_060, 1_200, 20)

    db = ingest(tmp_path, rank(0), rank(1))
    assert matched(db, "rank, phase, match") == [
        (0, "verify", "order"),
        (1, "verify", "order"),
        (0, "draft", "order"),
        (1, "draft", "order"),
    ]


def test_training_without_steps_is_paired_where_it_overlaps(tmp_path):
    def rank(number, places):
        trace = Trace(number)
        for place in places:
            trace.run(NCCL, 500 + 100 * place, 1_000 + 100 * place, 50)
        return trace

    db = ingest(tmp_path, rank(0, range(5)), rank(1, range(1, 6)))
    assert [row[1:] for row in matched(db)] == [
        (0, None, None, "none"),
        *[(rank, 0, 50_000, "order") for _ in range(4) for rank in (0, 1)],
        (1, None, None, "none"),
    ]
    assert doubts(db) == ["kept, paired by time", "kept, unmatched"]


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


def test_pipeline_stages_reduce_each_for_itself(tmp_path):
    traces = []
    for pp in range(2):
        for tp in range(2):
            trace = step(Trace(None), 0, [(10 * tp + 20 * pp, 50)])
            trace.run(SEND_RECV, 1_018, 1_300 + 30 * pp, 40)
            path = tmp_path / f"dp0_pp{pp}_tp{tp}_dcp0_ep{tp}_rank{2 * pp + tp}.1.pt.trace.json"
            trace.write(tmp_path).rename(path)
            traces.append(path)
    found = memory_run(*traces).sql(
        "SELECT category, list(rank ORDER BY rank), max(wait_ns) FROM collectives"
        " GROUP BY category, collective ORDER BY ALL"
    )
    assert found.fetchall() == [
        ("all_reduce", [0, 1], 10_000),
        ("all_reduce", [2, 3], 10_000),
        ("send_recv", [0, 2], 30_000),
        ("send_recv", [1, 3], 30_000),
    ]


def test_starved_says_that_the_straggler_was_launched_late(tmp_path):
    """Rank 0 computes longer; rank 1 is launched late: its device had nothing queued."""

    def rank(number, launch, start, dur):
        trace = decode(Trace(number), 1_000)  # its GEMM and copy end at 1,041
        trace.run(ALL_REDUCE, 1_016, 1_050, 50)
        trace.run(GEMM, launch, start, dur)
        return trace.run(ALL_REDUCE, launch + 1, start + dur, 40)

    late_device, late_host = rank(0, 1_020, 1_100, 200), rank(1, 1_250, 1_260, 40)
    db = ingest(tmp_path, late_device, late_host)
    found = matched(db, "seq, rank, starved_ns")
    assert found[2:] == [(1, 0, 0), (1, 1, 150_000)]
