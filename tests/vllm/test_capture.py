"""`tracekit capture` around real vLLM on this machine's CPU, each time by one command.

`make test-vllm` builds the environment and names its interpreter in TRACEKIT_VLLM_PYTHON.
"""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import duckdb
import httpx
import pytest
import spec_models
import vllm_sums
from capturing import MARKER, left_over
from free_port import free_port

pytestmark = pytest.mark.vllm

HERE = Path(__file__).parent
TIMEOUT_S = 400
STEPS = 24
RUN = "real"

ENVIRONMENT = {
    "HF_HUB_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_HOST_IP": "127.0.0.1",
    "GLOO_SOCKET_IFNAME": "lo",
}
PASSES = {"draft_model": 3}
"""Passes of a drafter as large as the target, in each step."""


def vllm():
    python = os.environ.get("TRACEKIT_VLLM_PYTHON")
    assert python, "TRACEKIT_VLLM_PYTHON: not set; run `make test-vllm`"
    return Path(python)


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    env = os.environ | {"PYTHONPATH": str(HERE.parents[1] / "sample_traces")}
    command = [vllm(), HERE / "spec_models.py", folder]
    subprocess.run(command, env=env, check=True, timeout=TIMEOUT_S)
    return folder


def serve_command(models, method="baseline", tensor_parallel=1):
    """As a user would write it, and the port it listens on."""
    port = free_port()
    command = [vllm().with_name("vllm"), "serve", models / "tiny-llama", "--host", "127.0.0.1"]
    command += ["--port", port, "--max-model-len", 1024, "--max-num-seqs", 8]
    command += ["--dtype", "bfloat16", "--enforce-eager", "--no-enable-prefix-caching"]
    command += ["-tp", tensor_parallel]
    drafting = spec_models.speculative(method, models)
    if drafting:
        command += ["--speculative-config", json.dumps(drafting)]
    return [str(word) for word in command], port


def environment(tensor_parallel=1, **more):
    cores = "|".join(map(str, sorted(os.sched_getaffinity(0))[:tensor_parallel]))
    bound = {"VLLM_CPU_OMP_THREADS_BIND": cores} if tensor_parallel > 1 else {}
    return os.environ | ENVIRONMENT | bound | more


def capture(*words, **more):
    command = [sys.executable, "-m", "tracekit", "capture", *map(str, words)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more
    )


@pytest.mark.parametrize(
    ("method", "tensor_parallel"),
    [*((method, 1) for method in ("baseline", *spec_models.METHODS)),
     ("baseline", 2), ("draft_model", 2)],
)  # fmt: skip
def test_one_command_captures_a_run_that_adds_up(models, tmp_path, method, tensor_parallel):
    command, _ = serve_command(models, method, tensor_parallel)
    options = ("--run", RUN, "--steps", STEPS, "--concurrency", 2, "--out", tmp_path)
    process = capture(
        *options, "--db", tmp_path / "db", "--", *command, env=environment(tensor_parallel)
    )
    out, err = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 0, err
    assert "Without the profiler" in out
    folder = tmp_path / RUN
    with duckdb.connect(tmp_path / "db", read_only=True) as con:
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


@contextmanager
def served(models, method, folder):
    """URL of a server that was started for profiling by somebody else."""
    command, port = serve_command(models, method)
    folder.mkdir()
    config = {"profiler": "torch", "torch_profiler_dir": str(folder), "ignore_frontend": True}
    config["torch_profiler_with_stack"] = False
    command += ["--profiler-config", json.dumps(config)]
    with (folder.parent / "server.log").open("wb") as log:
        process = subprocess.Popen(command, env=environment(), stdout=log, start_new_session=True)
    url = f"http://127.0.0.1:{port}"
    try:
        while not is_healthy(url):
            assert process.poll() is None
            time.sleep(0.5)
        yield url
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(60)


def is_healthy(url):
    try:
        return httpx.get(f"{url}/health", trust_env=False).is_success
    except httpx.TransportError:
        return False


def test_the_client_waits_as_long_as_the_steps_take(models, tmp_path):
    """One stream without think time, three windows: within 5 % in each.

    Outside the steps a request takes 15 to 35 ms on two cores, so the window has to be long: a
    drafter whose tokens are never accepted makes one of 160 steps of some 4 ms.
    """
    with served(models, "eagle", tmp_path / "traces") as url:
        for number in range(3):
            words = ("--url", url, "--trace-dir", tmp_path / "traces", "--steps", 160)
            process = capture(
                "--run", f"w{number}", *words, "--out", tmp_path, "--db", tmp_path / "db"
            )
            _, err = process.communicate(timeout=TIMEOUT_S)
            assert process.returncode == 0, err
    with duckdb.connect(tmp_path / "db", read_only=True) as con:
        rows = con.execute(
            """SELECT windows.dur_ns / windows.n_emitted_tokens, sum(steps.host_dur_ns)
               FROM windows INNER JOIN steps USING (run) WHERE windows.is_profiled
               GROUP BY run, windows.dur_ns, windows.n_emitted_tokens ORDER BY run"""
        ).fetchall()
    assert len(rows) == 3
    for number, (client_ns, steps_ns) in enumerate(rows):
        n_tokens = vllm_sums.counted(tmp_path / f"w{number}", "vllm:generation_tokens_total")
        assert steps_ns / n_tokens == pytest.approx(client_ns, rel=0.05)


@pytest.mark.parametrize("point", ["starting", "profiled"])
def test_ctrl_c_leaves_no_process(models, tmp_path, point):
    command, _ = serve_command(models)
    log = tmp_path / RUN / "logs" / "server.log"
    process = capture(
        *("--run", RUN, "--out", tmp_path, "--steps", 400, "--", *command),
        env=environment(**{MARKER: str(tmp_path)}),
        start_new_session=True,
    )
    awaited = {"starting": "EngineCore", "profiled": "Starting profiler"}[point]
    while not (log.exists() and awaited in log.read_text(errors="replace")):
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err.splitlines()[-1].startswith("capture: stopped by Ctrl-C")
    assert left_over(str(tmp_path), kill=True) == []
