"""The public views: their columns are a contract, their figures follow from the tables."""

import json

import pytest
from database import add, memory_database

PUBLIC = {
    "runs": """
        run engine engine_version model gpu n_ranks tensor_parallel speculative_method
        num_speculative_tokens n_files n_activities n_steps start_ns duration_ns""",
    "activities": """
        run dp rank device_kind activity_kind device stream start_ns dur_ns name category impl step
        phase phase_source op scope launch_ns correlation graph_id graph_node_id grid block bytes
        link""",
    "steps": """
        run dp rank step kind start_ns dur_ns busy_ns idle_ns wait_for_work_ns host_start_ns
        host_dur_ns n_prefill_reqs n_prefill_tokens n_decode_reqs n_decode_tokens is_verify
        n_draft_tokens n_emitted_tokens is_complete""",
    "step_phases": """
        run dp rank step phase kind start_ns n sum_ns busy_ns host_start_ns host_dur_ns
        phase_source""",
    "step_breakdown": """
        run dp rank step phase category kind n sum_ns busy_ns exposed_ns overhang_ns
        share_of_step share_of_busy""",
    "kernel_names": "run name category impl rule n sum_ns weight_type group_size tile",
    "spec_decode": """
        run position drafts draft_tokens accepted acceptance_rate mean_acceptance_length""",
    "ingest_ledger": "run file events kept skipped reason example",
}


@pytest.mark.parametrize("view", PUBLIC)
def test_public_columns_come_first_and_in_order(con, view):
    names = [row[0] for row in con.execute(f"DESCRIBE {view}").fetchall()]
    expected = PUBLIC[view].split()
    assert names[: len(expected)] == expected


@pytest.mark.parametrize("view", PUBLIC)
def test_times_and_counts_are_bigint(con, view):
    types = {row[0]: row[1] for row in con.execute(f"DESCRIBE {view}").fetchall()}
    integers = [n for n in types if n.endswith("_ns") or n in ("n", "n_steps", "n_activities")]
    assert {types[name] for name in integers} <= {"BIGINT"}


def test_a_step_that_two_ranks_have_counts_once(con):
    row = con.execute(
        "SELECT n_ranks, n_files, n_steps, n_activities, start_ns, duration_ns, main_kind "
        "FROM runs WHERE run = 'baseline'"
    ).fetchone()
    assert row == (2, 2, 4, 9, 1_000_000, 8_000_000, "decode")


def test_a_step_that_one_rank_has_cut_is_not_measured(con):
    found = con.execute(
        "SELECT step, bool_and(is_measured) FROM steps "
        "WHERE run = 'baseline' GROUP BY step ORDER BY step"
    ).fetchall()
    assert found == [(0, False), (1, True), (2, True), (3, True)]


def test_where_all_steps_of_a_kind_are_cut_they_are_measured():
    con = memory_database()
    add(con, "run", "cut")
    add(con, "step", "cut", step=0, kind="decode", dur_ns=5, is_complete=False)
    add(con, "step", "cut", step=1, kind="decode", is_complete=True)
    found = con.execute("SELECT step, is_measured FROM steps ORDER BY step").fetchall()
    assert found == [(0, True), (1, False)]


def test_shares_name_their_denominator(con):
    row = con.execute(
        "SELECT share_of_step, share_of_busy FROM step_breakdown "
        "WHERE run = 'baseline' AND rank = 0 AND step = 2 AND category = 'gemm'"
    ).fetchone()
    assert row == (500 / 1000, 500 / 900)


def test_breakdown_joins_steps_of_an_unknown_rank():
    con = memory_database()
    add(con, "step", "r", step=0, kind="decode", dur_ns=10, busy_ns=8)
    row = {"step": 0, "phase": "forward", "n": 1, "sum_ns": 4, "busy_ns": 4}
    add(con, "step_category", "r", category="gemm", exposed_ns=4, **row)
    add(con, "step_phase", "r", **row)
    assert con.execute("SELECT rank, kind, share_of_step FROM step_breakdown").fetchall() == [
        (None, "decode", 0.4)
    ]
    assert con.execute("SELECT rank, kind, n FROM step_phases").fetchall() == [(None, "decode", 1)]


def test_acceptance_comes_from_differences_of_counters(con):
    found = con.execute(
        "SELECT * EXCLUDE (run, source, window_names) FROM spec_decode WHERE run = 'eagle3' "
        "ORDER BY position NULLS FIRST"
    ).fetchall()
    assert found == [
        (None, 4, 8, 5, 5 / 8, 1 + 5 / 4),
        (0, 4, None, 3, 3 / 4, None),
        (1, 4, None, 2, 2 / 4, None),
    ]


def counters(con, run, **values):
    for moment, value in values.items():
        for name in ("drafts", "draft_tokens", "accepted_tokens"):
            for engine in ("0", "1"):
                labels = json.dumps({"engine": engine})
                name_ = f"vllm:spec_decode_num_{name}_total"
                add(con, "counter", run, name=name_, labels=labels, moment=moment, value=value)


def test_engines_of_one_server_are_added_up():
    con = memory_database()
    counters(con, "dp2", before=1, after=4)
    assert con.execute("SELECT drafts, accepted FROM spec_decode").fetchall() == [(6, 6)]


def test_counters_beyond_any_integer_break_no_query():
    con = memory_database()
    counters(con, "absurd", before=0, after=1e30)
    assert con.execute("FROM spec_decode").fetchall() == []


@pytest.mark.parametrize("missing", ["draft_tokens", "accepted_tokens"])
def test_some_of_the_counters_give_no_acceptance(missing):
    con = memory_database()
    counters(con, "part", before=0, after=3)
    con.execute(f"DELETE FROM counter WHERE name = 'vllm:spec_decode_num_{missing}_total'")
    assert con.execute("FROM spec_decode").fetchall() == []


def test_a_single_scrape_or_a_restarted_server_gives_no_acceptance():
    con = memory_database()
    counters(con, "single", after=4)
    counters(con, "restarted", before=4, after=1)
    assert con.execute("FROM spec_decode").fetchall() == []


def test_a_run_without_drafts_gives_no_acceptance():
    con = memory_database()
    counters(con, "quiet", before=3, after=3)
    assert con.execute("FROM spec_decode").fetchall() == []


def test_kernel_names_add_up_over_ranks(con):
    row = con.execute(
        "SELECT n, sum_ns, weight_type, group_size, tile FROM kernel_names "
        "WHERE run = 'baseline' AND impl = 'marlin_moe'"
    ).fetchone()
    assert row == (4, 500_000, "u4b8", 32, "16x128x128")


def test_ledger_names_the_file(con):
    found = con.execute(
        "SELECT file, events, kept, skipped, reason FROM ingest_ledger "
        "WHERE run = 'baseline' AND file = 'rank1.json' ORDER BY reason NULLS FIRST"
    ).fetchall()
    assert found == [
        ("rank1.json", 100, 90, 10, None),
        ("rank1.json", None, None, 8, "flow"),
        ("rank1.json", None, None, 2, "negative duration"),
    ]
