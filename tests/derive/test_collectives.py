"""Collectives over ranks: which calls are one, who waited for whom."""

import pytest
from database import memory_run
from rank_calls import NCCL, doubts, group, matched, step
from traces import ALL_REDUCE, GEMM, NORM, Trace, decode, ingest

ALL_GATHER = "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
TWO_SHOT = "void flashinfer::trtllm_mnnvl_allreduce::twoshotAllreduceKernel<8>("
TAIL = "void flashinfer::trtllm_mnnvl_allreduce::rmsNormLamport<8>("
SEND_RECV = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"


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
