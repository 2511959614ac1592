"""The headlines of runs side by side: each is that of the run by itself."""

import pytest
from database import add, dicts, memory_database, us

FIGURES = ("n_steps", "step_p50_ns", "ns_per_token", "all_reduce_share_of_step")


@pytest.mark.parametrize("run", ["baseline", "eagle3", "stalled"])
def test_a_run_has_the_headline_of_its_breakdown(con, run):
    (row,) = dicts(con, "run_headline", run=run)
    (alone,) = dicts(con, "breakdown_headline", run=run)
    assert row["kind"] == alone["kind"]
    assert [row[name] for name in FIGURES] == pytest.approx([alone[name] for name in FIGURES])


def test_every_run_has_a_row(con):
    found = dicts(con, "run_headline")
    assert [row["run"] for row in found] == ["baseline", "eagle3", "stalled"]
    assert [row["n_lost"] for row in found] == [row["n_lost"] for row in dicts(con, "run_list")]
    assert [row["is_unprofiled"] for row in found] == [False, False, False]


def test_a_run_without_steps_has_no_headline():
    con = memory_database()
    add(con, "run", "r")
    (row,) = dicts(con, "run_headline")
    assert [row[name] for name in ("kind", *FIGURES)] == [None, 0, None, None, None]


def test_a_run_of_which_no_token_is_told_has_no_time_of_one():
    con = memory_database()
    add(con, "run", "r")
    add(con, "step", "r", rank=0, step=0, kind="prefill", dur_ns=us(9), busy_ns=us(8), idle_ns=0)
    (row,) = dicts(con, "run_headline")
    assert (row["kind"], row["ns_per_token"], row["is_unprofiled"]) == ("prefill", None, None)
