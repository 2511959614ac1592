"""What a capture tells: on stderr while it runs, in run.json for a later reader."""

import json
import sys

import pytest
from capturing import RUN, Capture, capture


@pytest.fixture(scope="module")
def complete(vllm, tmp_path_factory):
    """A capture with a load of its own."""
    load = ("--input-len", 9, "--seed", 3, "--requests", 2)
    end = capture(tmp_path_factory.mktemp("complete"), vllm(), *load).ended()
    assert end.code == 0, end.err
    return end


def test_each_stage_is_a_line_where_there_is_no_terminal(complete):
    stages = ["starting the server", "r: warming up", "r: load without profiler"]
    lines = [line for line in complete.err.splitlines() if line in stages]
    assert lines == stages


def test_run_json_has_the_load(complete):
    assert complete.said["load"] == {
        "kind": "built-in",
        "api": "completions",
        "prompts": {"input_len": 9, "seed": 3},
        "output_len": 6,
        "requests": 2,
        "ignore_eos": True,
        "warmups": 1,
    }
    assert complete.said["tensor_parallel"] == 1


def test_run_json_has_the_command_of_a_load_without_its_secrets(vllm, tmp_path):
    end = capture(tmp_path, vllm(), "--load", "true --key planted", "--warmups", 0).ended()
    assert end.said["load"] == {
        "kind": "command",
        "command": ["true", "--key", "***"],
        "warmups": 0,
    }


def test_a_concurrency_that_was_not_reached_is_told_once(vllm, tmp_path):
    end = capture(tmp_path, vllm(), "--concurrency", 4, "--requests", 1).ended()
    assert end.code == 0, end.err
    told = [line for line in end.err.splitlines() if line.startswith("concurrency: ")]
    assert len(told) == 1
    assert "4 was asked for, at most 1 request was on the way" in told[0]
    assert [window["n_requests_at_once"] for window in end.said["windows"]] == [1, 1]


def test_several_windows_without_the_profiler(vllm, tmp_path):
    options = ("--windows", 3, "--concurrency", 4, "--requests", 1)
    end = capture(tmp_path, vllm(), *options, is_read=False).ended()
    assert end.code == 0, end.err
    assert end.err.count("r: load without profiler") == 3
    assert end.err.count("concurrency: ") == 1
    names = ["unprofiled", "unprofiled-2", "unprofiled-3", "profiled"]
    assert [window["name"] for window in end.said["windows"]] == names
    assert [window["is_profiled"] for window in end.said["windows"]] == [False] * 3 + [True]
    starts = [window["start_ns"] for window in end.said["windows"]]
    assert starts == sorted(starts)


def test_run_json_of_each_run_has_its_own_concurrency(vllm, tmp_path):
    end = capture(tmp_path, vllm(), "--concurrency", "1,2", is_read=False).ended()
    assert end.code == 0, end.err
    for number in (1, 2):
        said = json.loads((tmp_path / "runs" / f"{RUN}-c{number}" / "run.json").read_text())
        assert said["concurrency"] == number
        assert [window["n_requests_at_once"] for window in said["windows"]] == [number] * 2


def test_run_json_says_whether_there_are_scopes(complete, vllm, tmp_path):
    assert complete.said["options"]["scopes"] is True
    end = capture(tmp_path, vllm(), "--no-scopes", is_read=False).ended()
    assert end.said["options"]["scopes"] is False


def test_run_json_of_a_script_has_no_scopes_and_no_load(tmp_path):
    words = ("--run", RUN, "--out", "runs", "--db", "t.duckdb", "--engine", "torch")
    end = Capture(tmp_path, words, (sys.executable, "-c", "pass")).ended()
    assert end.said["options"]["scopes"] is False
    assert "load" not in end.said
