"""`tracekit capture --url` of a server that runs already: it is left as it was."""

import json
import subprocess
import time
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass
from signal import SIGINT, SIGTERM

import pytest
from capturing import RUN, Capture, at_once
from free_port import free_port

VERSION = "0.33.0"
"""It answers /start_profile with 409 where a profile was left running."""


@dataclass(frozen=True)
class Case:
    faults: str = ""
    told: tuple = ()
    trace_dir: str = "traces"
    has_profiler: bool = True
    signals: tuple = ()
    before: str | None = None
    options: tuple = ()


CASES = {
    "missing-rank": Case("missing-rank=0", ("no rank wrote a trace", "--trace-dir")),
    "other-folder": Case("", ("no rank wrote a trace", "--trace-dir"), trace_dir="other"),
    "no-such-folder": Case("", ("nowhere: no such folder",), trace_dir="nowhere"),
    "no-profiler": Case("", ("404", "start it with --profiler-config"), has_profiler=False),
    "requests-fail": Case("request-500=2", ("^load", "EngineCore encountered an issue")),
    "profiler-runs-already": Case("", ("409", "POST /stop_profile"), before="/start_profile"),
    "SIGINT": Case("step-ms=40", signals=(SIGINT,)),
    "SIGTERMs": Case("step-ms=40", signals=(SIGTERM,) * 3),
    "shapes": Case("", ("^--shapes: a server of vllm",), options=("--shapes",)),
    "stacks": Case("", ("^--stacks: ",), options=("--stacks",)),
    "allocations": Case("", ("^--allocations: ",), options=("--allocations",)),
    "nccl-log": Case("", ("^--nccl-log: ",), options=("--nccl-log",)),
    "delay": Case("", ("^--delay: ",), options=("--delay", 3)),
    "complete": Case(),
}
CODES = dict.fromkeys(("shapes", "stacks", "allocations", "nccl-log", "delay"), 2)
"""Exit codes other than 1."""


@dataclass(frozen=True)
class Result:
    """The end of a capture, the server's health after it, and what /start_profile answers then."""

    end: object
    health: int
    start_profile: int


@contextmanager
def serving(script, folder, case):
    """A server of somebody else's that answers; gives its URL and process."""
    port, traces = free_port(), folder / "traces"
    config = {"profiler": "torch", "torch_profiler_dir": str(traces)}
    switch = ["--profiler-config", json.dumps(config)] if case.has_profiler else []
    command = [script, "serve", "m", "--port", str(port), *switch]
    process = subprocess.Popen(command, env={"FAKE_VLLM": case.faults}, stdout=subprocess.PIPE)
    try:
        _read_until(process, b"startup complete")
        yield f"http://127.0.0.1:{port}", process
    finally:
        process.kill()
        process.communicate()


def _read_until(process, text):
    while text not in process.stdout.readline():
        assert process.poll() is None


def status(url, data=None):
    try:
        return urllib.request.urlopen(url, data).status
    except urllib.request.HTTPError as error:
        error.close()
        return error.status


def attach(folder, url, trace_dir, *options):
    words = ("--run", RUN, "--out", "runs", "--db", "t.duckdb", "--steps", 6, *options)
    return Capture(folder, (*words, "--url", url, "--trace-dir", trace_dir))


@pytest.fixture(scope="module")
def results(request, vllm, tmp_path_factory):
    script = vllm(VERSION)

    def run(name):
        case, folder = CASES[name], tmp_path_factory.mktemp(name)
        for made in ("traces", "other"):
            (folder / made).mkdir()
        (folder / "traces" / "rank0.1.pt.trace.json.gz").write_bytes(b"of an earlier session")
        with serving(script, folder, case) as (url, process):
            if case.before:
                status(f"{url}{case.before}", b"")
            running = attach(folder, url, case.trace_dir, *case.options)
            if case.signals:
                _read_until(process, b"Profiler started")
            for number in case.signals:
                running.signal(number)
                time.sleep(0.02)
            end = running.ended()
            return Result(end, status(f"{url}/health"), status(f"{url}/start_profile", b""))

    with at_once(request, CASES, run) as result:
        yield result


@pytest.mark.parametrize("name", [name for name in CASES if CASES[name].told])
def test_it_is_told_in_one_line(results, name):
    results(name).end.check(*CASES[name].told, code=CODES.get(name, 1))


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERMs"])
def test_a_signal_ends_the_capture(results, name):
    end = results(name).end
    end.check("^capture: stopped by", code=128 + CASES[name].signals[0])


@pytest.mark.parametrize("name", ["complete"])
def test_a_capture_of_a_running_server_is_complete(results, name):
    end = results(name).end
    assert (end.code, end.left) == (0, []), end.err
    assert end.said["status"] == "complete"
    assert end.said["options"] == {"steps": 6, "scopes": False}
    assert len(list((end.run / "traces").glob("rank0.*.gz"))) == 1
    assert len(list((end.run.parent.parent / "traces").glob("rank0.*.gz"))) == 2


@pytest.mark.parametrize("name", CASES)
def test_the_server_is_left_running_and_its_profiler_as_it_was(results, name):
    result = results(name)
    left_on = {"profiler-runs-already": 409, "no-profiler": 404}
    assert (result.health, result.start_profile) == (200, left_on.get(name, 200))


def test_where_nothing_listens(tmp_path):
    url = f"http://127.0.0.1:{free_port()}"
    attach(tmp_path, url, tmp_path).ended().check(url, "--url")


@pytest.mark.parametrize("url", ["http://a..b:9", f"http://{'h' * 300}:9", "http://h:99999"])
def test_a_url_that_no_server_can_have(tmp_path, url):
    end = attach(tmp_path, url, tmp_path).ended()
    assert end.code in (1, 2)
    assert "Traceback" not in end.err
    assert "HOST:PORT" in end.err or "host and port" in end.err


def test_a_key_that_no_header_can_carry(tmp_path):
    url = f"http://127.0.0.1:{free_port()}"
    end = attach(tmp_path, url, tmp_path, "--api-key", "k\u00e9y-planted").ended()
    end.check("^API key: not printable ASCII")
    assert "planted" not in end.err
