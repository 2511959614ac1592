"""Collectives: waiting and transfer, who comes last and why."""

import pytest
from comm_runs import FAST, UNNAMED, calls, database, signatures, work
from database import add, add_call, dicts, memory_database, us


def test_a_call_over_its_ranks():
    con = database(n_ranks=3)
    add_call(con, "r", 0, (100, 130, 110), (50, 20, 43), step=0, **FAST)
    (call,) = calls(con)
    assert (call["n_ranks"], call["group_size"], call["is_whole"]) == (3, 3, True)
    assert (call["last_dp"], call["last_rank"]) == (0, 1)
    assert (call["arrival_spread_ns"], call["completion_spread_ns"]) == (us(30), us(3))
    assert (call["transfer_ns"], call["others_wait_ns"]) == (us(20), us(25))
    assert call["waiting_ns"] == pytest.approx(53_000 / 3)
    assert call["wait_ns"] == pytest.approx(50_000 / 3)


def test_corrected_clocks_move_arrivals_and_ends():
    con = database()
    add_call(con, "r", 0, (100, 150), (40, 40), step=0, wait_ns=0, **FAST)
    early = {"n_early_before": 1, "n_early_after": 0}
    add(con, "clock_offset", "r", rank=0, offset_ns=us(25), is_applied=True, **early)
    add(con, "clock_offset", "r", rank=1, offset_ns=us(-25), is_applied=True, **early)
    (call,) = calls(con)
    assert (call["start_ns"], call["completion_spread_ns"]) == (us(125), 0)


@pytest.mark.parametrize(
    ("starved", "second", "delay"),
    [
        ((0, 100), (300, 400), "host"),  # rank 1 had nothing queued for as long as it is late
        ((0, 0), (300, 400), "device"),  # it had, and worked longer
        ((0, 40), (300, 400), "device"),  # 60 of the 100 us are work
        ((None, None), (300, 400), None),
        ((0, 0), (300, 300), None),  # nobody waits
    ],
    ids=str,
)
def test_why_the_last_rank_is_late(starved, second, delay):
    con = database()
    add_call(con, "r", 0, (100, 100), (50, 50), step=0, **FAST)
    times = tuple(None if time is None else us(time) for time in starved)
    facts = FAST | {"starved_ns": times, "launch_ns": (10, 30)}
    add_call(con, "r", 1, second, (120, 20), step=0, **facts)
    _, call = calls(con)
    assert call["delay"] == delay
    assert call["late_launch_ns"] == (None if second == (300, 300) else 20)


def test_the_first_call_has_no_work_before_it():
    con = database()
    add_call(con, "r", 0, (100, 200), (150, 50), step=0, **FAST)
    (call,) = calls(con)
    assert (call["late_starved_ns"], call["late_work_ns"], call["delay"]) == (0, None, None)


def test_ranks_without_a_trace_leave_a_call_incomplete():
    con = database(n_ranks=2, world_size=4)
    for number in range(6):
        add_call(con, "r", number, (100, 110), (20, 10), step=0, comm=UNNAMED, **FAST)
    assert not any(call["is_whole"] for call in calls(con))
    (row,) = signatures(con)
    assert (row["n_ranks"], row["group_size"], row["n_matched"]) == (2, 4, 6)
    assert (row["class"], row["missing"]) == ("inconclusive", "traces of 2 of 4 ranks")
    assert dicts(con, "comm_waiting", run="r") == []


@pytest.mark.parametrize("told", [{"match": "exact"}, {"match": "order", "comm": "tp"}])
def test_metadata_may_name_a_smaller_group(told):
    con = database(n_ranks=2, world_size=4)
    add_call(con, "r", 0, (100, 110), (20, 10), step=0, **told, **FAST)
    assert calls(con)[0]["is_whole"]


@pytest.mark.parametrize(
    ("durs", "named"),
    [((50, 20), "mixed"), ((300, 20), "skew"), ((24, 20), "transfer")],
    ids=str,
)
def test_the_class_is_the_part_of_the_time_that_is_waiting(durs, named):
    con = database()
    for number in range(5):
        add_call(con, "r", number, (0, durs[0] - durs[1]), durs, step=0, **FAST)
    (row,) = signatures(con)
    assert (row["class"], row["missing"]) == (named, None)
    assert row["wait_share"] == pytest.approx((durs[0] - durs[1]) / sum(durs))
    assert row["clocked_wait_share"] == row["wait_share"]


