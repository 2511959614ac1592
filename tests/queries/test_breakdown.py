"""The breakdown and its headline: means over steps that close to the step exactly."""

import pytest
from database import add, dicts, memory_database, rows, us
from samples import eagle3

from tracekit import queries
from tracekit.errors import QueryError

WORK = ("row_kind", "phase", "category", "busy_ns", "exposed_ns", "calls", "p10_ns", "p90_ns")


def picked(found, *names):
    return [tuple(row[name] for name in names) for row in found]


def test_rows_are_means_over_steps_and_close_to_the_step(con):
    found = dicts(con, "breakdown", run="baseline")
    assert picked(found, *WORK) == [
        ("work", "forward", "gemm", us(600), us(595), 4.0, us(520), us(680)),
        ("work", "forward", "all_reduce", us(525), us(525), 2.0, us(385), us(665)),
        ("work", "sample", "sampling", us(15), us(15), 0.5, us(3), us(27)),
        ("work", "other", "copy", us(5), us(5), 0.5, us(1), us(9)),
        ("work", "other", "index", us(2), us(2), 0.5, us(0.4), us(3.6)),
        ("overlap", None, None, us(28), None, None, None, None),
        ("wait_for_work", None, None, us(100), None, None, us(20), us(180)),
        ("idle", None, None, us(275), None, None, us(175), us(375)),
        ("step", None, None, us(1550), None, None, us(1110), us(1990)),
    ]
    assert sum(row["busy_ns"] for row in found[:-1]) == found[-1]["busy_ns"]


def test_shares_are_of_the_mean_step_and_of_its_busy_time(con):
    first, *_ = dicts(con, "breakdown", run="baseline")
    assert (first["share_of_step"], first["share_of_busy"]) == (600 / 1550, 600 / 1175)
    assert first["ns_per_call"] == us((550 + 750) / 8)


def test_small_rows_fold_into_one_per_phase(con):
    found = dicts(con, "breakdown", run="baseline", fold=0.02)
    names = ("phase", "category", "n_folded", "busy_ns", "calls", "p10_ns", "p90_ns")
    assert picked(found, *names)[:4] == [
        ("forward", "gemm", None, us(600), 4.0, us(520), us(680)),
        ("forward", "all_reduce", None, us(525), 2.0, us(385), us(665)),
        # One small row alone is shown as it is.
        ("sample", "sampling", None, us(15), 0.5, us(3), us(27)),
        ("other", None, 2, us(7), 1.0, us(1.4), us(12.6)),
    ]
    assert sum(row["busy_ns"] for row in found[:-1]) == found[-1]["busy_ns"]


def test_unknown_never_folds():
    con = memory_database()
    add(con, "run", "r")
    add(con, "step", "r", rank=0, step=0, kind="decode", dur_ns=2000, busy_ns=2000, idle_ns=0)
    for category, busy in (("gemm", 1990), ("unknown", 4), ("copy", 3), ("index", 3)):
        row = {"step": 0, "phase": "forward", "n": 1, "sum_ns": busy, "busy_ns": busy, "rank": 0}
        add(con, "step_category", "r", category=category, exposed_ns=busy, **row)
    found = dicts(con, "breakdown", run="r", fold=0.01)
    assert picked(found, "category", "n_folded")[:3] == [
        ("gemm", None),
        ("unknown", None),
        (None, 2),
    ]


def test_a_phase_alone_closes_with_the_rest_of_the_step(con):
    found = dicts(con, "breakdown", run="baseline", phase="forward")
    assert picked(found, "row_kind", "busy_ns") == [
        ("work", us(600)),
        ("work", us(525)),
        ("overlap", us((850 + 1390) / 2 - 1125)),
        ("rest", us(1550 - 1120)),
        ("step", us(1550)),
    ]


@pytest.mark.parametrize("by", ["category", "impl", "kernel"])
def test_a_category_alone_has_the_rows_it_has_among_all(con, by):
    asked = {"run": "baseline", "step": 2, "by": by}
    found = dicts(con, "breakdown", **asked, category="all_reduce")
    everything = dicts(con, "breakdown", **asked)
    work = [row for row in found if row["row_kind"] == "work"]
    assert work == [row for row in everything if row["category"] == "all_reduce"] != []
    assert picked(found, "row_kind", "busy_ns")[len(work) :] == [
        ("overlap", 0),
        ("rest", us(1000 - 350)),
        ("step", us(1000)),
    ]


def test_a_category_of_a_phase_alone(con):
    asked = {"run": "baseline", "category": "gemm"}
    found = dicts(con, "breakdown", **asked, phase="forward")
    assert found == dicts(con, "breakdown", **asked)
    assert picked(dicts(con, "breakdown", **asked, phase="sample"), "row_kind", "busy_ns") == [
        ("overlap", 0),
        ("rest", us(1550)),
        ("step", us(1550)),
    ]


