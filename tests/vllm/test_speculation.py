"""Whether speculation pays, told of real servers: against their own counters and client wall time.

One stream to a tiny target on the CPU: without drafts, with a draft that is never right, with one
that sometimes is, with the target as its own draft, with n-grams. `make test-vllm` runs this.
"""

import json
import os
from itertools import permutations
from statistics import median

import duckdb
import pytest
import readme
import spec_models
import vllm_sums
from cpu_server import environment, pinned, small, vllm_python
from serving import all_serving, serving
from user import User

import tracekit
from tracekit.collectors.engines.vllm_scopes import scopes_environment
from tracekit.whatif import predict

pytestmark = [pytest.mark.vllm, pytest.mark.alone]

COPIES = ("noisy", "same", "random")
DRAFTED = (*COPIES, "ngram")
SERVERS = ("random", "plain", "noisy", "ngram", "same")
"""As they are captured in a round: those that are predicted next to the two that calibrate."""

N_TOKENS = {"plain": 480, "noisy": 320, "same": 480, "random": 240, "ngram": 960}
"""So many that outside its decode steps a request spends 3 % of its time at most, some 40 ms; and
of what drafts not too different, as 800 tokens of context take 10 % longer than 200."""

STEPS = 16
LOAD = ("--steps", STEPS, "--input-len", 16, "--seed", 1)
PROFILER = {
    "profiler": "torch",
    "torch_profiler_with_stack": False,
    "torch_profiler_dump_cuda_time_total": False,
    "detailed_trace_annotation": True,
    "ignore_frontend": True,
    "max_iterations": STEPS,
}
"""As `tracekit capture` starts a server: traces of whole windows take gigabytes of memory."""

ROUNDS = (1, 2, 3)
"""All servers run all the time and are captured in turn, as the machine's speed changes by 20 %
from minute to minute: what is compared is of one round, and of the rounds the middle one counts."""

CLEARLY = 1.2
"""What noise of this machine does not turn round: two times further apart than that."""


@pytest.fixture(scope="module")
def folder(models, tmp_path_factory):
    """Each server captured in each round by the README's command, into one database."""
    found = tmp_path_factory.mktemp("speculation")
    cores = sorted(os.sched_getaffinity(0))
    env = environment() | {"VLLM_CPU_OMP_THREADS_BIND": str(cores[-1])}
    env |= scopes_environment(env)
    user = User(found, vllm_python().parent, **env)
    servers = [started(name, models, user) for name in SERVERS]
    with all_serving(servers) as found_at, pinned(engine_core=cores[-1], other_core=cores[0]):
        urls = dict(zip(SERVERS, found_at, strict=True))
        for number in ROUNDS:
            for name in SERVERS:
                places = {
                    "http://127.0.0.1:8000": urls[name],
                    "DIR": name,
                    "NAME": run_of(name, number),
                }
                load = (*LOAD, "--output-len", N_TOKENS[name], "--warmups", int(number == 1))
                user.run(readme.words(readme.ATTACH, load, **places))
    return found


def started(name, models, user):
    """A server for profiling, which writes its traces to a folder of its name."""
    traces = user.folder / name
    traces.mkdir()
    profiler = ("--profiler-config", json.dumps({**PROFILER, "torch_profiler_dir": str(traces)}))
    target = spec_models.wide_target(models)
    words, port = small(
        "vllm serve MODEL", models, behind=(*profiler, *drafting(name, models)), target=target
    )
    return serving(words, port, env=user.env)


def drafting(name, models):
    if name == "plain":
        return ()
    is_copy = name in COPIES
    config = (spec_models.copy_drafts if is_copy else spec_models.speculative)(name, models)
    return ("--speculative-config", json.dumps(config))


def run_of(server, number):
    """Of a round: the run of a server."""
    return f"{server}-{number}"


@pytest.fixture(scope="module")
def con(folder):
    with duckdb.connect(folder / "tracekit.duckdb", read_only=True) as con:
        yield con


@pytest.fixture(scope="module")
def db(folder):
    return tracekit.open(folder / "tracekit.duckdb")


def client_ns(con, run):
    """Client time per token, in the window without the profiler."""
    query = "SELECT dur_ns / n_emitted_tokens FROM windows WHERE run = ? AND NOT is_profiled"
    ((ns,),) = con.execute(query, [run]).fetchall()
    return ns


def quoted(con, run):
    query = "SELECT ns_per_token, tokens_per_step FROM windows WHERE run = ? AND is_quoted"
    return con.execute(query, [run]).fetchone()


