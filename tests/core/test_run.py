import gzip
import json
import os
import re
import socket
from pathlib import Path

import pytest
import zstandard

from tracekit.errors import RunError
from tracekit.run import discover

TRACE = json.dumps({"schemaVersion": 1, "deviceProperties": [], "traceEvents": []})
METRICS = "# HELP up Whether it is.\n# TYPE up gauge\nup 1.0\n"
VLLM_CPU = Path(__file__).parents[3] / "shared" / "traces" / "vllm_cpu"


def lay_out(folder, files):
    """Write `files` ({path: text}) below `folder`."""
    for path, text in files.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return folder


def shown(run):
    return [trace.shown for trace in run.traces], [file.shown for file in run.others]


@pytest.fixture
def run_folder(tmp_path):
    return lay_out(
        tmp_path / "baseline",
        {
            "run.json": '{"format": 1}',
            "traces/rank0.pt.trace.json": TRACE,
            "traces/rank1.pt.trace.json": TRACE,
            "metrics/before.prom": METRICS,
            "metrics/after.prom": METRICS,
            "logs/server.log": "INFO 11-29 12:03:56 [core.py:1] hello\n",
            "notes.txt": "slow today\n",
        },
    )


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


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({}, "no file"),
        ({"a.prom": METRICS, "b.prom": METRICS, "c": "?"}, "2 metrics, 1 of no known kind"),
    ],
)
def test_no_trace_says_what_was_there(tmp_path, files, found):
    with pytest.raises(RunError, match=rf"no trace in it \({found}\); give what torch.profiler"):
        discover([lay_out(tmp_path, files)])


@pytest.mark.parametrize(
    ("text", "found"),
    [("", "no trace, nothing is in it"), ("[1, 2, 3]", "no trace, it begins with '[1, 2, 3]'")],
)
def test_a_file_that_is_no_trace_is_refused_with_what_it_looks_like(tmp_path, text, found):
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(RunError, match=re.escape(f"a.json: {found}; give what")):
        discover([tmp_path / "a.json"])


def test_no_path_is_refused():
    with pytest.raises(RunError, match="no path given"):
        discover([])


@pytest.mark.parametrize("path", ["nothing/here", "a\0b", "loop"])
def test_path_that_is_not_there_is_refused(tmp_path, path):
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(RunError, match="cannot be read: "):
        discover([tmp_path / path])


@pytest.mark.parametrize("path", ["/dev/null", "pipe"])
def test_special_file_is_refused(tmp_path, path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(RunError, match="neither a file nor a folder"):
        discover([tmp_path / path])


def test_special_files_in_a_folder_are_listed_and_not_opened(run_folder, monkeypatch):
    os.mkfifo(run_folder / "pipe")
    (run_folder / "gone").symlink_to("nowhere")
    (run_folder / "self").symlink_to("self")
    monkeypatch.chdir(run_folder)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
    (run,) = discover([run_folder])
    kinds = {file.shown: file.kind for file in run.others}
    assert [kinds[name] for name in ("pipe", "gone", "self", "socket")] == ["other"] * 4


def test_folders_that_link_to_each_other_end(run_folder):
    (run_folder / "traces" / "up").symlink_to("..")
    (run_folder / "here").symlink_to(".")
    (run,) = discover([run_folder])
    assert len(run.traces) == 2


def test_linked_folder_of_traces_belongs_to_the_run(run_folder, tmp_path):
    (run_folder / "traces").rename(tmp_path / "elsewhere")
    (run_folder / "traces").symlink_to(tmp_path / "elsewhere")
    (run,) = discover([run_folder])
    assert shown(run)[0] == ["traces/rank0.pt.trace.json", "traces/rank1.pt.trace.json"]


def test_file_without_rights_is_named(run_folder):
    (run_folder / "notes.txt").chmod(0)
    if os.access(run_folder / "notes.txt", os.R_OK):
        pytest.skip("this user reads everything")
    with pytest.raises(RunError, match="notes.txt: cannot be read: Permission denied"):
        discover([run_folder])


def test_folder_of_too_many_files_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("tracekit.readers.folder.MAX_FILES", 3)
    lay_out(tmp_path, {f"{i}.json": TRACE for i in range(4)})
    with pytest.raises(RunError, match="more than 3 files; give the folder of one run"):
        discover([tmp_path])


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


FAILED = '{"format": 1, "status": "failed", "error": "server: ended", "windows": []}'


def test_a_failed_capture_needs_no_trace(tmp_path):
    lay_out(tmp_path / "x", {"run.json": FAILED, "logs/server.log": "nothing\n"})
    (run,) = discover([tmp_path / "x"])
    assert (run.name, run.traces, run.is_failed) == ("x", (), True)


def test_a_complete_capture_without_a_trace_is_refused(tmp_path):
    lay_out(tmp_path / "x", {"run.json": FAILED.replace("failed", "complete")})
    with pytest.raises(RunError, match="no trace in it"):
        discover([tmp_path / "x"])


def test_a_failed_capture_is_a_run_among_others(tmp_path):
    lay_out(tmp_path, {"a/run.json": FAILED, "b/traces/rank0.pt.trace.json": TRACE})
    assert [run.name for run in discover([tmp_path], each=True)] == ["a", "b"]
    with pytest.raises(RunError, match="2 runs"):
        discover([tmp_path])


MEASURED = '{"format": 1, "tool": "tracekit", "points": []}'


@pytest.mark.parametrize(
    ("files", "given", "name"),
    [
        ({"curve/all_reduce.json": MEASURED, "curve/b": MEASURED}, ["curve"], "curve"),
        ({"all_reduce.json": MEASURED}, ["all_reduce.json"], "all_reduce"),
        ({"eager/rank0.json": TRACE, "eager/nccl/curve": MEASURED}, ["eager"], "eager"),
        ({"a/rank0.json": TRACE, "curve": MEASURED}, ["a/rank0.json", "curve"], "rank0"),
        ({"a/rank0.json": TRACE, "nccl/curve": MEASURED}, ["a", "nccl"], "a"),
    ],
)
def test_measured_sizes_are_a_run_or_join_the_one_there_is(tmp_path, files, given, name):
    lay_out(tmp_path, files)
    (run,) = discover([tmp_path / path for path in given])
    assert run.name == name
    assert len(run.of_kind("calibration")) == sum(text == MEASURED for text in files.values())


def test_measured_sizes_with_a_run_json_are_a_run_of_their_own(tmp_path):
    lay_out(tmp_path / "a", {"rank0.json": TRACE})
    lay_out(tmp_path / "bench", {"run.json": '{"format": 1}', "calibration.json": MEASURED})
    assert [run.name for run in discover([tmp_path], each=True)] == ["a", "bench"]
    with pytest.raises(RunError, match=r"2 runs \(a, bench\); --each makes one run of each"):
        discover([tmp_path])
