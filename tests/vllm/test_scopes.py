"""tracekit's scopes and vLLM's own around the same steps of a real vLLM: they must agree.

`make test-vllm` builds the environment and names its interpreter in TRACEKIT_VLLM_PYTHON.
"""

import json
import os
import subprocess
from bisect import bisect_right
from collections import Counter, defaultdict
from decimal import Decimal
from pathlib import Path
from statistics import median
from typing import NamedTuple

import duckdb
import pytest
import spec_models
from cpu_server import vllm_python

import tracekit
from tracekit.collectors.engines.vllm_scopes import scopes_environment

pytestmark = [pytest.mark.vllm, pytest.mark.alone]

HERE = Path(__file__).parent
SAMPLE_TRACES = HERE.parents[1] / "sample_traces"
TIMEOUT_S = 400
METHODS = ("baseline", *reversed(spec_models.METHODS))
"""N-grams last: vLLM 0.32.0 fails to start in a process that has compiled their search."""

ENGINE = {
    "gpu_model_runner: preprocess": None,
    "gpu_model_runner: forward": "forward",
    "gpu_model_runner: postprocess": "forward",  # computes the logits
    "gpu_model_runner: sample": "sample",
    "gpu_model_runner: bookkeep": None,
    "gpu_model_runner: draft": "draft",
}
PLUGIN = {
    "tracekit: forward": "forward",
    "tracekit: logits": "forward",
    "tracekit: sample": "sample",
    "tracekit: draft": "draft",
}
GATHER = {"aten::index"}  # hidden_states[logits_indices], between the pass and its logits
DRAFT_COPY = {"aten::slice", "aten::copy_"}  # of the drafted tokens to the host, once they are made
ONLY_THE_ENGINES = {"forward": GATHER, "sample": set(), "draft": DRAFT_COPY}
MAY_DIFFER_BY = 0.02  # of the engine's time in the phase, or
MAY_DIFFER_BY_NS = 150_000


class Event(NamedTuple):
    start_ns: int
    minus_dur_ns: int  # so that of two with one start the outer one sorts first
    name: str
    is_scope: bool

    @property
    def end_ns(self):
        return self.start_ns - self.minus_dur_ns


def run_with_vllm(*command, env):
    subprocess.run([vllm_python(), *command], env=os.environ | env, check=True, timeout=TIMEOUT_S)


@pytest.fixture(scope="module")
def traces(models, tmp_path_factory):
    """Folder with a folder of each method: the trace of a vLLM with both kinds of scopes."""
    out = tmp_path_factory.mktemp("scopes")
    env = scopes_environment({"PYTHONPATH": str(SAMPLE_TRACES)})
    env["VLLM_CUSTOM_SCOPES_FOR_PROFILING"] = "1"
    run_with_vllm(HERE / "offline_scopes.py", models, out, *METHODS, env=env)
    return out


@pytest.fixture(scope="module", params=METHODS)
def trace(request, traces):
    (trace,) = (traces / request.param).glob("*.pt.trace.json")
    return trace


@pytest.fixture(scope="module")
def events(trace):
    """What the thread of the model runner did, in order of time, outer before inner."""
    rows = json.loads(trace.read_text(), parse_float=Decimal)["traceEvents"]
    rows = [row for row in rows if row.get("cat") in ("cpu_op", "user_annotation")]
    (thread,) = {row["tid"] for row in rows if row["name"].startswith("execute_")}
    return sorted(as_event(row) for row in rows if row["tid"] == thread)


@pytest.fixture(scope="module")
def database(trace, tmp_path_factory):
    """The trace as two runs: `plugin` without vLLM's scopes, `engine` without the plugin's."""
    folder = tmp_path_factory.mktemp("ingested")
    text = trace.read_text()
    for run, dropped in (("plugin", "gpu_model_runner: "), ("engine", "tracekit: ")):
        copy = folder / f"{run}.json"
        copy.write_text(text.replace(f'"name": "{dropped}', '"name": "no scope of '))
        tracekit.ingest(copy, run=run, db=folder / "scopes.duckdb")
    with duckdb.connect(folder / "scopes.duckdb", read_only=True) as con:
        yield con


def as_event(row):
    start_ns, dur_ns = int(Decimal(row["ts"]) * 1000), int(Decimal(row["dur"]) * 1000)
    return Event(start_ns, -dur_ns, row["name"], row["cat"] == "user_annotation")


def ops_by_phase(events, phases):
    """The operators of each phase: the innermost of the named scopes decides."""
    found, around = defaultdict(set), []
    for event in events:
        while around and around[-1].end_ns <= event.start_ns:
            around.pop()
        if event.is_scope and event.name in phases:
            around.append(event)
        elif not event.is_scope and around:
            found[phases[around[-1].name]].add(event)
    return found


