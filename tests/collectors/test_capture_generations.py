"""Each vLLM generation gets the switch it has, and no key it would die of."""

import gzip
import json
import re
from dataclasses import dataclass

import pytest
from capturing import RUN, Capture, at_once, capture
from fake_vllm.generations import VERSIONS, Generation
from free_port import free_port

import tracekit


@dataclass(frozen=True)
class Case:
    version: str
    options: tuple = ()
    server: tuple = ()
    env: tuple = ()


EAGLE = json.dumps({"method": "eagle", "num_speculative_tokens": 2})
OWN = json.dumps({"profiler": "torch", "torch_profiler_dir": "x", "ignore_frontend": False})
CASES = {
    **{version: Case(version, server=("-tp", "2")) for version in VERSIONS},
    **{
        f"{version}-costly": Case(version, ("--shapes", "--stacks"))
        for version in ("0.12.0", "0.13.0", "0.33.0")
    },
    **{
        f"{version}-several": Case(version, ("--concurrency", "1,3"))
        for version in ("0.10.2", "0.14.1", "0.33.0")
    },
    **{
        f"{version}-drafts": Case(version, ("--concurrency", 2), ("--speculative-config", EAGLE))
        for version in ("0.12.0", "0.14.1", "0.33.0")
    },
    **{
        f"{version}-variable": Case(version, env=(("VLLM_TORCH_PROFILER_DIR", "stale"),))
        for version in ("0.12.0", "0.13.0", "0.16.0")
    },
    "own-config": Case("0.33.0", server=("--profiler-config", OWN)),
    "own-dotted": Case("0.16.0", server=("--profiler-config.ignore_frontend=false",)),
}
READ = "0.33.0-several"
"""The case whose runs the capture puts into a database as well."""


def names_of(*endings):
    return [name for name in CASES if name.endswith(endings)]


@pytest.fixture(scope="module")
def ended(request, vllm, tmp_path_factory):
    scripts = {version: vllm(version) for version in VERSIONS}

    def run(name):
        case, folder = CASES[name], tmp_path_factory.mktemp(name)
        more = {"server": case.server, "env": dict(case.env), "is_read": name == READ}
        return capture(folder, scripts[case.version], *case.options, **more).ended()

    with at_once(request, CASES, run) as result:
        yield result


def complete(end):
    """The end of a capture that was complete."""
    assert (end.code, end.left) == (0, []), end.err
    return end


def traces(run):
    return [
        json.loads(gzip.decompress(path.read_bytes()))
        for path in sorted((run / "traces").glob("*.pt.trace.json.gz"))
        if ".async_llm." not in path.name
    ]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_capture_is_complete_and_records_nothing_costly(ended, version):
    end = complete(ended(version))
    assert end.said["status"] == "complete"
    assert end.said["engine"] == {"name": "vllm", "version": version}
    assert [window["is_profiled"] for window in end.said["windows"]] == [False, True]
    ranks = traces(end.run)
    assert sorted(trace["distributedInfo"]["rank"] for trace in ranks) == [0, 1]
    for trace in ranks:
        assert not trace.keys() & {"with_stack", "profile_memory", "record_shapes"}


@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_recorded_can_be_read(ended, version):
    db = complete(ended(version)).check_ingest()
    found = db.sql("SELECT DISTINCT rank FROM activities ORDER BY rank").fetchall()
    assert found == [(0,), (1,)]


@pytest.mark.parametrize("version", VERSIONS)
def test_steps_are_logged_and_annotated_as_well_as_the_version_can(ended, version):
    run = complete(ended(version)).run
    log = (run / "logs" / "server.log").read_text()
    assert ("iteration elapsed time" in log) == Generation(version).has(0, 14)
    names = [event["name"] for trace in traces(run) for event in trace["traceEvents"]]
    detailed = [name for name in names if re.match(r"execute_\d+_context_", name)]
    assert bool(detailed) == Generation(version).has(0, 26)


@pytest.mark.parametrize("name", names_of("-costly"))
def test_what_costs_is_recorded_where_it_is_asked_for(ended, name):
    (trace,) = traces(complete(ended(name)).run)
    assert (trace["record_shapes"], trace["with_stack"]) == (1, 1)


@pytest.mark.parametrize("name", names_of("-several"))
def test_windows_of_several_concurrencies_are_runs_of_their_own(ended, name):
    runs = complete(ended(name)).run.parent
    assert sorted(path.name for path in runs.iterdir()) == [f"{RUN}-c1", f"{RUN}-c3"]
    assert all(len(traces(run)) == 1 for run in runs.iterdir())


@pytest.mark.parametrize("name", [READ])
def test_each_concurrency_is_a_run_in_the_database(ended, name):
    db = complete(ended(name)).run.parents[1] / "t.duckdb"
    rows = tracekit.open(db).sql("SELECT run FROM runs ORDER BY run").fetchall()
    assert rows == [(f"{RUN}-c1",), (f"{RUN}-c3",)]


@pytest.mark.parametrize("name", names_of("-drafts"))
def test_steps_of_the_trace_are_those_that_the_counters_count(ended, name):
    end = complete(ended(name))
    (window,) = (window for window in end.said["windows"] if window["is_profiled"])
    before, after = (
        dict(re.findall(r"^(vllm:\w+)\{[^}]*\} (\S+)$", (end.run / window[key]).read_text(), re.M))
        for key in ("metrics_before", "metrics_after")
    )
    counter = "vllm:iteration_tokens_total_count"
    (trace,) = traces(end.run)
    steps = [event for event in trace["traceEvents"] if event["name"].startswith("execute_")]
    assert len(steps) == float(after[counter]) - float(before[counter]) > 0


@pytest.mark.parametrize("name", names_of("-variable"))
def test_a_variable_the_user_left_set_does_not_lead_the_traces_elsewhere(ended, name):
    end = complete(ended(name))
    assert len(traces(end.run)) == 1
    assert not (end.run.parent.parent / "stale").exists()


@pytest.mark.parametrize("name", ["own-config", "own-dotted"])
def test_switches_of_the_users_own_are_kept(ended, name):
    run = complete(ended(name)).run
    assert list((run / "traces").glob("*.async_llm.*"))
    assert not (run.parent.parent / "x").exists()


def test_a_server_started_as_a_module_is_captured_too(vllm, tmp_path):
    python = vllm("0.33.0").with_name("python")
    words = ("--run", RUN, "--out", "runs", "--db", "t.duckdb", "--steps", 6)
    module = (python, "-m", "vllm.entrypoints.openai.api_server")
    command = (*module, "--model", "m", "--port", free_port())
    complete(Capture(tmp_path, words, command, is_read=False).ended())


def test_a_vllm_in_the_current_folder_is_not_taken_for_the_installed_one(vllm, tmp_path):
    """A checkout of vLLM, say: `vllm serve` does not see it."""
    (tmp_path / "vllm").mkdir()
    (tmp_path / "vllm" / "__init__.py").write_text("")
    complete(capture(tmp_path, vllm("0.33.0"), is_read=False).ended())
