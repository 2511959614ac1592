"""`tracekit bench allreduce` with a real torch: gloo on this machine's CPU."""

import csv
import io
from pathlib import Path

import duckdb
import pytest
from cpu_server import vllm_python
from user import User

import tracekit

pytestmark = pytest.mark.vllm

ROOT = Path(__file__).parents[2]
SAMPLE = "vllm_cpu_tp2_draft"
DELAY_US = 20_000
"""Far above what a busy machine's scheduler adds to a call."""


@pytest.fixture
def user(tmp_path):
    return User(tmp_path, vllm_python().parent, GLOO_SOCKET_IFNAME="lo")


def bench(user, *words):
    command = ["tracekit", "bench", "allreduce", "--python", str(vllm_python()), *words]
    return user.run([str(word) for word in command]).stdout


def rows(user, sql):
    with duckdb.connect(user.folder / "tracekit.duckdb", read_only=True) as con:
        return con.execute(sql).fetchall()


@pytest.mark.parametrize("n_ranks", [2, 4])
def test_a_curve_whose_bandwidth_is_that_of_its_times(user, n_ranks):
    found = bench(user, "--ranks", n_ranks, "--sizes", "1KiB-1MiB", "--format", "csv")
    points = list(csv.DictReader(io.StringIO(found)))
    assert [int(point["bytes"]) for point in points] == [1024 << i for i in range(11)]
    for point in points:
        algbw = int(point["bytes"]) / int(point["time_ns"])
        assert float(point["busbw_gb_per_s"]) == pytest.approx(algbw * 2 * (n_ranks - 1) / n_ranks)
    assert rows(user, "SELECT n_ranks, n_steps FROM runs") == [(n_ranks, 5)]
    calls = (
        "SELECT rank, bytes, count(*) FROM collectives"
        " WHERE category = 'all_reduce' AND step IS NOT NULL GROUP BY ALL"
    )
    sizes = [int(point["bytes"]) for point in points]
    assert sorted(rows(user, calls)) == [(r, b, 5) for r in range(n_ranks) for b in sizes]


def test_a_delay_of_one_rank_is_wait_of_the_others_and_no_transfer(user):
    """In the burst of a recorded step."""
    tracekit.ingest(ROOT / "sample_traces" / SAMPLE, db=user.folder / "tracekit.duckdb")
    few = ("--like", SAMPLE, "--iterations", 3, "--warmups", 1, "--steps", 3)
    page = bench(user, *few, "--run", "late", "--delay-rank", 1, "--delay-us", DELAY_US)
    assert f"burst of {SAMPLE}, step " in page
    of_step = f"""
        SELECT count(*) FROM collectives
        WHERE run = '{SAMPLE}' AND category = 'all_reduce' AND rank = 0
        GROUP BY step
    """
    (recorded,) = rows(
        user,
        "SELECT count(*) FROM collectives"
        " WHERE run = 'late' AND category = 'all_reduce' AND step IS NOT NULL",
    )
    assert recorded[0] / (2 * 3) in {n for (n,) in rows(user, of_step)}
    waits = """
        SELECT rank, median(wait_ns), median(transfer_ns) FROM collectives
        WHERE run = 'late' AND category = 'all_reduce' GROUP BY rank ORDER BY rank
    """
    (_, of_others, transfer), (_, of_late, _) = rows(user, waits)
    delay_ns = DELAY_US * 1000
    assert of_late == 0
    assert of_others > delay_ns / 2 > transfer


def test_ranks_come_to_the_first_recorded_step_as_to_the_others(user):
    """A profiler takes long to start, on one rank longer than on another: that is in no step."""
    bench(user, "--burst", "20x14KiB", "--iterations", 3, "--steps", 6)
    spreads = """
        SELECT step, max(start_ns) - min(start_ns)
        FROM (SELECT DISTINCT ON (rank, step) * FROM collectives WHERE category = 'all_reduce'
              ORDER BY rank, step, start_ns)
        WHERE step IS NOT NULL GROUP BY step ORDER BY step
    """
    (_, first), *others = rows(user, spreads)
    assert len(others) == 5
    assert first <= max(5_000_000, *(ns for _, ns in others))


def test_ranks_that_torchrun_starts_make_one_run(user):
    launch = ["torchrun", "--nproc-per-node", "2", "--no-python", "--", "tracekit", "bench"]
    words = ["allreduce", "--python", str(vllm_python()), "--sizes", "14KiB", "--run", "b"]
    page = user.run([*launch, *words]).stdout
    assert page.count("gloo, 2 ranks") == 1
    assert rows(user, "SELECT run, n_ranks FROM runs") == [("b", 2)]
