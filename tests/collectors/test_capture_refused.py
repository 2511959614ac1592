"""What is told before a server is started: port, names, folders, programs."""

import os
import socket
import subprocess
import time
import urllib.request

import pytest
from capturing import RUN, Capture, capture
from free_port import free_port


@pytest.mark.parametrize("kind", ["missing", "folder", "plain"])
def test_a_command_that_cannot_be_started(tmp_path, kind):
    program = tmp_path / "bin" / "vllm"
    program.parent.mkdir()
    if kind == "folder":
        program.mkdir()
    if kind == "plain":
        program.write_text("no program")
    ended = capture(tmp_path, program).ended()
    ended.check(str(program))


def test_a_command_without_an_engine(tmp_path):
    words = ("--run", RUN, "--out", "runs", "--db", "t.duckdb")
    ended = Capture(tmp_path, words, ("sleep", "60")).ended()
    ended.check(code=ended.code)
    assert ended.code in (1, 2)


def test_a_taken_port_is_told_before_the_server_starts(vllm, tmp_path):
    port = free_port()
    stranger = subprocess.Popen(
        [vllm(), "serve", "stranger", "--port", str(port)], stdout=subprocess.DEVNULL
    )
    try:
        url = f"http://127.0.0.1:{port}"
        _wait_for(url)
        ended = capture(tmp_path, vllm(), server=["--port", port]).ended()
        ended.check(f"port {port}: taken", "--port")
        metrics = urllib.request.urlopen(f"{url}/metrics").read().decode()
        assert "generation_tokens_total{" in metrics
        assert 'request_success_total{finished_reason="length",engine="0",model_name="stranger"} 0'
        assert " 0.0\n" in metrics[metrics.index("vllm:generation_tokens_total{") :]
    finally:
        stranger.terminate()
        stranger.wait()


def test_a_port_that_is_bound_but_not_listened_on(vllm, tmp_path):
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        port = holder.getsockname()[1]
        ended = capture(tmp_path, vllm(), server=["--port", port]).ended()
    ended.check("server: exited with 1")
    assert "Address already in use" in ended.err


def test_a_taken_run_name_is_told_before_the_server_starts(vllm, tmp_path):
    earlier = tmp_path / "runs" / RUN / "run.json"
    earlier.parent.mkdir(parents=True)
    earlier.write_text("{}")
    ended = capture(tmp_path, vllm()).ended()
    ended.check("a run of this name is there", "--run")
    assert earlier.read_text() == "{}"
    assert list(earlier.parent.iterdir()) == [earlier]


def test_a_run_name_taken_in_the_database_is_told_before_the_server_starts(vllm, tmp_path):
    assert capture(tmp_path, vllm()).ended().code == 0
    (tmp_path / "runs" / RUN).rename(tmp_path / "earlier")
    ended = capture(tmp_path, vllm()).ended()
    ended.check(RUN, "--run|--replace")
    assert not ended.run.exists()


@pytest.mark.parametrize("name", ["a/b", "..", "", "-x", "a\nb", "x" * 300])
def test_a_run_name_that_is_no_folder_name(vllm, tmp_path, name):
    ended = capture(tmp_path, vllm(), f"--run={name}").ended()
    assert ended.code in (1, 2)
    assert ended.left == []
    assert "Traceback" not in ended.err
    assert not list(tmp_path.rglob("server.log"))


def test_an_output_folder_that_cannot_be_made(vllm, tmp_path):
    (tmp_path / "file").write_text("")
    ended = capture(tmp_path, vllm(), "--out", tmp_path / "file" / "runs").ended()
    ended.check("cannot be made", "--out")


def test_an_output_folder_that_cannot_be_written(vllm, tmp_path):
    """Root may write anywhere, but not into /proc."""
    ended = capture(tmp_path, vllm(), "--out", "/proc").ended()
    ended.check("/proc/r: ", "--out")


def test_the_server_gets_the_environment_and_folder_of_the_user(vllm, tmp_path):
    """What is in PATH is found, and paths in arguments mean what they mean to the user."""
    path = f"{vllm().parent}{os.pathsep}{os.environ['PATH']}"
    ended = capture(tmp_path, "vllm", env={"PATH": path}).ended()
    assert ended.code == 0, ended.err


def _wait_for(url):
    for _ in range(200):
        try:
            urllib.request.urlopen(f"{url}/health")
        except OSError:
            time.sleep(0.02)
        else:
            return
