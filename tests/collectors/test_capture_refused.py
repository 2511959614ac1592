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


@pytest.mark.parametrize("name", ["a/b", "..", "", "-x", "+x", "a\nb", "x" * 300])
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
    ended = capture(tmp_path, "vllm", env={"PATH": path}, is_read=False).ended()
    assert ended.code == 0, ended.err


@pytest.mark.parametrize(
    "words",
    [
        ["--trace-dir", "."],
        ["--url", "http://127.0.0.1:9", "--trace-dir", "."],
        ["--api-key", "k"],
        ["--load", "true", "--prompts", "f"],
        ["--load", "true", "--input-len", 3],
        ["--load", "true", "--requests", 3],
        ["--prompts", "f", "--seed", 3],
        ["--engine", "torch", "--concurrency", 4],
        ["--engine", "torch", "--load", "true"],
    ],
    ids=str,
)
def test_options_that_would_be_ignored(tmp_path, words):
    end = capture(tmp_path, "no-such-program", *words).ended()
    assert end.code == 2
    assert "does nothing" in end.err
    assert words[-2] in end.err
    assert not end.run.exists()


def test_a_key_in_the_environment_is_no_mistake(vllm, tmp_path):
    end = capture(tmp_path, vllm(), "--load", "no-such-program", env={"VLLM_API_KEY": "k"}).ended()
    end.check("^--load: no-such-program: no such program", "PATH")
    assert not end.run.exists()


@pytest.mark.parametrize("option", ["--start-timeout", "--stop-timeout"])
@pytest.mark.parametrize("value", ["nan", "inf", "0"])
def test_a_patience_that_is_no_time(tmp_path, option, value):
    end = capture(tmp_path, "no-such-program", option, value).ended()
    assert end.code == 2, end.err
    assert option in end.err


@pytest.mark.parametrize("given", ["option", "environment"])
def test_a_key_that_no_header_can_carry(vllm, tmp_path, given):
    key = "pl\u00e4nted"
    server, env = (["--api-key", key], {}) if given == "option" else ([], {"VLLM_API_KEY": key})
    end = capture(tmp_path, vllm(), server=server, env=env).ended()
    end.check("^API key: not printable ASCII")
    assert key not in end.err


@pytest.mark.parametrize("host", ["a..b", "h" * 300])
def test_a_host_that_no_server_can_have(vllm, tmp_path, host):
    capture(tmp_path, vllm(), server=["--host", host]).ended().check("host and port")


def test_only_a_run_is_replaced(vllm, tmp_path):
    other = tmp_path / "runs" / RUN / "thesis.txt"
    other.parent.mkdir(parents=True)
    other.write_text("")
    capture(tmp_path, vllm(), "--replace").ended().check("not a run that tracekit recorded")
    assert other.exists()


def test_a_link_to_a_run_is_not_replaced(vllm, tmp_path):
    target = tmp_path / "elsewhere" / "run.json"
    target.parent.mkdir()
    target.write_text("{}")
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / RUN).symlink_to(target.parent)
    capture(tmp_path, vllm(), "--replace").ended().check("symbolic link", "--run")
    assert target.exists()


def _wait_for(url):
    for _ in range(200):
        try:
            urllib.request.urlopen(f"{url}/health")
        except OSError:
            time.sleep(0.02)
        else:
            return
