"""Reports beside the breakdown."""

import pytest
from database import add, dicts, memory_database, rows, us
from samples import CUSTOM_AR, MARLIN

from tracekit import queries


def test_runs_tell_what_was_lost(con):
    found = {row["run"]: row for row in dicts(con, "run_list")}
    assert list(found) == ["baseline", "eagle3", "stalled"]
    assert (found["baseline"]["n_lost"], found["eagle3"]["n_lost"]) == (2, 0)
    assert (found["baseline"]["n_steps"], found["baseline"]["n_decode_steps"]) == (4, 3)
    assert [row["run"] for row in dicts(con, "run_list", run="eagle3")] == ["eagle3"]


def test_steps_are_means_over_ranks(con):
    found = dicts(con, "step_list", run="baseline")
    assert [row["step"] for row in found] == [0, 1, 2, 3]
    assert [row["is_complete"] for row in found] == [False, True, True, True]
    last = found[-1]
    assert (last["dur_ns"], last["busy_share"]) == (us(2100), 1500 / 2100)
    assert (last["idle_ns"], last["wait_for_work_ns"]) == (us(400), us(200))
    assert (last["forward_ns"], last["sample_ns"], last["draft_ns"]) == (us(1390), us(30), None)
    assert (found[1]["n_reqs"], found[1]["n_tokens"]) == (1, 17)


def test_verify_counts_as_the_forward_of_its_step(con):
    first, _ = dicts(con, "step_list", run="eagle3", kind="decode", rank=0)
    assert (first["is_verify"], first["forward_ns"], first["draft_ns"]) == (True, us(700), us(200))


@pytest.mark.parametrize(
    ("kind", "is_verify", "emitted", "accepted"),
    [
        ("decode", True, 5, 3),
        ("decode", True, None, None),
        ("decode", False, 2, None),
        ("mixed", True, 5, None),
    ],
)
def test_what_a_step_accepted_is_told_of_decode_steps(kind, is_verify, emitted, accepted):
    con = memory_database()
    row = {"kind": kind, "is_verify": is_verify, "n_emitted_tokens": emitted, "n_decode_reqs": 2}
    for rank in (0, 1):
        add(con, "step", "r", step=0, rank=rank, n_draft_tokens=4 if is_verify else None, **row)
    (found,) = dicts(con, "step_list", run="r")
    assert found["n_accepted"] == accepted


def test_kernels_by_time_with_the_rest_in_one_row(con):
    found = dicts(con, "kernels", run="baseline")
    names = ("name", "n", "sum_ns", "rule")
    assert [tuple(row[name] for name in names) for row in found] == [
        (CUSTOM_AR, 4, us(700), "r:1"),
        (MARLIN, 4, us(500), "r:2"),
        ("mystery_kernel", 1, us(60), None),
    ]
    assert found[0]["share"] == 700 / 1260
    top = dicts(con, "kernels", run="baseline", top=1)
    assert [(row["name"], row["n_folded"], row["sum_ns"]) for row in top] == [
        (CUSTOM_AR, None, us(700)),
        (None, 2, us(560)),
    ]


def test_a_rest_of_one_name_is_shown_as_that_name(con):
    top = dicts(con, "kernels", run="baseline", top=2)
    assert [row["n_folded"] for row in top] == [None, None, None]


def test_what_there_is_to_choose_from_holds_ranks_without_steps_too():
    con = memory_database()
    add(con, "run", "r")
    for rank in (0, 1, None):
        add(con, "file", "r", file_id=0, rank=rank)
    add(con, "file", "r", file_id=3, dp=1, rank=0)
    for step in (4, 2):
        add(con, "step", "r", rank=0, step=step, kind="decode")
    assert rows(con, "engine_list", run="r") == [(0, [0, 1], [2, 4]), (1, [0], [])]


def test_shares_of_one_category_are_still_of_the_run(con):
    (row,) = dicts(con, "kernels", run="baseline", category="moe_gemm")
    assert row["share"] == 500 / 1260


def test_why_finds_the_exact_name_or_all_that_contain_it():
    con = memory_database()
    add(con, "run", "r")
    for name in ("gemm", "gemm_splitk", "a%b_c"):
        add(con, "kernel", "r", name=name, category="gemm", rule=f"rule of {name}")
        add(con, "activity", "r", activity_id=0, name=name, category="gemm", start_ns=0, dur_ns=1)
    assert [row["name"] for row in dicts(con, "kernel_why", run="r", name="gemm")] == ["gemm"]
    found = dicts(con, "kernel_why", run="r", name="gem")
    assert [row["name"] for row in found] == ["gemm", "gemm_splitk"]
    # Not a pattern: the characters of LIKE mean themselves.
    assert [row["name"] for row in dicts(con, "kernel_why", run="r", name="%b_")] == ["a%b_c"]


def test_acceptance_by_position_is_given_the_one_before(con):
    assert rows(con, "spec", run="eagle3") == [(1, 4, 3, 3 / 4, 3 / 4), (2, 4, 2, 2 / 4, 2 / 3)]
    assert rows(con, "spec", run="baseline") == []


def test_acceptance_totals(con):
    (found,) = rows(con, "spec_totals", run="eagle3")
    assert found[:8] == (4, 8, 5, 9, 5 / 8, 2.25, "counters", False)


def test_phases_of_speculation_close_to_the_step(con):
    found = dicts(con, "spec_phases", run="eagle3")
    names = ("row_kind", "phase", "busy_ns", "all_reduce_ns", "all_reduce_calls", "phase_sources")
    assert [tuple(row[name] for name in names) for row in found] == [
        ("phase", "verify", us(700), us(100), 2.0, "engine"),
        ("phase", "draft", us(200), us(100), 2.0, "engine"),
        ("phase", "sample", us(40), None, None, "engine"),
        ("overlap", None, us(60), None, None, None),
        ("idle", None, us(100), None, None, None),
        ("step", None, us(1100), us(200), 4.0, None),
    ]
    assert found[0]["ns_per_token"] == us(700) / 2.25
    assert (found[-1]["p10_ns"], found[-1]["p90_ns"]) == (us(1020), us(1180))


def test_schema_lists_views_before_tables(con):
    found = dicts(con, "schema")
    kinds = [row["kind"] for row in found]
    assert kinds == sorted(kinds, reverse=True)
    assert {row["relation"] for row in found if row["kind"] == "view"} == set(queries.VIEW_ORDER)
    assert {row["relation"] for row in dicts(con, "schema", name="steps")} == {"steps"}


def test_losses_leave_out_kinds_that_are_not_needed(con):
    assert rows(con, "losses", run="baseline") == [
        ("rank1.json", "negative duration", 2, 100, "{}")
    ]


def test_counts_of_a_step_may_be_as_large_as_an_annotation_can_write():
    con = memory_database()
    most = 2**31 - 1
    counts = {"n_prefill_reqs": most, "n_prefill_tokens": most}
    add(con, "run", "r", engine="vllm")
    step = {"step": 0, "rank": 0, "kind": "mixed", "dur_ns": 9, "busy_ns": 8, "idle_ns": 1}
    add(con, "step", "r", **step, **counts, n_decode_reqs=1, n_decode_tokens=1)
    (row,) = dicts(con, "step_list", run="r")
    assert (row["n_reqs"], row["n_tokens"]) == (most + 1, most + 1)
    (headline,) = dicts(con, "breakdown_headline", run="r")
    assert headline["reqs_max"] == most + 1
