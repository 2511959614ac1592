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
from serving import serving
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


@pytest.mark.alone
@pytest.mark.parametrize(("method", "steps"), [("baseline", 800), ("eagle", 160)])
def test_the_client_waits_as_long_as_the_steps_take(models, tmp_path, method, steps):
    """One stream without think time, three windows: within 5 % in each.

    Outside the steps a request takes 15 to 35 ms on two cores, so the window has to be long: steps
    take some 2 ms, and some 4 ms with a drafter, whose tokens are never accepted.
    """
    user = User(tmp_path, vllm_python().parent, **environment())
    (tmp_path / "traces").mkdir()
    server = readme.SERVER.replace("DIR", str(tmp_path / "traces"))
    words, port = small(server, models, behind=drafting(models, method))
    load = ("--steps", steps, "--input-len", 16)
    with serving(words, port, env=user.env):
        for number in range(3):
            places = {"8000": port, "DIR": "traces", "NAME": f"w{number}"}
            user.run(readme.words(readme.ATTACH, load, **places))
    with duckdb.connect(tmp_path / "tracekit.duckdb", read_only=True) as con:
        rows = con.execute(
            """SELECT windows.dur_ns / windows.n_emitted_tokens, sum(steps.host_dur_ns)
               FROM windows INNER JOIN steps USING (run) WHERE windows.is_profiled
               GROUP BY run, windows.dur_ns, windows.n_emitted_tokens ORDER BY run"""
        ).fetchall()
    assert len(rows) == 3
    for number, (client_ns, steps_ns) in enumerate(rows):
        run = tmp_path / "tracekit-runs" / f"w{number}"
        n_tokens = vllm_sums.counted(run, "vllm:generation_tokens_total")
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