def test_few_calls_are_inconclusive():
    con = database()
    for number in range(4):
        add_call(con, "r", number, (0, 280), (300, 20), step=0, **FAST)
    (row,) = signatures(con)
    assert (row["class"], row["missing"]) == ("inconclusive", "too few calls: 4 of the 5 needed")


def test_estimates_that_contradict_each_other_are_inconclusive():
    con = database()
    for number in range(5):
        add_call(con, "r", number, (0, 0), (100, 20), step=0, **FAST)
    (row,) = signatures(con)
    assert row["class"] == "inconclusive"
    assert row["missing"] == "waiting is 67 % without clocks, 0 % by the clocks"


def test_calls_that_are_not_matched_are_inconclusive():
    con = database()
    unmatched = {"wait_ns": None, "transfer_ns": None, "match": "none", "group_size": None}
    for number in range(6):
        add_call(con, "r", number, (0,), (20,), step=0, ranks=(number % 2,), **FAST, **unmatched)
    (row,) = signatures(con)
    assert (row["n_matched"], row["matched_share"], row["calls"]) == (0, 0.0, 3.0)
    assert (row["dur_p50_ns"], row["class"]) == (us(20), "inconclusive")
    assert row["missing"] == "0 % of its calls are matched over ranks"
    assert (row["transfer_p50_ns"], row["wait_share"], row["last_rank"]) == (None, None, None)


def test_one_rank_alone_is_inconclusive():
    con = database(n_ranks=1, world_size=8)
    alone = {"wait_ns": None, "transfer_ns": None, "match": "none", "group_size": None}
    for number in range(6):
        add_call(con, "r", number, (0,), (20,), step=0, **FAST, **alone)
    (row,) = signatures(con)
    assert (row["class"], row["missing"]) == ("inconclusive", "traces of one rank only")
    assert (row["sum_ns"], row["busbw_gb_per_s"]) == (us(120), None)
    assert [issue["issue"] for issue in dicts(con, "comm_issues", run="r")] == ["one_rank"]


def test_signatures_are_told_apart_by_phase_impl_and_size():
    con = database(n_steps=2)
    for number, facts in enumerate(
        (
            {"step": 0},
            {"step": 0, "bytes": 28_000},
            {"step": 1, "phase": "verify"},
            {"step": 1, "impl": "custom_1stage"},
            {"step": 1},
        )
    ):
        add_call(con, "r", number, (0, 10), (30 + number, 20), **(FAST | facts))
    names = ("phase", "impl", "bytes", "n_matched", "calls", "sum_ns", "transfer_p50_ns")
    assert [tuple(row[name] for name in names) for row in signatures(con)] == [
        ("forward", "nccl", 14_000, 2, 1.0, us((30 + 34 + 40) / 4), us(20)),
        ("forward", "custom_1stage", 14_000, 1, 0.5, us(53 / 4), us(20)),
        ("verify", "nccl", 14_000, 1, 0.5, us(52 / 4), us(20)),
        ("forward", "nccl", 28_000, 1, 0.5, us(51 / 4), us(20)),
    ]
    assert [row["phase"] for row in signatures(con, phase="verify")] == ["verify"]
    assert signatures(con, category="all_gather") == []


def test_times_of_one_rank_and_the_class_of_all():
    con = database()
    for number in range(5):
        add_call(con, "r", number, (0, 80), (100, 20), step=0, **FAST)
    (row,) = signatures(con, rank=1)
    assert (row["sum_ns"], row["calls"], row["class"]) == (us(100), 5.0, "skew")
    assert row["share_of_step"] == 0.1


def test_bandwidth_and_bounds():
    con = database()
    for number in range(5):
        add_call(con, "r", number, (0, 0), (20, 20), step=0, model_ns=us(16), **FAST)
    (row,) = signatures(con)
    assert row["busbw_gb_per_s"] == pytest.approx(14_000 / us(20))  # 2(n-1)/n is 1
    assert (row["model_ns"], row["measured_ns"]) == (us(16), None)


