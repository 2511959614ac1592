"""`tracekit bench allreduce` as a user runs it, with the stand-in for torch."""

import csv
import io
import json
import os
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path
from types import SimpleNamespace

import duckdb
import pytest
from capturing import MARKER, left_over
from scripts import FAKE_TORCH

import tracekit
from tracekit.cli import bench_page

ROOT = Path(__file__).parents[2]
SAMPLE = "vllm_cpu_tp2_draft"
TIMEOUT_S = 60
FEW = ("--iterations", "4", "--warmups", "1", "--steps", "2")
WORDS = [sys.executable, "-m", "tracekit", "bench", "allreduce", *FEW]


class Bench:
    """A benchmark in a folder; `left` are the processes that it leaves."""

    def __init__(self, folder):
        self.folder = folder
        self.marker = uuid.uuid4().hex

    def start(self, *words, **env):
        environment = {**os.environ, "PYTHONPATH": str(FAKE_TORCH), "COLUMNS": "80"}
        return subprocess.Popen(
            [*WORDS, *words],
            cwd=self.folder,
            env={**environment, **env, MARKER: self.marker},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def run(self, *words, code=0, **env):
        out, err = self.end(self.start(*words, **env), code)
        return out if code == 0 else err

    def end(self, process, code):
        try:
            out, err = process.communicate(timeout=TIMEOUT_S)
        finally:
            left = left_over(self.marker, kill=True)
        assert process.returncode == code, err
        assert left == []
        return out, err

    def said(self, run, file="run.json"):
        return json.loads((self.folder / "tracekit-runs" / run / file).read_text())

    def rows(self, sql):
        with duckdb.connect(self.folder / "tracekit.duckdb", read_only=True) as con:
            return con.execute(sql).fetchall()


@pytest.fixture
def bench(tmp_path):
    return Bench(tmp_path)


def test_a_sweep_is_a_run_with_a_curve_and_a_trace_of_each_rank(bench):
    page = bench.run("--sizes", "1KiB-4KiB", "--ranks", "3")
    name = "bench-allreduce-gloo-3"
    assert page.startswith(f"{name}   all-reduce of bfloat16, in place   gloo, 3 ranks")
    assert bench.rows("SELECT mode, bytes, n, n_ranks, is_in_place FROM calibrations") == [
        ("eager", size, 4, 3, True) for size in (1024, 2048, 4096)
    ]
    assert bench.rows("SELECT run, engine, n_ranks, n_steps FROM runs") == [(name, "torch", 3, 2)]
    said = bench.said(name)
    assert (said["status"], said["files"]["calibration.json"]) == ("complete", "calibration")
    assert said["options"]["sizes"] == [1024, 2048, 4096]
    assert said["windows"][0]["name"] == "profiled"


def test_the_bandwidth_of_a_link_is_that_of_the_message_times_its_way(bench):
    found = bench.run("--sizes", "14KiB", "--ranks", "4", "--format", "csv")
    (row,) = csv.DictReader(io.StringIO(found))
    algbw = int(row["bytes"]) / int(row["time_ns"])
    assert float(row["algbw_gb_per_s"]) == pytest.approx(algbw, rel=1e-9)
    assert float(row["busbw_gb_per_s"]) == pytest.approx(algbw * 2 * 3 / 4, rel=1e-9)


def test_bandwidths_have_three_digits_however_small_they_are():
    rates = (0.0000912, 0.00431, 7.126, 43.21, 1234.5)
    rows = [SimpleNamespace(delay_ns=None, busbw_gb_per_s=rate) for rate in rates]
    shown = [bench_page.COLUMNS[-1][1](row) for row in rows]
    assert shown == ["9.12e-05", "0.00431", "7.13", "43.2", "1,234"]
    assert bench_page.COLUMNS[-1][1](SimpleNamespace(delay_ns=5, busbw_gb_per_s=1.0)) == "-"


def test_a_delayed_rank_shows_in_the_calls_of_the_burst(bench):
    delay = ("--delay-rank", "1", "--delay-us", "20000")
    page = bench.run("--burst", "1x2KiB,3x1KiB", "--run", "late", *delay)
    assert "burst: 4 calls, 5 KiB, eager" in page
    assert "rank 1 is delayed by 20.0 ms before each call of the burst" in page
    said = bench.said("late", "calibration.json")
    points = {point["bytes"]: point for point in said["points"]}
    assert {size: point["n"] for size, point in points.items()} == {2048: 4, 1024: 12}
    for point in points.values():
        assert (point["mode"], point["delayed_rank"], point["delay_ns"]) == ("burst", 1, 20_000_000)
        assert point["p50_ns"] > 10_000_000 > point["transfer_p50_ns"]
    (burst,) = said["bursts"]
    assert (burst["n_calls"], burst["bytes"], burst["n"]) == (4, 5120, 4)
    assert burst["min_ns"] >= 3 * 20_000_000  # the delay before the first call is before the burst


def test_a_burst_is_that_of_a_recorded_step(bench):
    tracekit.ingest(ROOT / "sample_traces" / SAMPLE, db=bench.folder / "tracekit.duckdb")
    page = bench.run("--like", SAMPLE, "--run", "b")
    said = bench.said("b")["options"]
    step = said["like"]["step"]
    assert f"burst of {SAMPLE}, step {step}: " in page
    recorded = f"""
        SELECT bytes FROM collectives
        WHERE run = '{SAMPLE}' AND category = 'all_reduce' AND rank = 0 AND step = {step}
        ORDER BY start_ns
    """
    asked = [size for n_calls, size in said["burst"] for _ in range(n_calls)]
    assert asked == [size for (size,) in bench.rows(recorded)]
    kind = f"SELECT kind FROM steps WHERE run = '{SAMPLE}' AND rank = 0 AND step = {step}"
    assert bench.rows(kind) == [("decode",)]
    assert (said["n_ranks"], said["dtype"]) == (2, "bfloat16")
    err = bench.run("--like", SAMPLE, "--step", "999", "--run", "c", code=1)
    assert "no complete step 999 whose all-reduces tell their bytes" in err


@pytest.mark.parametrize(
    ("fault", "code", "cause"),
    [
        ("rank 1 raises", 1, "exited with 1: rank 1: RuntimeError: the wire is cut; all it said"),
        ("rank 1 dies", 1, "exited with 134: rank 1: killed by signal 6; all it said"),
    ],
)
def test_a_rank_that_fails_ends_the_others_and_is_told(bench, fault, code, cause):
    err = bench.run("--sizes", "1KiB", "--run", "bad", code=code, FAKE_ALL_REDUCE=fault)
    assert err.splitlines()[-1].startswith(f"bench: {cause}")
    said = bench.said("bad")
    assert said["status"] == "failed"
    assert cause in said["error"]


def test_what_hangs_is_ended(bench):
    words = ("--sizes", "1KiB", "--timeout", "2")
    err = bench.run(*words, code=1, FAKE_ALL_REDUCE="rank 0 hangs")
    assert "bench: not done after 2 s, its processes are ended" in err


@pytest.mark.parametrize(("number", "name"), [(signal.SIGINT, "Ctrl-C"), (signal.SIGTERM, "TERM")])
def test_a_signal_ends_all(bench, number, name):
    process = bench.start("--sizes", "1KiB", "--run", "b", FAKE_ALL_REDUCE="rank 0 hangs")
    log = bench.folder / "tracekit-runs" / "b" / "logs" / "script.log"
    deadline = time.monotonic() + TIMEOUT_S
    while not (log.exists() and "eager" in log.read_text()):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(number)
    _, err = bench.end(process, 128 + number)
    assert f"{name}; bench again" in err


def test_a_run_of_the_same_name_is_replaced_only_if_asked_to(bench):
    bench.run("--sizes", "1KiB", "--run", "b")
    assert "choose another --run, or --replace" in bench.run("--run", "b", code=1)
    bench.run("--sizes", "2KiB", "--run", "b", "--replace")
    assert bench.rows("SELECT bytes FROM calibrations") == [(2048,)]


def test_ranks_that_something_else_started_make_one_run(bench):
    """As torchrun does, but for the store: the stand-in speaks through files."""
    store = {"TRACEKIT_BENCH_STORE": f"file://{bench.folder / 'store'}"}
    master = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1", "WORLD_SIZE": "2", **store}
    ranks = [bench.start("--sizes", "1KiB", RANK=str(rank), **master) for rank in (1, 0)]
    outs = [rank.communicate(timeout=TIMEOUT_S)[0] for rank in ranks]
    assert [rank.returncode for rank in ranks] == [0, 0]
    assert outs[0] == ""
    assert outs[1].startswith("bench-allreduce-gloo-2")
    assert bench.rows("SELECT n_ranks FROM runs") == [(2,)]


@pytest.mark.parametrize(
    ("words", "code", "reason"),
    [
        (("--backend", "nccl"), 1, "has gloo; choose another"),
        (("--delay-rank", "1"), 2, "give both, or neither"),
        (("--delay-rank", "1", "--delay-us", "9"), 2, "give --burst or --like"),
        (("--step", "1"), 2, "--step does nothing without --like"),
        (("--burst", "3x1KiB", "--like", "b"), 2, "Give one"),
        (("--no-graph",), 2, "--no-graph does nothing with gloo"),
        (("--sizes", "1K"), 2, "write a size"),
        (("--like", "none"), 1, "no such database"),
    ],
)
def test_what_cannot_be_done_is_refused_in_words(bench, words, code, reason):
    assert reason in bench.run(*words, code=code)


def test_a_number_of_ranks_other_than_those_that_run_is_refused(bench):
    env = {"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1"}
    assert "--ranks 3: 2 run already" in bench.run("--ranks", "3", code=2, **env)