def test_one_rank_alone(con):
    found = dicts(con, "breakdown", run="baseline", rank=1)
    assert found[-1]["busy_ns"] == us((1000 + 2200) / 2)
    assert found[1]["busy_ns"] == us((300 + 700) / 2)


def test_a_single_step_has_no_percentiles(con):
    found = dicts(con, "breakdown", run="baseline", step=2)
    assert {row["p10_ns"] for row in found} | {row["p90_ns"] for row in found} == {None}
    assert found[-1]["busy_ns"] == us(1000)


def test_a_cut_step_is_shown_when_asked_for(con):
    found = dicts(con, "breakdown", run="baseline", step=0)
    assert picked(found, "row_kind", "busy_ns")[-1] == ("step", us(500))


def test_kind_is_decode_unless_asked_otherwise(con):
    found = dicts(con, "breakdown", run="baseline", kind="prefill")
    assert found[-1]["busy_ns"] == us(800)


def test_by_impl_is_the_union_of_its_intervals(con):
    found = dicts(con, "breakdown", run="baseline", step=2, by="impl")
    assert picked(found, "row_kind", "category", "impl", "name", "busy_ns", "calls")[:2] == [
        ("work", "all_reduce", "custom_1stage", None, us((400 + 300) / 2), 2.0),
        # 2,700 to 2,850 and 2,800 to 2,900: the 50 us in both count once.
        ("work", "moe_gemm", "marlin_moe", None, us(200), 2.0),
    ]
    assert found[1]["ns_per_call"] == us((150 + 100) / 2)
    assert sum(row["busy_ns"] for row in found[:-1]) == found[-1]["busy_ns"]


def test_by_kernel_names_the_kernel(con):
    found = dicts(con, "breakdown", run="baseline", step=2, by="kernel")
    assert [row["name"].partition("::")[0] for row in found[:2]] == [
        "void vllm",
        "void marlin_moe_wna16",
    ]


def test_no_step_gives_no_rows(con):
    assert rows(con, "breakdown", run="baseline", kind="mixed") == []
    assert rows(con, "breakdown_headline", run="baseline", kind="mixed") == []


def test_headline_of_steps_without_drafts(con):
    (row,) = dicts(con, "breakdown_headline", run="baseline")
    expected = {
        "kind": "decode",
        "n_steps": 2,
        "n_cut": 1,
        "is_cut": False,
        "engines": [0],
        "n_ranks": 2,
        "n_ranks_expected": 2,
        "reqs_min": 1,
        "reqs_max": 1,
        "is_verify": False,
        "step_ns": us(1550),
        "step_p50_ns": us(1550),
        "step_p10_ns": us(1110),
        "step_p90_ns": us(1990),
        "tokens_per_step": 1.0,
        "token_source": "rule",
        "ns_per_token": us(1450),
        "tokens_per_s": pytest.approx(1e6 / 1450),
        "wait_for_work_ns": us(100),
        "busy_share": 1175 / 1550,
        "all_reduce_share_of_step": 525 / 1550,
        "all_reduce_share_of_busy": 525 / 1175,
        "unknown_share": 0,
        "starved_ns": us((50 + 100 + 150 + 250) / 4),
        "starved_share": 137.5 / 1550,
        "launch_delay_ns": us(35),
        "phase_sources": "engine",
        "n_unlinked": 1,
        "unlinked_ns": us(60),
        "n_unplaced": 1,
        "unplaced_ns": us(60),
    }
    assert row == expected


def test_tokens_of_verify_steps_come_from_the_counters(con):
    (row,) = dicts(con, "breakdown_headline", run="eagle3")
    assert (row["tokens_per_step"], row["token_source"]) == (2.25, "counters")
    assert row["ns_per_token"] == us(1100) / 2.25


def test_tokens_of_verify_steps_without_counters_are_not_guessed():
    con = memory_database()
    add(con, "run", "r")
    step = {"kind": "decode", "is_verify": True, "n_decode_reqs": 1, "dur_ns": 10, "busy_ns": 9}
    add(con, "step", "r", rank=0, step=0, **step)
    (row,) = dicts(con, "breakdown_headline", run="r")
    assert (row["tokens_per_step"], row["token_source"], row["ns_per_token"]) == (None, None, None)


def test_steps_with_fewer_drafts_emit_fewer_tokens():
    """n-gram drafts for some requests only: accepted tokens go by drafted ones, 5 of 8 here."""
    con = memory_database()
    eagle3(con, "r")
    con.execute("UPDATE step SET n_decode_reqs = 4, n_draft_tokens = 1 WHERE step = 0")
    con.execute("UPDATE step SET n_draft_tokens = NULL WHERE step = 1")
    found = con.execute("SELECT expected_tokens FROM steps ORDER BY step").fetchall()
    assert found == [(4 + 5 / 8,), (2.25,)]


