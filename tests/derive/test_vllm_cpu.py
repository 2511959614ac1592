"""Real vLLM servers on CPU against their own counters; skipped where the runs are not at hand."""

from functools import cache
from pathlib import Path

import pytest
from database import memory_run

RUNS = Path(__file__).parents[3] / "shared" / "traces" / "vllm_cpu"
SERVERS = [
    "baseline-eager",
    "baseline-no-scopes",
    "draft-noisy",
    "moe-baseline",
    "ngram",
    "ngram-no-scopes",
    "tp2-baseline",
    "tp2-draft-noisy",
    "tp2-gloo-baseline",
]

pytestmark = pytest.mark.skipif(not RUNS.exists(), reason="no recorded vLLM runs here")

DIFFERENCE = """
SELECT sum(CASE moment WHEN 'after' THEN value ELSE -value END)::BIGINT
FROM counter
WHERE name = $name
"""


@pytest.fixture(scope="module")
def ingested():
    """Database of a recorded run, which is read once."""
    return cache(lambda name: memory_run(RUNS / name))


def counted(db, name):
    return db.execute(DIFFERENCE, {"name": f"vllm:{name}"}).fetchall()[0][0] or 0


@pytest.mark.parametrize("name", SERVERS)
def test_steps_and_draft_tokens_equal_the_servers_counters(ingested, name):
    db = ingested(name)
    by_rank = db.sql(
        "SELECT rank, count_if(kind != 'idle'), sum(n_draft_tokens)::BIGINT,"
        " sum(n_prefill_tokens)::BIGINT FROM steps GROUP BY rank ORDER BY rank"
    ).fetchall()
    expected = (
        counted(db, "iteration_tokens_total_count"),
        counted(db, "spec_decode_num_draft_tokens_total"),
        counted(db, "prompt_tokens_total"),
    )
    assert expected[0] > 0
    assert by_rank == [(rank, *expected) for rank in range(2 if name.startswith("tp2") else 1)]


@pytest.mark.parametrize("name", SERVERS)
def test_ranks_agree_on_every_step(ingested, name):
    different = ingested(name).sql(
        "SELECT step FROM steps GROUP BY step"
        " HAVING count(DISTINCT (kind, n_decode_reqs, n_decode_tokens, n_prefill_tokens)) > 1"
    )
    assert different.fetchall() == []


def test_all_reduces_of_target_and_draft_are_told_apart(ingested):
    db = ingested("tp2-draft-noisy")
    by_phase = db.sql(
        "SELECT rank, CASE WHEN phase IN ('forward', 'verify') THEN 'target' ELSE phase END,"
        " count(*)"
        " FROM activities WHERE category = 'all_reduce' GROUP BY ALL ORDER BY ALL"
    )
    assert by_phase.fetchall() == [
        (0, "draft", 864),
        (0, "target", 288),
        (1, "draft", 864),
        (1, "target", 288),
    ]
    gemms = db.sql(
        "SELECT count(*) FROM activities"
        " WHERE rank = 0 AND name = '_C::onednn_mm' AND category = 'gemm'"
    )
    assert gemms.fetchall() == [(2176,)]


def test_a_gloo_collective_counts_once_in_its_enqueueing_phase(ingested):
    found = ingested("tp2-gloo-baseline").sql(
        "SELECT rank, name, category, impl, phase, count(*) FROM activities"
        " WHERE impl = 'gloo' OR starts_with(name, 'c10d::') GROUP BY ALL ORDER BY ALL"
    )
    assert found.fetchall() == [
        (rank, name, category, "gloo", "forward", n)
        for rank in (0, 1)
        for name, category, n in (
            ("gloo:all_gather", "all_gather", 49),
            ("gloo:all_reduce", "all_reduce", 441),
        )
    ]


def test_phases_without_scopes_come_from_the_span(ingested):
    sources = ingested("baseline-no-scopes").sql("SELECT DISTINCT phase_source FROM activities")
    assert sources.fetchall() == [("span",)]


def test_a_host_drafter_has_host_time_only(ingested):
    [(n, host_ns)] = (
        ingested("ngram")
        .sql(
            "SELECT sum(n)::BIGINT, sum(host_dur_ns)::BIGINT FROM step_phases WHERE phase = 'draft'"
        )
        .fetchall()
    )
    assert n == 0
    assert host_ns > 0


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("tp2-baseline", {"forward": 49 * 9}),
        ("tp2-gloo-baseline", {"forward": 49 * 9}),
        ("tp2-draft-noisy", {"target": 32 * 9, "draft": 32 * 3 * 9}),
    ],
)
def test_all_reduces_are_matched_over_both_ranks(ingested, name, expected):
    found = ingested(name).sql(
        "SELECT phase, count(DISTINCT collective), count(wait_ns) FROM collectives"
        " WHERE category = 'all_reduce' GROUP BY phase"
    )
    counts = {}
    for phase, n, waits in found.fetchall():
        assert waits == 2 * n
        kind = "target" if "target" in expected and phase != "draft" else phase
        counts[kind] = counts.get(kind, 0) + n
    assert counts == expected