@pytest.mark.parametrize(
    ("sizes", "measured"),
    [
        (((14_000, 12),), 12),
        (((10_000, 8), (18_000, 16)), 12),  # half way
        (((10_000, 8),), None),
        (((18_000, 8),), None),
    ],
    ids=str,
)
def test_a_calibration_is_read_at_the_size_of_the_message(sizes, measured):
    con = database()
    add_call(con, "r", 0, (0, 0), (20, 20), step=0, **FAST)
    add(con, "run", "bench")
    for n_bytes, time in sizes:
        point = {"n_ranks": 2, "bytes": n_bytes}
        add(con, "calibration", "bench", time_ns=us(time), mode="graph", **point)
        add(con, "calibration", "bench", time_ns=us(time + 9), mode="eager", **point)
        add(con, "calibration", "bench", time_ns=1, **(point | {"n_ranks": 8}))
        add(con, "calibration", "bench", time_ns=1, delayed_rank=0, delay_ns=us(5), **point)
    (row,) = signatures(con, calibration="bench")
    assert row["measured_ns"] == (None if measured is None else us(measured))
    (row,) = signatures(con)
    assert row["measured_ns"] is None


def test_waiting_and_transfer_add_up_to_the_row_of_the_breakdown():
    con = database(n_steps=2)
    for step in (0, 1):
        add_call(con, "r", step, (100, 130), (50, 20), step=step, **FAST)
        work(con, step, 1, (50, 20))
    total, row = dicts(con, "comm_waiting", run="r")
    assert (total["phase"], row["phase"]) == (None, "forward")
    assert (row["busy_ns"], row["waiting_ns"], row["transfer_ns"]) == (us(35), us(15), us(20))
    assert (row["unmatched_ns"], row["waiting_share"]) == (0, 15 / 35)
    assert (row["waiting_share_of_step"], row["transfer_share_of_step"]) == (0.015, 0.02)
    assert (row["last_rank"], row["last_share"], row["n_signatures"]) == (1, 1.0, 1)
    assert (row["impl"], row["bytes"], row["dtype"]) == ("nccl", 14_000, "BFloat16")
    (first, *_) = dicts(con, "breakdown", run="r")
    assert first["busy_ns"] == row["busy_ns"]


def test_a_step_is_told_of_whatever_its_kind():
    con = database(n_steps=2)
    con.execute("UPDATE step SET kind = 'prefill' WHERE step = 1")
    add_call(con, "r", 1, (100, 130), (50, 20), step=1, **FAST)
    work(con, 1, 1, (50, 20))
    assert dicts(con, "comm_waiting", run="r") == []
    _, row = dicts(con, "comm_waiting", run="r", step=1)
    assert row["waiting_ns"] == us(15)


def test_calls_side_by_side_make_all_parts_smaller():
    con = database()
    add_call(con, "r", 0, (100, 130), (50, 20), step=0, **FAST)
    add_call(con, "r", 1, (100, 130), (50, 20), step=0, **FAST)
    work(con, 0, 2, (100, 40), busy=35)
    _, row = dicts(con, "comm_waiting", run="r")
    assert row["busy_ns"] == us(35) == row["waiting_ns"] + row["transfer_ns"]
    assert row["waiting_ns"] == us((60 * 35 / 100 + 0) / 2)


def test_time_of_calls_that_are_not_matched_is_a_part_of_its_own():
    con = database()
    add_call(con, "r", 0, (100, 130), (50, 20), step=0, **FAST)
    unmatched = {"wait_ns": None, "transfer_ns": None, "match": "none"}
    add_call(con, "r", 1, (500,), (10,), step=0, **FAST, **unmatched)
    work(con, 0, 1, (60, 20))
    _, row = dicts(con, "comm_waiting", run="r")
    parts = (row["waiting_ns"], row["transfer_ns"], row["unmatched_ns"])
    assert parts == (us(15), us(20), us(5))
    assert sum(parts) == row["busy_ns"]


LATE = {0: (0, None), 1: (None, None), 2: (2, 2), 3: (2, 1)}
"""The rank that comes 40 us after the others in each of the two calls of a step."""


def straggling():
    con = database(n_ranks=3, n_steps=4)
    for step, calls_of_step in LATE.items():
        for k, late in enumerate(calls_of_step):
            start = 1_000 * step + 300 * k
            by = tuple(40 if rank == late else 0 for rank in range(3))
            starts = tuple(start + own for own in by)
            durs = tuple(max(by) - own + 30 for own in by)
            launched = tuple(us(start - 20 + own) for own in by)
            facts = FAST | {"starved_ns": tuple(map(us, by)), "launch_ns": launched}
            add_call(con, "r", 2 * step + k, starts, durs, step=step, **facts)
    return con