def test_emitted_tokens_of_the_trace_win(con):
    con = memory_database()
    add(con, "run", "r")
    step = {"kind": "decode", "is_verify": True, "n_decode_reqs": 2, "dur_ns": 10, "busy_ns": 9}
    add(con, "step", "r", rank=0, step=0, n_emitted_tokens=5, **step)
    (row,) = dicts(con, "breakdown_headline", run="r")
    assert (row["tokens_per_step"], row["token_source"], row["ns_per_token"]) == (2.5, "trace", 4)


def test_a_stall_of_the_host_is_told_apart_from_slow_work(con):
    assert dicts(con, "breakdown_stalls", run="stalled") == [
        {
            "dp": 0,
            "step": 0,
            "stall_ns": us(464_000),
            "is_in_step": True,
            "dur_ns": us(474_000),
            "rest_ns": us(10_000),
            "rank": 0,
            "n_ranks": 1,
            "host_call": None,
            "host_call_ns": None,
        }
    ]
    assert rows(con, "breakdown_stalls", run="baseline") == []


def long_gap(launched, step_starts=0):
    """A step of two kernels 8.9 ms apart, the second one launched at `launched`."""
    con = memory_database()
    add(con, "run", "r")
    step = {"rank": 0, "step": 0, "kind": "decode", "start_ns": us(step_starts), "busy_ns": us(100)}
    add(con, "step", "r", dur_ns=us(9_000 - step_starts), starved_ns=us(5_000), **step)
    kernel = {"rank": 0, "category": "gemm", "step": 0, "name": "k", "dur_ns": us(50)}
    add(con, "activity", "r", activity_id=0, start_ns=0, launch_ns=us(-20), **kernel)
    add(con, "activity", "r", activity_id=1, start_ns=us(8_950), launch_ns=us(launched), **kernel)
    return con


def test_a_gap_with_work_queued_is_no_stall():
    assert rows(long_gap(launched=-10), "breakdown_stalls", run="r") == []
    assert len(rows(long_gap(launched=60), "breakdown_stalls", run="r")) == 1


def test_a_host_blocked_in_one_call_stalls_even_with_work_queued():
    con = long_gap(launched=-10)
    call = {"file_id": 0, "start_ns": us(100), "correlation": 1}
    add(con, "host_call", "r", name="hipMemcpyWithStream", dur_ns=us(8_000), **call)
    (row,) = dicts(con, "breakdown_stalls", run="r")
    assert (row["host_call"], row["host_call_ns"]) == ("hipMemcpyWithStream", us(8_000))
    assert row["stall_ns"] == us(8_900)


def test_a_stall_ahead_of_the_first_step_is_not_in_its_time():
    (row,) = dicts(long_gap(launched=8_900, step_starts=8_000), "breakdown_stalls", run="r")
    assert (row["is_in_step"], row["dur_ns"], row["rest_ns"]) == (False, us(1_000), us(1_000))


def test_a_gap_without_requests_is_no_stall():
    con = long_gap(launched=60)
    con.execute("UPDATE step SET wait_for_work_ns = 8_000_000, dur_ns = 8_950_000")
    assert rows(con, "breakdown_stalls", run="r") == []


def test_unknown_and_missing_parameters_are_named(con):
    with pytest.raises(QueryError, match="breakdown: no parameter 'runn'; it takes: run, kind"):
        queries.run(con, "breakdown", runn="baseline")
    with pytest.raises(QueryError, match="parameter 'run' is missing"):
        queries.run(con, "breakdown")
    with pytest.raises(QueryError, match="'breakdwn': no such report; there are: .*breakdown,"):
        queries.run(con, "breakdwn")


def test_a_prefill_step_has_no_stream_that_decodes_and_no_endless_rate():
    con = memory_database()
    add(con, "run", "r")
    step = {"kind": "prefill", "n_prefill_reqs": 1, "n_decode_reqs": 0, "dur_ns": 10, "busy_ns": 9}
    add(con, "step", "r", rank=0, step=0, n_emitted_tokens=1, **step)
    (row,) = dicts(con, "breakdown_headline", run="r", kind="prefill")
    assert (row["tokens_per_step"], row["ns_per_token"]) == (1, 10)


def test_steps_without_time_have_no_rate():
    con = memory_database()
    add(con, "run", "r")
    add(con, "step", "r", rank=0, step=0, kind="decode", n_decode_reqs=1, dur_ns=0, busy_ns=0)
    (row,) = dicts(con, "breakdown_headline", run="r")
    assert (row["ns_per_token"], row["tokens_per_s"]) == (None, None)
