"""The stand-in holds to what each vLLM version takes, writes and counts."""

import gzip
import json
import os
import re
import signal
import subprocess
import time
import urllib.error
import urllib.request
from contextlib import contextmanager

import pytest
from fake_vllm.generations import VERSIONS
from free_port import free_port

BODY = {"model": "m", "prompt": "a b c", "max_tokens": 6, "ignore_eos": True}


def post(url, body=None):
    data = json.dumps(body).encode() if body is not None else b""
    with urllib.request.urlopen(urllib.request.Request(url, data, method="POST")) as answer:
        return answer.read().decode()


@contextmanager
def serving(vllm, *arguments, env=None):
    """URL of a server that answers."""
    port = free_port()
    command = [vllm, "serve", "m", "--port", str(port), *arguments]
    process = subprocess.Popen(
        command, env={**os.environ, **(env or {})}, stdout=subprocess.PIPE, start_new_session=True
    )
    try:
        url = f"http://127.0.0.1:{port}"
        for _ in range(200):
            try:
                urllib.request.urlopen(f"{url}/health")
            except urllib.error.URLError:
                time.sleep(0.02)
            else:
                break
        yield url
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def profiled(vllm, traces, *arguments, env=None):
    """Counters after one completion under the profiler."""
    with serving(vllm, *arguments, env=env) as url:
        post(f"{url}/start_profile")
        post(f"{url}/v1/completions", BODY)
        post(f"{url}/stop_profile")
        metrics = urllib.request.urlopen(f"{url}/metrics").read().decode()
    return dict(re.findall(r"^(vllm:\w+)\{[^}]*\} (\S+)$", metrics, re.MULTILINE))


def loaded(path):
    return json.loads(gzip.decompress(path.read_bytes()))


def switched_on(version, traces):
    """Arguments and environment that make a version profile into a folder."""
    if version in ("0.10.2", "0.11.0", "0.12.0"):
        return [], {"VLLM_TORCH_PROFILER_DIR": str(traces)}
    config = {"profiler": "torch", "torch_profiler_dir": str(traces)}
    return ["--profiler-config", json.dumps(config)], {}


@pytest.mark.parametrize("version", VERSIONS)
def test_every_rank_writes_and_the_counters_agree_with_the_steps(vllm, tmp_path, version):
    arguments, env = switched_on(version, tmp_path)
    counters = profiled(vllm(version), tmp_path, "-tp", "2", *arguments, env=env)
    traces = list(tmp_path.glob("*.pt.trace.json.gz"))
    ranks = [loaded(path) for path in traces if ".async_llm." not in path.name]
    assert sorted(trace["distributedInfo"]["rank"] for trace in ranks) == [0, 1]
    assert len(traces) == 3
    assert counters["vllm:generation_tokens_total"] == "6.0"
    assert counters["vllm:iteration_tokens_total_count"] == "6.0"
    steps = [e for e in ranks[0]["traceEvents"] if e["name"].startswith("execute_")]
    assert len(steps) == (0 if version in ("0.10.2", "0.11.0") else 6)


def test_drafts_are_counted_as_the_annotations_say(vllm, tmp_path):
    arguments, _ = switched_on("0.32.0", tmp_path)
    drafting = json.dumps({"method": "eagle", "num_speculative_tokens": 2})
    counters = profiled(vllm("0.32.0"), tmp_path, *arguments, "--speculative-config", drafting)
    names = [event["name"] for event in loaded(next(tmp_path.glob("rank0.*.gz")))["traceEvents"]]
    generated = [re.search(r"generation_(\d+)\((\d+)\)", name) for name in names]
    drafted = sum(int(match[2]) - int(match[1]) for match in generated if match)
    assert counters["vllm:spec_decode_num_draft_tokens_total"] == f"{drafted}.0"
    assert drafted > 0


@pytest.mark.parametrize(
    ("version", "argument"),
    [
        ("0.12.0", '--profiler-config={"profiler":"torch","torch_profiler_dir":"/t"}'),
        ("0.13.0", "--enable-logging-iteration-details"),
        ("0.16.0", '--profiler-config={"profiler":"torch","warmup_iterations":1}'),
        ("0.18.1", "--profiler-config.detailed_trace_annotation=true"),
    ],
)
def test_an_argument_the_version_lacks_ends_the_server(vllm, version, argument):
    command = [vllm(version), "serve", "m", "--port", "1", argument]
    ended = subprocess.run(command, capture_output=True, text=True)
    assert ended.returncode != 0
    assert re.search("unrecognized arguments|Unexpected keyword argument", ended.stderr)


@pytest.mark.parametrize("version", ["0.16.0", "0.33.0"])
def test_the_old_variables_mean_nothing_to_new_versions(vllm, tmp_path, version):
    with (
        serving(vllm(version), env={"VLLM_TORCH_PROFILER_DIR": str(tmp_path)}) as url,
        pytest.raises(urllib.error.HTTPError, match="404"),
    ):
        post(f"{url}/start_profile")


def test_a_second_start_is_refused_in_0_33(vllm, tmp_path):
    arguments, _ = switched_on("0.33.0", tmp_path)
    with serving(vllm("0.33.0"), *arguments) as url:
        post(f"{url}/start_profile")
        with pytest.raises(urllib.error.HTTPError, match="409"):
            post(f"{url}/start_profile")


def test_the_profile_ends_by_itself_after_max_iterations(vllm, tmp_path):
    config = {"profiler": "torch", "torch_profiler_dir": str(tmp_path), "max_iterations": 2}
    config |= {"delay_iterations": 1}
    profiled(vllm("0.16.0"), tmp_path, "--profiler-config", json.dumps(config))
    (rank,) = tmp_path.glob("*-rank-0.*.gz")
    steps = [e for e in loaded(rank)["traceEvents"] if e["name"].startswith("execute_")]
    assert len(steps) == 3
