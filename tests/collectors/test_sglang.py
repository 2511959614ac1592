"""Captures of a stand-in for SGLang, by the command, as a user would."""

import gzip
import json
import os
import socket
import subprocess
import sys
import time

import httpx
import pytest
from capturing import RECORD
from database import memory_run

from tracekit.collectors.engines.sglang import Sglang
from tracekit.collectors.options import ProfileOptions
from tracekit.collectors.run_folder import RunFolder
from tracekit.errors import CaptureError


@pytest.fixture
def port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


def capture(folder, packages, *words, version="0.5.23", exit_code=0):
    done = subprocess.run(
        [sys.executable, RECORD, "capture", "--run", "r", "--steps", "6", *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(packages), "FAKE_SGLANG": version},
        capture_output=True,
        text=True,
    )
    assert done.returncode == exit_code, done.stderr
    return done


def launched(packages, form):
    if form == "module":
        return [sys.executable, "-m", "sglang.launch_server"]
    return [str(packages / "bin" / "sglang"), "serve"]


def asked_of(folder):
    """What the server was asked to profile, as it says in each trace."""
    traces = sorted((folder / "tracekit-runs" / "r" / "traces").iterdir())
    return {path.name: json.loads(gzip.decompress(path.read_bytes()))["asked"] for path in traces}


@pytest.mark.parametrize(
    ("form", "version"),
    [("module", "0.5.23"), ("script", "0.5.23"), ("module", "0.4.10"), ("module", "0.4.10 strict")],
)
def test_each_rank_is_recorded(tmp_path, packages, port, form, version):
    server = [*launched(packages, form), "--model-path", "m", "--tp", "2", "--port", port]
    capture(tmp_path, packages, "--", *server, version=version)
    db = memory_run(tmp_path / "tracekit-runs" / "r")
    ranks = db.sql("SELECT rank, count(*) >= 6 FROM steps GROUP BY ALL ORDER BY 1")
    assert ranks.fetchall() == [(0, True), (1, True)]
    told = db.sql("SELECT engine, engine_version, model, tensor_parallel FROM runs")
    assert told.fetchall() == [("sglang", version.split()[0], "m", 2)]


def test_stacks_and_shapes_are_off_unless_asked_for(tmp_path, packages, port):
    server = [*launched(packages, "module"), "--model-path", "m", "--port", port]
    capture(tmp_path, packages, "--shapes", "--", *server)
    ((name, asked),) = asked_of(tmp_path).items()
    assert name.startswith("profiled-")
    assert (asked["with_stack"], asked["record_shapes"]) == (False, True)
    assert (asked["profile_by_stage"], asked["merge_profiles"]) == (False, False)
    assert asked["num_steps"] > 6


@pytest.mark.parametrize("metrics", [["--enable-metrics"], []], ids=["counters", "no counters"])
def test_a_server_that_runs_already_is_attached_to(tmp_path, packages, port, metrics):
    (tmp_path / "traces").mkdir()
    server = [*launched(packages, "module"), "--model-path", "m", "--port", port, *metrics]
    env = {**os.environ, "PYTHONPATH": str(packages), "FAKE_SGLANG": "0.5.23"}
    with subprocess.Popen(server, env=env, stderr=subprocess.DEVNULL) as process:
        try:
            url = f"http://127.0.0.1:{port}"
            wait_until_healthy(url)
            done = capture(tmp_path, packages, "--url", url, "--trace-dir", "traces")
        finally:
            process.terminate()
    assert len(asked_of(tmp_path)) == 1
    counters = list((tmp_path / "tracekit-runs" / "r").glob("metrics/*.prom"))
    assert len(counters) == (4 if metrics else 0)
    assert done.stderr.count("SGLang has --enable-metrics") == (0 if metrics else 1)


def wait_until_healthy(url):
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        try:
            return httpx.get(f"{url}/health", trust_env=False)
        except httpx.TransportError:
            time.sleep(0.05)
    raise AssertionError(f"{url}: never healthy")


@pytest.mark.parametrize(
    ("name", "is_rank"),
    [
        ("1764.5-TP-0.trace.json.gz", True),
        ("profiled-1764.5-TP-1-DP-0-PP-2-EP-3.trace.json.gz", True),
        ("1764.5-TP-0-DECODE.trace.json.gz", True),
        ("1764.5-TP-3-EXTEND.trace.json.gz", True),
        ("merged-1764.5.trace.json.gz", False),
        ("merged-1764.5-TP-0.trace.json.gz", False),
        ("1764.5-TP-0-memory.pickle", False),
    ],
)
def test_traces_of_ranks_are_told_by_their_names(name, is_rank):
    assert Sglang().is_rank_trace(name) is is_rank


@pytest.mark.parametrize(
    ("words", "n_ranks"),
    [
        ([], 1),
        (["--tp", "4", "--pp-size", "2"], 8),
        (["--tensor-parallel-size=2", "--dp", "2"], 4),
        (["--tp-size", "8", "--dp-size", "8", "--enable-dp-attention"], 8),
        (["--tp", "16", "--nnodes", "2"], None),
    ],
)
def test_ranks_are_counted_from_the_arguments(tmp_path, words, n_ranks):
    command = ["python", "-m", "sglang.launch_server", "--model-path", "m", *words]
    launch = Sglang().launch(command, {}, ProfileOptions(steps=4), RunFolder(tmp_path / "r"))
    assert launch.n_ranks == n_ranks
    assert launch.url == "http://127.0.0.1:30000"
    assert launch.command == (*command, "--enable-metrics")


def test_a_second_key_is_refused(tmp_path):
    command = ["sglang", "serve", "--model-path", "m", "--admin-api-key", "secret"]
    with pytest.raises(CaptureError, match="--admin-api-key") as failure:
        Sglang().launch(command, {}, ProfileOptions(steps=4), RunFolder(tmp_path / "r"))
    assert "secret" not in str(failure.value)
