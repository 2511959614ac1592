"""Which files make a run, and what it is called."""

import gzip
import os
from pathlib import Path

import pytest
import zstandard
from run_folders import METRICS, TRACE, lay_out

from tracekit.errors import RunError
from tracekit.run import discover

VLLM_CPU = Path(__file__).parents[3] / "shared" / "traces" / "vllm_cpu"


def shown(run):
    return [trace.shown for trace in run.traces], [file.shown for file in run.others]


def test_run_folder_is_one_run_named_after_it(run_folder):
    (run,) = discover([run_folder])
    assert run.name == "baseline"
    assert run.source == str(run_folder)
    assert [(t.shown, t.file_id, t.rank) for t in run.traces] == [
        ("traces/rank0.pt.trace.json", 0, None),
        ("traces/rank1.pt.trace.json", 1, None),
    ]
    assert [(file.shown, file.kind) for file in run.others] == [
        ("logs/server.log", "server_log"),
        ("metrics/after.prom", "metrics"),
        ("metrics/before.prom", "metrics"),
        ("notes.txt", "other"),
        ("run.json", "run_json"),
    ]


def test_others_are_numbered_after_the_traces(run_folder):
    (run,) = discover([run_folder])
    assert [(i, file.shown) for i, file in run.of_kind("metrics")] == [
        (3, "metrics/after.prom"),
        (4, "metrics/before.prom"),
    ]


def test_names_of_files_do_not_matter(tmp_path):
    lay_out(tmp_path / "x", {"a": METRICS, "b": TRACE, "c.json": '["no", "events"]'})
    (run,) = discover([tmp_path / "x"])
    assert shown(run) == (["b"], ["a", "c.json"])
    assert [file.kind for file in run.others] == ["metrics", "other"]


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("rank0.1795.pt.trace.json.gz", "rank0.1795"),
        ("a.b-TP-0-DECODE.trace.json.zst", "a.b-TP-0-DECODE"),
        ("kineto.json", "kineto"),
        ("trace", "trace"),
        ("json.gz", "json"),
    ],
)
def test_run_of_one_file_has_its_name_without_endings(tmp_path, file, name):
    lay_out(tmp_path, {file: TRACE, "beside.json": TRACE})
    (run,) = discover([tmp_path / file])
    assert (run.name, shown(run)) == (name, ([file], []))


@pytest.mark.parametrize("folder", ["", "torch", "traces/rank0", "Trace"])
def test_folder_that_only_holds_traces_gives_its_name_to_nothing(tmp_path, folder):
    place = tmp_path / "eagle3" / folder
    lay_out(place, {"rank0.json": TRACE})
    (run,) = discover([place])
    assert run.name == "eagle3"


def test_working_folder_has_a_name(run_folder, monkeypatch):
    monkeypatch.chdir(run_folder / "traces")
    assert [run.name for run in discover([".."])] == ["baseline"]
    assert [run.name for run in discover(["."])] == ["baseline"]


def test_given_name_wins(run_folder):
    (run,) = discover([run_folder], run="tp2")
    assert run.name == "tp2"


def test_empty_name_is_refused(run_folder):
    with pytest.raises(RunError, match="a run needs a name; give one with --run"):
        discover([run_folder], run="")


def test_ranks_given_one_by_one_are_one_run_named_after_their_folder(run_folder):
    (run,) = discover(sorted((run_folder / "traces").iterdir()))
    assert run.name == "baseline"
    assert shown(run) == (["rank0.pt.trace.json", "rank1.pt.trace.json"], [])


def test_trace_and_the_metrics_beside_it_are_one_run(run_folder):
    paths = ["traces/rank0.pt.trace.json", "metrics/before.prom", "metrics/after.prom"]
    (run,) = discover([run_folder / path for path in paths])
    assert run.name == "rank0"
    assert shown(run) == ([paths[0]], paths[1:])


def test_file_that_is_given_twice_is_read_once(run_folder):
    link = run_folder / "traces" / "latest.json"
    link.symlink_to("rank1.pt.trace.json")
    (run,) = discover([run_folder, run_folder / "traces" / "rank0.pt.trace.json"])
    assert len(run.traces) == 2


def test_folders_of_ranks_are_one_run(tmp_path):
    lay_out(tmp_path / "a", {"traces/rank0/t.json": TRACE, "traces/node-1/t.json": TRACE})
    (run,) = discover([tmp_path / "a"])
    assert (run.name, len(run.traces)) == ("a", 2)


def test_several_runs_are_refused_with_the_list(tmp_path):
    lay_out(tmp_path, {f"{name}/torch/rank0.json": TRACE for name in ("eagle3", "base")})
    with pytest.raises(RunError, match=r"2 runs \(base, eagle3\); --each makes one run of each$"):
        discover([tmp_path])
    with pytest.raises(RunError, match="2 runs"):
        discover([tmp_path], run="both")


def test_folders_named_after_a_parallelism_are_runs(tmp_path):
    lay_out(tmp_path, {"tp4/rank0.json": TRACE, "tp8/rank0.json": TRACE})
    assert [run.name for run in discover([tmp_path], each=True)] == ["tp4", "tp8"]


def test_each_makes_one_run_of_each(tmp_path):
    lay_out(
        tmp_path,
        {
            "base/torch/rank0.json": TRACE,
            "base/metrics_before.prom": METRICS,
            "deep/er/eagle3/rank0.json": TRACE,
            "README.md": "of no run",
        },
    )
    base, eagle3 = discover([tmp_path], each=True)
    assert (base.name, *shown(base)) == ("base", ["torch/rank0.json"], ["metrics_before.prom"])
    assert (eagle3.name, *shown(eagle3)) == ("eagle3", ["rank0.json"], [])


