"""Recorded traces of others, against figures from an independent reader; skipped where absent."""

import csv
from pathlib import Path

import pytest

PUBLIC = Path(__file__).parents[3] / "shared" / "traces" / "public"
CPU_RUNS = PUBLIC.parent / "vllm_cpu"
HAVE_NO_X = ("flow", "metadata", "instant", "counter")


def oracle():
    path = PUBLIC / "ORACLE.tsv"
    lines = path.read_text().splitlines() if path.is_file() else []
    return list(csv.DictReader(lines, delimiter="\t"))


@pytest.mark.parametrize("truth", oracle(), ids=lambda truth: truth["file"])
def test_figures_equal_the_oracles_to_the_nanosecond(staged, truth):
    read = staged(PUBLIC / truth["file"])
    events = read.file()["events"]
    without_x = sum(read.ledger().get(reason, (0, None))[0] for reason in HAVE_NO_X)
    ((gpu_events, kernels, kernel_sum, gpu_sum, gpu_span),) = read.rows("""
        SELECT
            count(*),
            count(*) FILTER (kind = 'kernel'),
            sum(dur_ns) FILTER (kind = 'kernel'),
            sum(dur_ns),
            max(start_ns + dur_ns) - min(start_ns)
        FROM kept
        WHERE kind IN ('kernel', 'memcpy', 'memset')
    """)
    found = {
        "events": events,
        "x_events": events - without_x,
        "gpu_events": gpu_events or None,
        "kernels": kernels or None,
        "kernel_sum_ns": kernel_sum,
        "gpu_sum_ns": gpu_sum,
        "gpu_span_ns": gpu_span,
    }
    assert found == {column: int(truth[column]) if truth[column] else None for column in found}
    assert read.losses() == {} or set(read.losses()) == {"argument not a number"}


def test_ranks_of_a_training_job_are_told_apart(staged):
    traces = sorted((PUBLIC / "dlrm_v100_8ranks").glob("*.gz"))
    if not traces:
        pytest.skip(f"no {PUBLIC}")
    read = staged(*traces)
    assert read.rows("SELECT rank FROM file ORDER BY file_id") == [(rank,) for rank in range(8)]


def test_real_servers_on_cpu_lose_nothing(staged):
    runs = sorted(CPU_RUNS.glob("*/torch"))
    if not runs:
        pytest.skip(f"no {CPU_RUNS}")
    for run in runs:
        read = staged(*sorted(run.glob("*.gz")))
        assert read.losses() == {}
        kinds = dict(read.rows("SELECT kind, count(*) FROM file GROUP BY kind"))
        assert kinds["trace"] == (2 if run.parent.name.startswith("tp2") else 1)
        assert kinds.get("frontend", 0) == (0 if run.parent.name == "offline-ngram" else 1)
        assert read.rows("SELECT count(*) > 0 FROM kept WHERE kind = 'op'") == [(True,)]
