"""Runs that need no trace: captures that failed, and measured sizes of collectives."""

import pytest
from run_folders import TRACE, lay_out

from tracekit.errors import RunError
from tracekit.run import discover

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