def test_traces_of_the_folder_itself_are_a_run_beside_those_below(tmp_path):
    lay_out(tmp_path / "a", {"rank0.json": TRACE, "old/rank0.json": TRACE, "old/x.prom": METRICS})
    with pytest.raises(RunError, match=r"2 runs \(a, old\)"):
        discover([tmp_path / "a"])
    runs = discover([tmp_path / "a"], each=True)
    assert [(run.name, *shown(run)) for run in runs] == [
        ("a", ["rank0.json"], []),
        ("old", ["rank0.json"], ["x.prom"]),
    ]


def test_run_json_makes_one_run_of_what_is_below_it(tmp_path):
    lay_out(
        tmp_path / "a",
        {"run.json": "{}", "traces/first/r0.json": TRACE, "traces/second/r1.json": TRACE},
    )
    (run,) = discover([tmp_path / "a"])
    assert (run.name, len(run.traces)) == ("a", 2)


def test_folders_given_one_by_one_are_joined_only_under_a_name(tmp_path):
    lay_out(tmp_path, {"one/rank0.json": TRACE, "two/rank1.json": TRACE})
    paths = [tmp_path / "one", tmp_path / "two"]
    with pytest.raises(RunError, match="2 runs .*--each makes one run of each, --run NAME joins"):
        discover(paths)
    (run,) = discover(paths, run="both")
    assert (run.name, *shown(run)) == ("both", ["one/rank0.json", "two/rank1.json"], [])
    assert [run.name for run in discover(paths, each=True)] == ["one", "two"]


def test_two_runs_of_one_name_are_refused(tmp_path):
    lay_out(tmp_path, {"mon/base/r.json": TRACE, "tue/base/r.json": TRACE})
    with pytest.raises(RunError, match="a second run 'base', besides .*mon.*; ingest it by itself"):
        discover([tmp_path], each=True)


def test_name_and_each_exclude_one_another(run_folder):
    with pytest.raises(RunError, match="--each names each run after its folder"):
        discover([run_folder], run="x", each=True)


def test_rank_is_for_a_single_trace(run_folder):
    (run,) = discover([run_folder / "traces" / "rank0.pt.trace.json"], rank=5)
    assert [trace.rank for trace in run.traces] == [5]
    with pytest.raises(RunError, match="--rank 5: names the rank of one trace, 2 are given"):
        discover([run_folder], rank=5)


def test_front_end_does_not_count_when_a_rank_is_given(tmp_path):
    lay_out(tmp_path / "a", {"host_1.async_llm.2.pt.trace.json": TRACE, "worker.json": TRACE})
    (run,) = discover([tmp_path / "a"], rank=3)
    assert [(trace.shown, trace.rank) for trace in run.traces] == [
        ("host_1.async_llm.2.pt.trace.json", None),
        ("worker.json", 3),
    ]


@pytest.mark.parametrize(
    "name", ["capture_traces/graph_capture_rank_0.json", "merged-17.5.trace.json"]
)
def test_traces_that_repeat_those_of_the_ranks_are_set_aside(tmp_path, name):
    lay_out(tmp_path / "a", {"rank0.json": TRACE, name: TRACE})
    (run,) = discover([tmp_path / "a"])
    assert shown(run) == (["rank0.json"], [name])


def test_hidden_files_are_left_out(tmp_path):
    lay_out(
        tmp_path / "a",
        {"rank0.json": TRACE, ".ipynb_checkpoints/rank0.json": TRACE, ".rank1.json": TRACE},
    )
    (run,) = discover([tmp_path / "a"])
    assert shown(run) == (["rank0.json"], [])


@pytest.mark.parametrize("name", ["'; DROP TABLE run; --", '<b>"x"<b>\n..', "ünï ✓", "$(x)"])
def test_any_name_comes_back_as_it_is(tmp_path, name):
    lay_out(tmp_path / name, {"r.json": TRACE})
    (run,) = discover([tmp_path / name])
    assert run.name == name


def test_name_that_is_no_text_is_escaped(tmp_path):
    folder = os.fsencode(tmp_path) + b"/run\xff"
    lay_out(Path(os.fsdecode(folder)), {"r.json": TRACE})
    (run,) = discover([os.fsdecode(folder)])
    assert run.name == r"run\udcff"
    assert run.source.encode().endswith(rb"run\udcff")


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.ZstdCompressor().compress])
def test_packed_traces_are_found(tmp_path, pack):
    (tmp_path / "packed").write_bytes(pack(TRACE.encode()))
    (run,) = discover([tmp_path / "packed"])
    assert run.name == "packed"


@pytest.mark.skipif(not VLLM_CPU.is_dir(), reason="recorded runs are not here")
def test_recorded_runs_are_told_apart():
    with pytest.raises(RunError, match=r"10 runs \(baseline-eager, .*, tp2-gloo-baseline\)"):
        discover([VLLM_CPU])
    runs = discover([VLLM_CPU], each=True)
    assert [run.name for run in runs] == sorted(f.name for f in VLLM_CPU.iterdir() if f.is_dir())
    for run in runs:
        assert {len(run.of_kind("run_json")), len(run.of_kind("server_log"))} == {1}
        assert len(run.of_kind("metrics")) == (0 if run.name == "offline-ngram" else 2)
        assert [file.shown for _, file in run.of_kind("other") if "prof" not in file.shown] in (
            ["responses.json", "version.json"],
            [],
        )
