"""`tracekit capture` around real vLLM on this machine's CPU, each time by the README's command.

`make test-vllm` builds the environment and names its interpreter in TRACEKIT_VLLM_PYTHON.
"""

import json
import os
import signal
import time

import duckdb
import pytest
import readme
import spec_models
import vllm_sums
from capturing import MARKER, left_over
from cpu_server import environment, small, vllm_python
from serving import all_serving, serving
from user import User

pytestmark = pytest.mark.vllm

STEPS = 24
RUN = "baseline"
"""As the README's command calls it."""

PASSES = {"draft_model": 3}
"""Passes of a drafter as large as the target, in each step."""


def drafting(models, method):
    """Words that have the server draft."""
    config = spec_models.speculative(method, models)
    return ("--speculative-config", json.dumps(config)) if config else ()


@pytest.mark.parametrize(
    ("method", "tensor_parallel"),
    [*((method, 1) for method in ("baseline", *spec_models.METHODS)),
     ("baseline", 2), ("draft_model", 2)],
)  # fmt: skip
def test_one_command_captures_a_run_that_adds_up(models, tmp_path, method, tensor_parallel):
    user = User(tmp_path, vllm_python().parent, **environment(tensor_parallel))
    options = ("--steps", STEPS, "--concurrency", 2)
    words, _ = small(readme.BASELINE, models, options, drafting(models, method), tensor_parallel)
    assert "Without the profiler" in user.run(words).stdout
    folder = tmp_path / "tracekit-runs" / RUN
    with duckdb.connect(tmp_path / "tracekit.duckdb", read_only=True) as con:
        vllm_sums.steps_are_those_counted(con, RUN, folder)
        vllm_sums.ranks_agree(con, RUN)
        if method != "medusa":
            vllm_sums.verify_is_the_forward_pass_of_steps_with_drafts(con, RUN)
        if method in ("baseline", "draft_model"):
            passes = PASSES.get(method, 0)
            vllm_sums.passes_hold_the_models_work(con, RUN, folder, draft_passes=passes)
        if method != "baseline":
            vllm_sums.spec_decode_is_what_was_counted(con, RUN, folder)
        vllm_sums.every_event_is_accounted_for(con, RUN, folder)
        phases_come_from_the_plugin(con, has_drafts=method != "baseline")


def phases_come_from_the_plugin(con, has_drafts):
    sources = con.execute(
        """SELECT DISTINCT phase, phase_source FROM step_phases
           WHERE phase NOT IN ('prepare', 'other') AND host_dur_ns > 0"""
    ).fetchall()
    expected = {"forward", "sample"} | ({"verify", "draft"} if has_drafts else set())
    assert set(sources) == {(phase, "plugin") for phase in expected}


N_STEPS = {"baseline": 300, "eagle": 150}
"""Outside its steps a request takes 2 to 14 ms where nothing else runs, so a window has to be long:
here some 0.7 s. Steps take some 2.5 ms, and some 5 ms with a drafter, whose tokens are never
accepted; the profiler takes 40 and 75 ms to write each of them."""

N_WINDOWS = 3


@pytest.fixture(scope="module")
def attached(models, tmp_path_factory):
    """One stream without think time, in windows of a server for each method."""
    user = User(tmp_path_factory.mktemp("attached"), vllm_python().parent, **environment())
    servers = [serving_traces(user, models, method) for method in N_STEPS]
    with all_serving(servers) as urls:
        for (method, steps), url in zip(N_STEPS.items(), urls, strict=True):
            load = ("--steps", steps, "--input-len", 16)
            for number in range(N_WINDOWS):
                places = {"DIR": method, "NAME": f"{method}-{number}"}
                attach = readme.ATTACH.replace("http://127.0.0.1:8000", url)
                user.run(readme.words(attach, load, **places))
    return user.folder


def serving_traces(user, models, method):
    """A server by the README's command, which writes its traces to a folder of its method."""
    traces = user.folder / method
    traces.mkdir()
    command = readme.SERVER.replace("DIR", str(traces))
    words, port = small(command, models, behind=drafting(models, method))
    return serving(words, port, env=user.env)


@pytest.mark.alone
@pytest.mark.parametrize("method", N_STEPS)
def test_the_client_waits_as_long_as_the_steps_take(attached, method):
    """Within 5 % in each window."""
    with duckdb.connect(attached / "tracekit.duckdb", read_only=True) as con:
        rows = con.execute(
            """SELECT run, windows.dur_ns / windows.n_emitted_tokens, sum(steps.host_dur_ns)
               FROM windows INNER JOIN steps USING (run)
               WHERE windows.is_profiled AND starts_with(run, ?)
               GROUP BY run, windows.dur_ns, windows.n_emitted_tokens""",
            [method],
        ).fetchall()
    assert len(rows) == N_WINDOWS
    for run, client_ns, steps_ns in rows:
        folder = attached / "tracekit-runs" / run
        n_tokens = vllm_sums.counted(folder, "vllm:generation_tokens_total")
        assert steps_ns / n_tokens == pytest.approx(client_ns, rel=0.05)


@pytest.mark.parametrize("point", ["starting", "profiled"])
def test_ctrl_c_leaves_no_process(models, tmp_path, point):
    user = User(tmp_path, vllm_python().parent, **environment(), **{MARKER: str(tmp_path)})
    log = tmp_path / "tracekit-runs" / RUN / "logs" / "server.log"
    words, _ = small(readme.BASELINE, models, ("--steps", 400))
    process = user.start(words)
    awaited = {"starting": "EngineCore", "profiled": "Starting profiler"}[point]
    while not (log.exists() and awaited in log.read_text(errors="replace")):
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err.splitlines()[-1].startswith("capture: stopped by Ctrl-C")
    assert left_over(str(tmp_path), kill=True) == []
