"""Waiting by rank and step, and the curves that collectives can be compared with."""

import pytest
from database import add, dicts, memory_database, rows, us


def waits(con, **params):
    return [
        (row["rank"], row["first_step"], row["waiting_ns"], row["n_last"], row["cost_ns"])
        for row in dicts(con, "comm_rank_steps", run="baseline", **params)
    ]


def test_each_rank_and_step_has_its_waiting_and_what_others_wait_for_it(con):
    assert waits(con) == [
        (0, 2, us(100), 0, 0),
        (0, 3, us(100), 1, us(100)),
        (1, 2, 0, 1, us(100)),
        (1, 3, us(100), 1, us(100)),
    ]


def test_more_steps_than_bins_are_taken_together_by_the_mean(con):
    assert waits(con, bins=1) == [(0, 2, us(100), 1, us(50)), (1, 2, us(50), 2, us(100))]


def test_the_mean_over_ranks_and_steps_is_the_waiting_that_comms_tells(con):
    (skew,) = dicts(con, "comm_skew", run="baseline")
    found = dicts(con, "comm_rank_steps", run="baseline")
    for column in ("waiting_ns", "wait_ns"):
        mean = sum(row[column] for row in found) / len(found)
        assert mean == pytest.approx(skew[column], abs=1)


def test_calls_of_one_category_or_phase_alone(con):
    assert waits(con, category="all_reduce") == waits(con)
    assert waits(con, category="all_gather") == []
    assert waits(con, phase="draft") == []


def test_runs_with_a_measured_curve(con):
    assert rows(con, "calibration_list") == [("baseline", None, [2], ["all_reduce"], 1)]


def test_a_curve_may_not_tell_its_ranks():
    con = memory_database()
    add(con, "run", "r")
    add(con, "calibration", "r", bytes=1, time_ns=1)
    assert rows(con, "calibration_list") == [("r", None, [], ["all_reduce"], 1)]