def outermost(ops):
    kept = []
    for op in sorted(ops):
        if not kept or op.start_ns >= kept[-1].end_ns:
            kept.append(op)
    return kept


def step_starts(events):
    return [event.start_ns for event in events if event.name.startswith("execute_")]


def time_per_step(events, phases, phase):
    starts = step_starts(events)
    spent = [0] * len(starts)
    for event in events:
        if event.is_scope and phases.get(event.name) == phase:
            spent[bisect_right(starts, event.start_ns) - 1] -= event.minus_dur_ns
    return spent


def test_every_step_has_each_scope_once(events):
    counts = Counter(event.name for event in events if event.name in PLUGIN)
    has_drafts = any(event.name == "gpu_model_runner: draft" for event in events)
    expected = set(PLUGIN) if has_drafts else set(PLUGIN) - {"tracekit: draft"}
    assert counts == dict.fromkeys(expected, len(step_starts(events)))


@pytest.mark.parametrize("phase", ["forward", "sample", "draft"])
def test_plugin_and_engine_give_a_phase_the_same_operators(events, phase):
    by_engine, by_plugin = ops_by_phase(events, ENGINE), ops_by_phase(events, PLUGIN)
    assert by_plugin[phase] <= by_engine[phase]
    only_the_engines = Counter(op.name for op in outermost(by_engine[phase] - by_plugin[phase]))
    assert set(only_the_engines) <= ONLY_THE_ENGINES[phase]
    assert all(n == len(step_starts(events)) for n in only_the_engines.values())


@pytest.mark.parametrize("phase", ["forward", "sample", "draft"])
def test_plugin_and_engine_give_a_phase_the_same_time(events, phase):
    by_engine = time_per_step(events, ENGINE, phase)
    by_plugin = time_per_step(events, PLUGIN, phase)
    apart = [abs(a - b) for a, b in zip(by_engine, by_plugin, strict=True)]
    # The middle step: between the edges of two scopes the machine may run something else.
    assert median(apart) <= max(MAY_DIFFER_BY * median(by_engine), MAY_DIFFER_BY_NS)


APART = """
SELECT plugin.phase, engine.phase, plugin.name, count(*), count(DISTINCT plugin.step)
FROM (FROM activities WHERE run = 'plugin') AS plugin
FULL JOIN (FROM activities WHERE run = 'engine') AS engine USING (start_ns, dur_ns, name)
WHERE (plugin.phase, plugin.step) IS DISTINCT FROM (engine.phase, engine.step)
GROUP BY ALL
"""
TIMES = """
SELECT plugin.host_dur_ns, engine.host_dur_ns
FROM (FROM step_phases WHERE run = 'plugin') AS plugin
JOIN (FROM step_phases WHERE run = 'engine') AS engine USING (step, phase)
WHERE list_contains($phases, phase)
"""


def test_in_the_database_only_the_copy_of_drafts_has_another_phase(database):
    sources = "SELECT DISTINCT run, phase_source FROM step_phases WHERE phase = 'sample'"
    assert set(database.sql(sources).fetchall()) == {("plugin", "plugin"), ("engine", "engine")}
    apart = database.sql(APART).fetchall()
    assert {row[:2] for row in apart} <= {("other", "draft")}
    assert {name for _, _, name, _, _ in apart} <= DRAFT_COPY
    assert all(n == n_steps for _, _, _, n, n_steps in apart)


@pytest.mark.parametrize("phases", [["forward", "verify"], ["sample"], ["draft"]], ids="-".join)
def test_in_the_database_a_phase_lasts_as_long(database, phases):
    times = database.execute(TIMES, {"phases": phases}).fetchall()
    apart = [abs(a - b) / max(MAY_DIFFER_BY * b, MAY_DIFFER_BY_NS) for a, b in times]
    # The middle step: between the edges of two scopes the machine may run something else.
    assert median(apart or [0]) <= 1


COMPILED = """
import sys, types, torch
sys.path.insert(0, sys.argv[1])
import tracekit_scopes

class Model(torch.nn.Module):
    def forward(self, x):
        return x.relu() + 1

model, x = Model(), torch.ones(2)
forward = tracekit_scopes._scoped(Model.forward, "tracekit: forward")
model.forward = types.MethodType(forward, model)
model.compile(fullgraph=True, backend="eager")  # a graph break is an error
with torch.profiler.profile():
    assert model(x).tolist() == [2, 2]
"""


def test_a_wrapped_forward_is_no_graph_break():
    run_with_vllm("-c", COMPILED, str(scopes_environment({})["PYTHONPATH"]), env={})
