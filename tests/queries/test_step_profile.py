"""Steps over time: what fills each, and what ran in one."""

import pytest
from database import add, dicts, memory_database, us
from samples import CUSTOM_AR, MARLIN


def filled(con, **params):
    return [
        (row["first_step"], row["row_kind"], row["category"], row["busy_ns"])
        for row in dicts(con, "step_profile", run="baseline", **params)
    ]


def test_each_step_is_filled_by_its_work_and_what_closes_it(con):
    assert filled(con) == [
        (2, "work", "all_reduce", us(350)),
        (2, "work", "gemm", us(500)),
        (2, "overlap", None, 0),
        (2, "wait_for_work", None, 0),
        (2, "idle", None, us(150)),
        (3, "work", "all_reduce", us(700)),
        (3, "work", "gemm", us(700)),
        (3, "work", "sampling", us(30)),
        (3, "work", "copy", us(10)),
        (3, "work", "index", us(4)),
        (3, "overlap", None, us(56)),
        (3, "wait_for_work", None, us(200)),
        (3, "idle", None, us(400)),
    ]


def test_rows_of_a_step_add_up_to_it(con):
    for rank in (None, 0, 1):
        found = dicts(con, "step_profile", run="baseline", rank=rank)
        durations = {
            row["step"]: row["dur_ns"] for row in dicts(con, "step_list", run="baseline", rank=rank)
        }
        for step in (2, 3):
            rows = [row for row in found if row["first_step"] == step]
            assert sum(row["busy_ns"] for row in rows) == durations[step]
            assert sum(row["share_of_step"] for row in rows) == pytest.approx(1)


def test_more_steps_than_bins_are_taken_together_by_the_mean(con):
    found = dicts(con, "step_profile", run="baseline", bins=1)
    assert {(row["first_step"], row["last_step"], row["n_steps"]) for row in found} == {(2, 3, 2)}
    busy = {row["category"] or row["row_kind"]: row["busy_ns"] for row in found}
    assert (busy["all_reduce"], busy["sampling"], busy["idle"]) == (us(525), us(15), us(275))


def test_what_is_not_of_a_chosen_phase_or_category_is_the_rest_of_the_step(con):
    assert filled(con, phase="sample") == [
        (2, "rest", None, us(1000)),
        (3, "work", "sampling", us(30)),
        (3, "rest", None, us(2070)),
    ]
    assert filled(con, category="gemm", rank=0)[:2] == [
        (2, "work", "gemm", us(500)),
        (2, "rest", None, us(500)),
    ]


def test_one_rank_and_one_step_can_be_chosen(con):
    assert filled(con, rank=1)[0] == (2, "work", "all_reduce", us(300))
    (row,) = dicts(con, "step_list", run="baseline", step=3)
    assert (row["step"], row["dur_ns"]) == (3, us(2100))
    spans = dicts(con, "step_histogram", run="baseline", rank=1)
    assert (spans[0]["low_ns"], sum(row["n"] for row in spans)) == (us(1000), 2)


def drawn(con, **params):
    names = ("rank", "start_ns", "dur_ns", "n", "name")
    rows = dicts(con, "timeline", run="baseline", step=2, **params)
    return [tuple(row[name] for name in names) for row in rows]


def test_the_timeline_has_each_activity_with_times_from_the_start_of_the_step(con):
    assert drawn(con, rank=1) == [
        (1, 0, us(200), 1, CUSTOM_AR),
        (1, us(200), us(100), 1, CUSTOM_AR),
        (1, us(400), us(150), 1, MARLIN),
        (1, us(500), us(100), 1, MARLIN),
    ]
    first = dicts(con, "timeline", run="baseline", step=2)[0]
    assert (first["queued_ns"], first["step"], first["n_window"]) == (us(30), 2, 8)


def test_the_timeline_has_what_reaches_into_the_window_alone(con):
    window = {"from_ns": us(399), "to_ns": us(401)}
    assert drawn(con, **window) == [
        (0, us(200), us(200), 1, CUSTOM_AR),
        (0, us(400), us(150), 1, MARLIN),
        (1, us(400), us(150), 1, MARLIN),
    ]


def test_what_is_too_much_to_draw_is_in_blocks_and_nothing_is_left_out(con):
    assert drawn(con, top=3) == [
        (0, 0, us(200), 1, CUSTOM_AR),
        (0, us(200), us(200), 1, CUSTOM_AR),
        (0, us(400), us(200), 2, None),
        (1, 0, us(200), 1, CUSTOM_AR),
        (1, us(200), us(100), 1, CUSTOM_AR),
        (1, us(400), us(200), 2, None),
    ]
    block = dicts(con, "timeline", run="baseline", step=2, top=3)[2]
    assert (block["sum_ns"], block["category"], block["queued_ns"]) == (us(250), "moe_gemm", None)


def test_ranks_stand_side_by_side_on_corrected_clocks():
    con = memory_database()
    add(con, "run", "r")
    for rank, start in ((0, 0), (1, 1_000_000)):
        own = {"rank": rank, "step": 4, "start_ns": us(start)}
        add(con, "step", "r", kind="decode", dur_ns=us(50), **own)
        add(con, "activity", "r", activity_id=0, name="k", category="gemm", dur_ns=us(10), **own)
    clock = {"offset_ns": -us(1_000_100), "is_applied": True, "drift_ppm": 90.0, "origin_ns": 0}
    clock |= {"n_early_before": 0, "n_early_after": 0}
    add(con, "clock_offset", "r", rank=1, **clock)
    found = dicts(con, "timeline", run="r", step=4)
    assert [(row["rank"], row["start_ns"]) for row in found] == [(0, us(10)), (1, 0)]


def test_a_step_that_is_not_there_has_no_timeline(con):
    assert dicts(con, "timeline", run="baseline", step=99) == []
