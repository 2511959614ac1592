"""Comparisons of runs whose servers were timed without the profiler, too."""

import pytest
from comparing import add_run, add_windows, add_work
from database import dicts, memory_database, us

STEPS = [15_000, 15_100, 14_900, 15_050] * 3


@pytest.fixture
def db():
    """Profiled, the run with drafts seems slower: it suffers more, and has few tokens at first."""
    con = memory_database()
    add_run(con, "plain", STEPS)
    add_run(con, "drafted", [3 * time for time in STEPS], tokens=2, speculative_method="eagle3")
    con.execute("UPDATE step SET is_verify = true WHERE run = 'drafted'")
    for step in range(len(STEPS)):
        add_work(con, "plain", step, "forward", gemm=6_000)
        add_work(con, "drafted", step, "verify", gemm=9_000)
    add_windows(con, "plain", us(10_000), tokens=1)
    yield con
    con.close()


def test_times_and_tokens_are_those_without_the_profiler(db):
    add_windows(db, "drafted", us(20_000), tokens=4, drafts=80)
    (row,) = dicts(db, "compare_headline", base="plain", other="drafted")
    assert row["is_unprofiled"]
    assert row["base_ns_per_token"] == pytest.approx(us(10_000))
    assert row["other_ns_per_token"] == pytest.approx(us(5_000))
    assert row["other_tokens_per_step"] == 4
    assert row["other_token_source"] == "counters"
    assert row["verdict"] == "faster"
    assert row["ratio_low"] < row["ratio"] < row["ratio_high"] < 1


def test_bars_lead_from_one_time_to_the_other(db):
    add_windows(db, "drafted", us(20_000), tokens=4, drafts=80)
    bars = dicts(db, "compare_waterfall", base="plain", other="drafted")
    assert (bars[0]["to_ns"], bars[-1]["to_ns"]) == (us(10_000), us(5_000))
    assert sum(bar["change_ns"] for bar in bars[:-1]) == us(5_000)
    (gemm,) = (bar for bar in bars if bar["category"] == "gemm")
    mean = sum(STEPS) / len(STEPS)
    assert gemm["base_step_ns"] == pytest.approx(us(6_000) * 10_000 / mean)


def test_where_one_run_has_no_such_window_both_are_as_traced(db):
    (row,) = dicts(db, "compare_headline", base="plain", other="drafted")
    assert not row["is_unprofiled"]
    mean = us(sum(STEPS)) / len(STEPS)
    assert row["base_ns_per_token"] == pytest.approx(mean)
    assert row["other_ns_per_token"] == pytest.approx(3 * mean / 2)
    assert row["verdict"] == "slower"
