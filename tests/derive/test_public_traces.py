"""Traces recorded by others, to the nanosecond; skipped where they are not at hand."""

import csv
from functools import cache
from pathlib import Path

import pytest
from database import memory_run

PUBLIC = Path(__file__).parents[3] / "shared" / "traces" / "public"
ORACLE = PUBLIC / "ORACLE.tsv"
DLRM = "dlrm_v100_8ranks"
WITH_ARGS = "torch_a100_nccl_args.json.gz"

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
def ingested():
    """Database of a public trace, which is read once."""
    return cache(lambda name: memory_run(PUBLIC / name))


def whole(value):
    return int(value) if value else None


@pytest.mark.parametrize("expected", oracle(), ids=lambda row: row["file"])
def test_every_figure_of_the_oracle_holds(ingested, expected):
    db = ingested(expected["file"])
    [(events, kept, skipped)] = db.sql(
        "SELECT events, kept, skipped FROM ingest_ledger WHERE reason IS NULL"
    ).fetchall()
    assert (events, kept + skipped) == (int(expected["events"]),) * 2

    device = db.execute(FIGURES, {"kinds": ["kernel", "memcpy", "memset"]}).fetchall()[0]
    kernels = db.execute(FIGURES, {"kinds": ["kernel"]}).fetchall()[0]
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


def test_eight_training_ranks_have_one_common_step(ingested):
    steps = ingested(DLRM).sql("SELECT rank, step FROM steps ORDER BY rank").fetchall()
    assert steps == [(rank, 0) for rank in range(8)]


def test_eight_training_ranks_wait_for_the_one_that_came_last(ingested):
    db = ingested(DLRM)
    found = db.sql(
        "SELECT category, count(*), max(wait_ns), arg_min(rank, wait_ns), arg_max(rank, wait_ns),"
        " any_value(match) FROM collectives GROUP BY category, collective ORDER BY min(start_ns)"
    ).fetchall()
    reduced = [row[1:] for row in found if row[0] == "all_reduce"]
    sent = [row[1:] for row in found if row[0] == "send_recv"]
    assert reduced == [
        (8, 223_000, 7, 1, "order"),
        (8, 584_000, 5, 3, "order"),
        (8, 885_000, 4, 0, "order"),
    ]
    assert len(sent) == 5
    assert {row[0] for row in sent} == {8}
    assert sent[0] == (8, 7_624_000, 7, 1, "order")
    assert db.sql("SELECT count(*) FROM clock_offset WHERE is_applied").fetchall() == [(0,)]


def test_kernels_of_one_rank_tell_their_process_group(ingested):
    found = ingested(WITH_ARGS).sql(
        "SELECT category, count(*), sum(dur_ns)::BIGINT, any_value(group_size), any_value(match)"
        " FROM collectives GROUP BY category ORDER BY ALL"
    )
    all_reduces, broadcasts = found.fetchall()
    assert all_reduces == ("all_reduce", 15, 46_762_159, 2, "none")
    assert broadcasts[:2] == ("broadcast", 6)


def test_args_tell_the_messages_of_a_training_run(ingested):
    db = ingested(WITH_ARGS)
    found = db.sql(
        "SELECT category, count(*), sum(dur_ns)::BIGINT, max(bytes) // 4,"
        " arg_max(bytes, dur_ns) // 4, max(dur_ns), min(group_size), max(group_size)"
        " FROM collectives WHERE bytes_source = 'args' GROUP BY 1 ORDER BY 1"
    ).fetchall()
    assert found[0] == ("all_reduce", 15, 46_762_159, 7_875_584, 2_049_000, 5_993_392, 2, 2)
    assert found[1][:2] == ("broadcast", 6)
    n = "SELECT count(*) FROM activities WHERE name ILIKE 'nccl%'"
    assert db.sql(n).fetchall() == [(21,)]