@pytest.mark.parametrize(
    ("server", "low", "high"), [("random", 0, 0), ("noisy", 0.2, 0.45), ("same", 1, 1)]
)
def test_drafts_are_accepted_as_often_as_they_are_made_for(con, server, low, high):
    query = "SELECT acceptance_rate FROM spec_decode WHERE run = ? AND position IS NULL"
    for number in ROUNDS:
        (rate,) = con.execute(query, [run_of(server, number)]).fetchone()
        assert low <= rate <= high


@pytest.mark.parametrize("server", DRAFTED)
def test_acceptance_is_what_the_server_counted(con, folder, server):
    for run in (run_of(server, number) for number in ROUNDS):
        vllm_sums.spec_decode_is_what_was_counted(con, run, folder / "tracekit-runs" / run)


@pytest.mark.parametrize("server", SERVERS)
def test_tokens_per_step_are_what_the_server_counted(con, folder, server):
    """One request in each window: its prefill is a step and gives a token."""
    query = "SELECT window_name, tokens_per_step FROM windows WHERE run = ?"
    for run in (run_of(server, number) for number in ROUNDS):
        found = con.execute(query, [run]).fetchall()
        assert len(found) == 2
        for window, tokens_per_step in found:
            counted = vllm_sums.counted_in(folder / "tracekit-runs" / run, window)
            tokens = counted("vllm:generation_tokens_total") - 1
            steps = counted("vllm:iteration_tokens_total_count") - 1
            assert tokens_per_step == pytest.approx(tokens / steps, rel=1e-9)


@pytest.mark.parametrize("server", SERVERS)
def test_time_per_token_is_what_the_client_waits(con, server):
    runs = [run_of(server, number) for number in ROUNDS]
    ratio = median(quoted(con, run)[0] / client_ns(con, run) for run in runs)
    assert ratio == pytest.approx(1, rel=0.05)


def test_compare_orders_the_servers_as_the_clock_does(con, db):
    rounds = {pair: clocks(con, *pair) for pair in permutations(SERVERS, 2)}
    apart = {pair: found for pair, found in rounds.items() if median(found) < 1 / CLEARLY}
    assert len(apart) >= 4
    for (slow, fast), found in apart.items():
        rows = [headline(db, slow, fast, number) for number in ROUNDS]
        assert [row.verdict for row in rows].count("faster") > len(ROUNDS) / 2, (slow, fast)
        off = [row.ratio / clock for row, clock in zip(rows, found, strict=True)]
        assert median(off) == pytest.approx(1, rel=0.1), (slow, fast)


def clocks(con, slow, fast):
    """How the client's time with one server is to that with another, in each round."""
    times = [[client_ns(con, run_of(name, n)) for name in (fast, slow)] for n in ROUNDS]
    return [one / other for one, other in times]


def headline(db, slow, fast, number):
    """What `compare` says of a round."""
    base, other = (run_of(server, number) for server in (slow, fast))
    (row,) = db.report("compare_headline", base=base, other=other).records()
    return row


@pytest.mark.parametrize(
    ("server", "given"), [("random", {}), ("same", {}), ("ngram", {"draft_ns": 0})]
)
def test_whatif_predicts_other_drafts(con, db, folder, server, given):
    """Calibrated on the draft that is sometimes right, told how often the other one is.

    N-grams are found in no time, and not in each step: their acceptance is told of steps.
    """
    errors = []
    for number in ROUNDS:
        run = run_of(server, number)
        rates = (n / n_decode_steps(folder, run) for n in accepted(con, run))
        row = predicted(db, number, acceptance=",".join(map(repr, rates)), **given)
        ns_per_token, tokens_per_step = quoted(con, run)
        assert row.tokens_per_step == pytest.approx(tokens_per_step, rel=0.01)
        errors.append(row.ns_per_token / ns_per_token - 1)
    assert median(errors) == pytest.approx(0, abs=0.15), errors


def predicted(db, number, **given):
    """What `whatif` says of other drafts, from two runs of the round."""
    base, draft = (run_of(name, number) for name in ("plain", "noisy"))
    found = predict(db, base, draft, ks=str(spec_models.N_DRAFT_TOKENS), **given)
    (row,) = (row for row in found.rows.records() if row.is_own and row.k > 0)
    return row


def accepted(con, run):
    query = "SELECT accepted FROM spec_decode WHERE run = ? AND position >= 0 ORDER BY position"
    return [n for (n,) in con.execute(query, [run]).fetchall()]


def n_decode_steps(folder, run):
    """Of the profiled window, by the server's counter: one step is the prefill."""
    counted = vllm_sums.counted_in(folder / "tracekit-runs" / run, "profiled")
    return counted("vllm:iteration_tokens_total_count") - 1
