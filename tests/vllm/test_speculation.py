"""Whether speculation pays, told of real servers: against their own counters and client wall time.

One stream to a tiny target on the CPU: without drafts, with a draft that is never right, with one
that sometimes is, with the target as its own draft, with n-grams. `make test-vllm` runs this.
"""

import json
import os
import time
from itertools import permutations
from statistics import median

import duckdb
import pytest
import readme
import spec_models
import vllm_sums
from cpu_server import environment, pin, small, vllm_python
from user import User

import tracekit
from tracekit.whatif import predict

pytestmark = [pytest.mark.vllm, pytest.mark.alone]

COPIES = ("noisy", "same", "random")
DRAFTED = (*COPIES, "ngram")
SERVERS = ("plain", *DRAFTED)
N_WINDOWS = 3
N_TOKENS = {"plain": 640, "noisy": 320, "same": 960, "random": 240, "ngram": 960}
"""So many that outside its decode steps a request spends 3 % of its time at most, some 40 ms."""

LOAD = (
    *("--steps", 16, "--windows", N_WINDOWS),
    *("--input-len", 16, "--seed", 1),
)
STEADY = 1.1
MAX_CAPTURES = 2
"""A server of whose windows no two are closer than that is captured again."""

CLEARLY = 1.2
"""What noise of this machine does not turn round: two times further apart than that."""


@pytest.fixture(scope="module")
def folder(models, tmp_path_factory):
    """Each server captured by the README's command, into one database."""
    found = tmp_path_factory.mktemp("speculation")
    cores = sorted(os.sched_getaffinity(0))
    env = environment() | {"VLLM_CPU_OMP_THREADS_BIND": str(cores[-1])}
    user = User(found, vllm_python().parent, **env)
    for name in SERVERS:
        for _ in range(MAX_CAPTURES):
            captured(user.start(capture(name, models)), cores)
            if is_steady(found, name):
                break
    return found


def capture(name, models):
    options = (*LOAD, "--output-len", N_TOKENS[name], "--replace")
    target = spec_models.wide_target(models)
    words, _ = small(readme.BASELINE, models, options, drafting(name, models), target=target)
    words[words.index("--run") + 1] = name
    return words


def captured(process, cores):
    try:
        while process.poll() is None:
            pin(process.pid, engine_core=cores[-1], other_core=cores[0])
            time.sleep(0.5)
    finally:
        process.terminate()  # it then ends its server
        _, err = process.communicate()
    assert process.returncode == 0, err


def drafting(name, models):
    if name == "plain":
        return ()
    is_copy = name in COPIES
    config = (spec_models.copy_drafts if is_copy else spec_models.speculative)(name, models)
    return ("--speculative-config", json.dumps(config))


def is_steady(folder, run):
    """Whether two windows agree: then the middle one is none that something else slowed down."""
    query = "SELECT dur_ns FROM windows WHERE run = ? AND NOT is_profiled ORDER BY dur_ns"
    with duckdb.connect(folder / "tracekit.duckdb", read_only=True) as con:
        low, middle, high = (ns for (ns,) in con.execute(query, [run]).fetchall())
    return min(middle / low, high / middle) < STEADY


@pytest.fixture(scope="module")
def con(folder):
    with duckdb.connect(folder / "tracekit.duckdb", read_only=True) as con:
        yield con


@pytest.fixture(scope="module")
def db(folder):
    return tracekit.open(folder / "tracekit.duckdb")


@pytest.fixture(scope="module")
def wall(con):
    """Client time per token in ns, by server: the middle one of its windows."""
    rows = con.sql("SELECT run, dur_ns / n_emitted_tokens FROM windows WHERE NOT is_profiled")
    times = {}
    for run, ns in rows.fetchall():
        times.setdefault(run, []).append(ns)
    assert {len(found) for found in times.values()} == {N_WINDOWS}
    return {run: median(found) for run, found in times.items()}


def quoted(con, run):
    query = "SELECT ns_per_token, tokens_per_step FROM windows WHERE run = ? AND is_quoted"
    return con.execute(query, [run]).fetchone()


@pytest.mark.parametrize(
    ("run", "low", "high"), [("random", 0, 0), ("noisy", 0.2, 0.45), ("same", 1, 1)]
)
def test_drafts_are_accepted_as_often_as_they_are_made_for(con, run, low, high):
    query = "SELECT acceptance_rate FROM spec_decode WHERE run = ? AND position IS NULL"
    (rate,) = con.execute(query, [run]).fetchone()
    assert low <= rate <= high


@pytest.mark.parametrize("run", DRAFTED)
def test_acceptance_is_what_the_server_counted(con, folder, run):
    vllm_sums.spec_decode_is_what_was_counted(con, run, folder / "tracekit-runs" / run)


@pytest.mark.parametrize("run", SERVERS)
def test_tokens_per_step_are_what_the_server_counted(con, folder, run):
    """One request in each window: its prefill is a step and gives a token."""
    query = "SELECT window_name, tokens_per_step FROM windows WHERE run = ? ORDER BY start_ns"
    found = con.execute(query, [run]).fetchall()
    assert len(found) == N_WINDOWS + 1
    for window, tokens_per_step in found:
        counted = vllm_sums.counted_in(folder / "tracekit-runs" / run, window)
        tokens = counted("vllm:generation_tokens_total") - 1
        steps = counted("vllm:iteration_tokens_total_count") - 1
        assert tokens_per_step == pytest.approx(tokens / steps, rel=1e-9)


@pytest.mark.parametrize("run", SERVERS)
def test_time_per_token_is_what_the_client_waits(con, wall, run):
    ns_per_token, _ = quoted(con, run)
    assert ns_per_token == pytest.approx(wall[run], rel=0.05)


def test_compare_orders_the_servers_as_the_clock_does(db, wall):
    pairs = [(a, b) for a, b in permutations(SERVERS, 2) if wall[a] > CLEARLY * wall[b]]
    assert len(pairs) >= 4
    for slow, fast in pairs:
        (row,) = db.report("compare_headline", base=slow, other=fast).records()
        assert (slow, fast, row.verdict) == (slow, fast, "faster")
        assert row.ratio == pytest.approx(wall[fast] / wall[slow], rel=0.1)


@pytest.mark.parametrize(
    ("run", "given"), [("random", {}), ("same", {}), ("ngram", {"draft_ns": 0})]
)
def test_whatif_predicts_other_drafts(con, db, run, given):
    """Calibrated on the draft that is sometimes right, told how often the other one is.

    N-grams are found in no time, and not in each step: their acceptance is told of steps.
    """
    acceptance = ",".join(repr(n / n_decode_steps(con, run)) for n in accepted(con, run))
    k = str(spec_models.N_DRAFT_TOKENS)
    found = predict(db, "plain", "noisy", ks=k, acceptance=acceptance, **given)
    (row,) = (row for row in found.rows.records() if row.is_own and row.k > 0)
    ns_per_token, tokens_per_step = quoted(con, run)
    assert row.tokens_per_step == pytest.approx(tokens_per_step, rel=0.01)
    assert row.ns_per_token == pytest.approx(ns_per_token, rel=0.15)


def accepted(con, run):
    query = "SELECT accepted FROM spec_decode WHERE run = ? AND position >= 0 ORDER BY position"
    return [n for (n,) in con.execute(query, [run]).fetchall()]


def n_decode_steps(con, run):
    query = "SELECT n_decode_requests FROM windows WHERE run = ? AND is_profiled"
    return con.execute(query, [run]).fetchone()[0]
