"""Which switches a vLLM gets: those it has, and the user's wishes in them."""

import json

import httpx
import pytest

from tracekit.collectors.engines.vllm import Vllm
from tracekit.collectors.engines.vllm_installed import InstalledVllm
from tracekit.collectors.engines.vllm_profiler import (
    profiler_config,
    profiler_variables,
    refuse_untaken,
    without_profiler_config,
)
from tracekit.collectors.options import ProfileOptions
from tracekit.collectors.run_folder import RunFolder
from tracekit.errors import CaptureError

OPTIONS = ProfileOptions(steps=8, max_steps=40, scopes=False)
FIELDS = ("profiler", "torch_profiler_dir", "torch_profiler_with_stack", "max_iterations")


def installed(fields=(), variables=()):
    return InstalledVllm("0.0", frozenset(fields), frozenset(), frozenset(variables))


def test_only_fields_that_are_there_are_given(tmp_path):
    config = profiler_config(installed(FIELDS), OPTIONS, tmp_path, {})
    assert config == {
        "profiler": "torch",
        "torch_profiler_dir": str(tmp_path),
        "torch_profiler_with_stack": False,
        "max_iterations": 40,
    }


def test_the_users_wishes_win_but_for_where_the_traces_go(tmp_path):
    user = {"torch_profiler_with_stack": True, "torch_profiler_dir": "/mine", "profiler": "cuda"}
    config = profiler_config(installed(FIELDS), OPTIONS, tmp_path, user)
    assert config["torch_profiler_with_stack"] is True
    assert config["torch_profiler_dir"] == str(tmp_path)
    assert config["profiler"] == "torch"


def test_variables_that_a_version_does_not_read_are_not_set(tmp_path):
    reads = ["VLLM_TORCH_PROFILER_DIR", "VLLM_TORCH_PROFILER_WITH_STACK"]
    assert profiler_variables(installed(variables=reads), OPTIONS, tmp_path) == {
        "VLLM_TORCH_PROFILER_DIR": str(tmp_path),
        "VLLM_TORCH_PROFILER_WITH_STACK": "0",
    }


@pytest.mark.parametrize(
    "words",
    [
        ["--profiler-config", '{"max_iterations": 3}'],
        ['--profiler-config={"max_iterations": 3}'],
        ["--profiler_config", '{"max_iterations": 3}'],
        ["--profiler-config.max_iterations", "3"],
        ["--profiler-config.max_iterations=3"],
    ],
)
def test_every_form_of_a_profiler_config_is_taken_out(words):
    assert without_profiler_config(["m", *words, "-tp", "2"]) == (
        ["m", "-tp", "2"],
        {"max_iterations": 3},
    )


def test_a_profiler_config_that_is_no_object_is_refused():
    with pytest.raises(CaptureError, match="no JSON object"):
        without_profiler_config(["--profiler-config", "[1]"])


@pytest.mark.parametrize(
    "before",
    [[], ["env", "X=1"], ["nice", "-n", "1"]],
    ids=["plain", "env", "nice"],
)
@pytest.mark.parametrize("form", ["script", "module"])
def test_a_wrapped_command_is_asked_through_its_wrapper(vllm, tmp_path, before, form, environment):
    script = vllm("0.32.0")
    start = [str(script), "serve", "m"]
    if form == "module":
        start = ["python3", "-m", "vllm.entrypoints.openai.api_server", "--model", "m"]
        environment["PYTHONPATH"] = str(next(script.parents[1].rglob("vllm/envs.py")).parents[1])
    launch = Vllm().launch([*before, *start, "-tp", "2"], environment, OPTIONS, RunFolder(tmp_path))
    assert launch.command[: len(before)] == tuple(before)
    assert launch.python[: len(before)] == tuple(before)
    assert launch.n_ranks == 2
    assert launch.command[-1] == "--enable-logging-iteration-details"
    config = json.loads(launch.command[launch.command.index("--profiler-config") + 1])
    assert config["torch_profiler_dir"] == str(tmp_path / "traces")


def test_a_python_without_vllm_is_told(tmp_path, environment):
    program = tmp_path / "vllm"
    program.write_text("#!/usr/bin/env python3\n")
    program.chmod(0o755)
    with pytest.raises(CaptureError, match="cannot say which vLLM it has"):
        Vllm().launch([str(program), "serve", "m"], environment, OPTIONS, RunFolder(tmp_path))


@pytest.fixture
def environment():
    return {"PATH": "/usr/bin:/bin"}


def test_scheduling_ahead_is_told_by_itself():
    answers = {
        "/version": {"version": "0.32.0"},
        "/v1/models": {"data": [{"id": "m", "root": "org/m"}]},
        "/server_info": {"vllm_config": {"scheduler_config": {"async_scheduling": False}}},
    }
    transport = httpx.MockTransport(
        lambda request: httpx.Response(200, json=answers[request.url.path])
    )
    with httpx.Client(transport=transport, base_url="http://127.0.0.1:1") as client:
        facts = Vllm().describe(client)
    assert facts.server_args == {"async_scheduling": False, **answers["/server_info"]}


@pytest.mark.parametrize(
    ("options", "flag"),
    [
        ({"delay_steps": 1}, "--delay"),
        ({"shapes": True}, "--shapes"),
        ({"memory": True}, "--alloc"),
    ],
)
def test_what_a_version_has_no_switch_for_is_refused(options, flag):
    with pytest.raises(CaptureError, match=f"^{flag}.*: the profiler of vLLM 0.0 does not take it"):
        refuse_untaken(installed(FIELDS), ProfileOptions(steps=8, **options))
    refuse_untaken(installed(FIELDS), OPTIONS)
