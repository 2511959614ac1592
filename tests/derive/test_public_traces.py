"""Traces recorded by others, to the nanosecond; skipped where they are not at hand."""

import csv
from pathlib import Path

import pytest

import tracekit

PUBLIC = Path(__file__).parents[3] / "shared" / "traces" / "public"
ORACLE = PUBLIC / "ORACLE.tsv"

pytestmark = pytest.mark.skipif(not ORACLE.exists(), reason="no public traces here")

FIGURES = """
WITH reached AS (
    SELECT
        *, start_ns + dur_ns AS end_ns,
        max(start_ns + dur_ns) OVER (
            ORDER BY start_ns, dur_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS reached_ns
    FROM activities
    WHERE device_kind = 'gpu' AND activity_kind IN (SELECT unnest($kinds))
)
SELECT
    count(*), sum(dur_ns)::BIGINT,
    sum(greatest(0, end_ns - greatest(start_ns, coalesce(reached_ns, start_ns))))::BIGINT,
    (max(end_ns) - min(start_ns))::BIGINT,
    count_if(launch_ns IS NULL), coalesce(sum(dur_ns) FILTER (launch_ns IS NULL), 0)::BIGINT
FROM reached
"""


def oracle():
    if not ORACLE.exists():
        return []
    with ORACLE.open() as lines:
        return list(csv.DictReader(lines, delimiter="\t"))


@pytest.fixture(scope="module")
def ingested(tmp_path_factory):
    """Ingests a public trace once per module and opens its database."""
    folder, done = tmp_path_factory.mktemp("public"), {}

    def open_run(name):
        if name not in done:
            db = folder / f"{len(done)}.duckdb"
            tracekit.ingest([PUBLIC / name], run="r", db=db)
            done[name] = tracekit.open(db)
        return done[name]

    return open_run


def whole(value):
    return int(value) if value else None


@pytest.mark.parametrize("expected", oracle(), ids=lambda row: row["file"])
def test_every_figure_of_the_oracle_holds(ingested, expected):
    db = ingested(expected["file"])
    [(events, kept, skipped)] = db.sql(
        "SELECT events, kept, skipped FROM ingest_ledger WHERE reason IS NULL"
    ).fetchall()
    assert (events, kept + skipped) == (int(expected["events"]),) * 2

    device = db.sql(FIGURES, {"kinds": ["kernel", "memcpy", "memset"]}).fetchall()[0]
    kernels = db.sql(FIGURES, {"kinds": ["kernel"]}).fetchall()[0]
    if not expected["gpu_events"]:
        assert device[0] == 0
        return
    names = ("gpu_events", "gpu_sum_ns", "gpu_busy_ns", "gpu_span_ns")
    assert device[:4] == tuple(int(expected[name]) for name in names)
    assert device[3] - device[2] == int(expected["gpu_idle_ns"])
    assert device[4:] == (int(expected["unlinked_gpu_events"]), int(expected["unlinked_sum_ns"]))
    names = ("kernels", "kernel_sum_ns", "kernel_busy_ns")
    assert kernels[:3] == tuple(int(expected[name]) for name in names)


@pytest.mark.parametrize("expected", oracle(), ids=lambda row: row["file"])
def test_rank_is_the_one_the_trace_names(ingested, expected):
    if not expected["rank"]:
        pytest.skip("the oracle names no rank")
    ranks = ingested(expected["file"]).sql("SELECT DISTINCT rank FROM activities").fetchall()
    assert ranks in ([], [(int(expected["rank"]),)])


@pytest.mark.parametrize("expected", oracle(), ids=lambda row: row["file"])
def test_windows_add_up(ingested, expected):
    wrong = ingested(expected["file"]).sql(
        "FROM steps"
        " WHERE busy_ns + idle_ns + coalesce(wait_for_work_ns, 0) != dur_ns OR idle_ns < 0"
    )
    assert wrong.fetchall() == []


def test_gb10_decodes_ten_steps_of_four_requests(ingested):
    db = ingested("vllm_gb10_piecewise_10steps/rank0.pt.trace.json.gz")
    steps = db.sql("SELECT step, kind, n_decode_reqs, n_decode_tokens FROM steps ORDER BY step")
    assert steps.fetchall() == [(step, "decode", 4, 4) for step in range(10)]
    kernels = db.sql(
        "SELECT count(*), count(step), count(launch_ns) FROM activities"
        " WHERE activity_kind = 'kernel'"
    )
    assert kernels.fetchall() == [(13530, 13530, 13530)]


def test_full_graph_decode_is_one_step_with_its_own_idle_time(ingested):
    db = ingested("vllm_mi300_fullgraph_decode.json.gz")
    assert db.sql("SELECT kind, n_decode_reqs, idle_ns FROM steps").fetchall() == [
        ("decode", 32, 25_464)
    ]


def test_multimem_kernels_are_all_reduces_of_one_prefill_step(ingested):
    db = ingested("vllm_b200_tp8_rank0_eager.json.gz")
    assert db.sql("SELECT kind, n_prefill_reqs, n_prefill_tokens FROM steps").fetchall() == [
        ("prefill", 1, 888)
    ]
    found = db.sql(
        "SELECT step, phase, impl, count(*) FROM activities"
        " WHERE category = 'all_reduce' AND contains(name, 'multimem') GROUP BY ALL"
    )
    assert found.fetchall() == [(0, "forward", "symm_mem_multimem", 73)]


def test_work_launched_before_the_window_is_kept_and_in_no_step(ingested):
    db = ingested("torch_h100_qwen15_unlinked.json.gz")
    found = db.sql(
        "SELECT step, link, count(*), sum(dur_ns)::BIGINT FROM activities"
        " WHERE launch_ns IS NULL GROUP BY ALL"
    )
    assert found.fetchall() == [(None, "none", 509, 13_741_827)]


def test_a_host_stall_is_no_device_time(ingested):
    db = ingested("sglang_mi300_qwen3_8b_decode.json.gz")
    [(kind, dur_ns, host_dur_ns, call, call_ns)] = db.sql(
        "SELECT kind, dur_ns, host_dur_ns, longest_call, longest_call_ns FROM steps"
    ).fetchall()
    assert (kind, call) == ("decode", "hipMemcpyWithStream")
    assert dur_ns < 11_000_000
    assert host_dur_ns == 465_716_634
    assert call_ns == 463_063_750


def test_eight_training_ranks_have_one_common_step(tmp_path):
    db = tmp_path / "dlrm.duckdb"
    tracekit.ingest([PUBLIC / "dlrm_v100_8ranks"], run="dlrm", db=db)
    steps = tracekit.open(db).sql("SELECT rank, step FROM steps ORDER BY rank").fetchall()
    assert steps == [(rank, 0) for rank in range(8)]