def test_who_waits_for_whom():
    found = {row["rank"]: row for row in dicts(straggling(), "comm_ranks", run="r")}
    assert list(found) == [2, 0, 1]  # what they cost the others
    last = found[2]
    assert (last["n_calls"], last["n_last"], last["last_share"]) == (8, 3, 3 / 8)
    assert (last["others_wait_ns"], last["cost_ns"]) == (us(40), us(3 * 40 / 4))
    assert (last["lateness_ns"], last["wait_ns"]) == (us(3 * 40 / 8), us(2 * 40 / 8))
    assert last["waiting_ns"] == last["wait_ns"]
    assert (last["host_share"], last["device_share"]) == (1.0, 0.0)
    assert (last["late_launch_ns"], last["late_starved_ns"]) == (us(40), us(40))


def test_the_straggler_of_a_step_is_who_half_of_its_waiting_is_for():
    found = {row["rank"]: row for row in dicts(straggling(), "comm_ranks", run="r")}
    names = ("n_steps", "n_habit_steps", "first_habit_step", "last_habit_step")
    habits = {rank: tuple(row[name] for name in names) for rank, row in found.items()}
    assert habits == {2: (4, 2, 2, 3), 0: (4, 1, 0, 0), 1: (4, 1, 3, 3)}


def test_where_nobody_waits_nobody_is_last():
    con = database()
    add_call(con, "r", 0, (0, 0), (20, 20), step=0, **FAST)
    work(con, 0, 1, (20, 20))
    assert signatures(con)[0]["last_rank"] is None
    assert dicts(con, "comm_waiting", run="r")[0]["last_rank"] is None
    assert [row["n_last"] for row in dicts(con, "comm_ranks", run="r")] == [0, 0]


def test_skew_of_all_calls():
    (skew,) = dicts(straggling(), "comm_skew", run="r")
    assert (skew["n_calls"], skew["n_steps"], skew["completion_p50_ns"]) == (8, 4, 0)
    assert (skew["arrival_p50_ns"], skew["arrival_p95_ns"]) == (us(40), us(40))
    # Five of the eight calls have a late rank, for which two of three wait 40 us.
    waited = round(us(5 * 40 * 2 / 3 / 4))
    assert (skew["waiting_ns"], skew["wait_ns"]) == (waited, waited)
    assert skew["sum_ns"] == waited + us(2 * 30)
    assert (skew["host_share"], skew["device_share"]) == (1.0, 0.0)
    assert (skew["n_clocks"], skew["n_corrected"], skew["n_early"]) == (0, 0, 0)


def test_without_launches_nothing_tells_why():
    con = database()
    add_call(con, "r", 0, (0, 40), (60, 20), step=0, **(FAST | {"starved_ns": None}))
    (skew,) = dicts(con, "comm_skew", run="r")
    assert (skew["host_share"], skew["device_share"]) == (None, None)
    assert {row["host_share"] for row in dicts(con, "comm_ranks", run="r")} == {None}


def test_clocks_are_stated():
    con = straggling()
    early = {"n_early_before": 9, "n_early_after": 2}
    add(con, "clock_offset", "r", rank=1, offset_ns=us(25), is_applied=True, spread_ns=300, **early)
    row = next(row for row in dicts(con, "comm_ranks", run="r") if row["rank"] == 1)
    assert (row["offset_ns"], row["clock_spread_ns"], row["n_early"]) == (us(25), 300, 2)
    (skew,) = dicts(con, "comm_skew", run="r")
    assert (skew["n_clocks"], skew["n_corrected"], skew["n_early"]) == (1, 1, 2)


def test_a_collective_over_two_engines():
    """Expert parallelism over data-parallel engines of one rank each, whose steps differ."""
    con = memory_database()
    add(con, "run", "r", world_size=2, tensor_parallel=1)
    for dp in (0, 1):
        add(con, "file", "r", file_id=dp, dp=dp, rank=0)
        times = {"start_ns": 0, "dur_ns": us(1_000), "busy_ns": us(900), "idle_ns": us(100)}
        add(con, "step", "r", dp=dp, rank=0, step=dp + 4, kind="decode", **times)
    where = {"ranks": (0, 0), "dp": (0, 1), "step": (4, 5)}
    add_call(con, "r", 0, (0, 30), (50, 20), **where, **FAST)
    (call,) = calls(con)
    assert (call["dp"], call["n_ranks"], call["is_whole"]) == (None, 2, True)
    assert (call["last_dp"], call["last_rank"]) == (1, 0)
    (row,) = signatures(con, dp=0)
    assert (row["calls"], row["sum_ns"], row["last_dp"]) == (1.0, us(50), 1)
    assert [(row["dp"], row["n_last"]) for row in dicts(con, "comm_ranks", run="r")] == [
        (1, 1),
        (0, 0),
    ]
