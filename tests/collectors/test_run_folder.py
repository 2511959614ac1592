"""A run folder is true at every moment."""

import gzip
import json

import pytest

from tracekit.collectors.engines.vllm import Vllm
from tracekit.collectors.options import ProfileOptions
from tracekit.collectors.recording import recording
from tracekit.collectors.run_folder import RunFolder
from tracekit.collectors.size import refuse_small_disk
from tracekit.collectors.trace_files import TraceDir, check_ranks, is_whole
from tracekit.errors import CaptureError

TRACE = b'{"traceEvents": []}\n'


def said(folder):
    return json.loads(folder.run_json.read_text())


def test_a_run_is_failed_until_it_is_complete(tmp_path):
    folder = RunFolder(tmp_path / "r")
    with recording(folder, {"model": "m"}) as recorded:
        assert said(folder)["status"] == "failed"
        (folder.traces / "rank0.pt.trace.json.gz").write_bytes(b"x")
        recorded.add_window({"name": "unprofiled"})
        assert said(folder)["windows"] == [{"name": "unprofiled"}]
        recorded.finish()
    assert said(folder)["status"] == "complete"
    assert said(folder)["error"] is None
    assert said(folder)["files"] == {"traces/rank0.pt.trace.json.gz": "trace"}
    assert sorted(path.name for path in folder.path.iterdir()) == ["run.json", "traces"]


def test_what_went_wrong_is_kept(tmp_path):
    folder = RunFolder(tmp_path / "r")
    with pytest.raises(CaptureError), recording(folder, {}):
        raise CaptureError("server: gone; look")
    assert (said(folder)["status"], said(folder)["error"]) == ("failed", "server: gone; look")


def test_a_failure_after_its_end_is_of_another_run(tmp_path):
    folder = RunFolder(tmp_path / "r")
    recorded = recording(folder, {})
    recorded.__enter__().finish()
    error = CaptureError("x: y; z")
    assert not recorded.__exit__(CaptureError, error, None)
    assert said(folder)["status"] == "complete"


def test_an_interrupt_is_kept_too(tmp_path):
    folder = RunFolder(tmp_path / "r")
    with pytest.raises(KeyboardInterrupt), recording(folder, {}):
        raise KeyboardInterrupt
    assert said(folder)["status"] == "failed"


def test_a_folder_with_something_in_it_is_taken(tmp_path):
    folder = RunFolder(tmp_path / "r")
    folder.path.mkdir()
    folder.create()
    with pytest.raises(CaptureError, match="a run of this name is there"):
        folder.create()


def test_only_a_run_is_removed(tmp_path):
    RunFolder(tmp_path).remove()
    assert tmp_path.exists()
    folder = RunFolder(tmp_path / "r")
    folder.create()
    folder.write({})
    folder.remove()
    assert not folder.path.exists()


def test_a_place_that_is_no_folder_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(CaptureError, match="cannot be made: Not a directory"):
        RunFolder(tmp_path / "file" / "r").create()


@pytest.mark.parametrize(
    ("name", "content", "whole"),
    [
        ("a.json", TRACE, True),
        ("a.json", TRACE[:-4], False),
        ("a.json", b"", False),
        ("a.json.gz", gzip.compress(TRACE, mtime=0), True),
        ("a.json.gz", gzip.compress(TRACE, mtime=0)[:-4], False),
        ("a.json.gz", gzip.compress(TRACE[:-4], mtime=0), False),
        ("a.json.gz", b"no gzip", False),
        ("a.json.gz", b"", False),
    ],
)
def test_a_trace_that_was_cut_off_is_seen(tmp_path, name, content, whole):
    (tmp_path / name).write_bytes(content)
    assert is_whole(tmp_path / name) is whole


def ranks(folder, *numbers):
    folder.create()
    for number in numbers:
        (folder.traces / f"rank{number}.1.pt.trace.json.gz").write_bytes(gzip.compress(TRACE))
    (folder.traces / "host_1.async_llm.1.pt.trace.json.gz").write_bytes(b"")
    return folder


def test_every_rank_has_to_write(tmp_path):
    folder = ranks(RunFolder(tmp_path / "r"), 0, 1)
    check_ranks(folder, Vllm(), 2)
    check_ranks(folder, Vllm(), None)
    with pytest.raises(CaptureError, match=r"2 of 3 ranks wrote a trace \(rank0"):
        check_ranks(folder, Vllm(), 3)
    with pytest.raises(CaptureError, match="no rank wrote a trace"):
        check_ranks(ranks(RunFolder(tmp_path / "s")), Vllm(), None)


@pytest.mark.parametrize("is_ours", [True, False])
def test_only_new_traces_are_taken_and_the_users_stay(tmp_path, is_ours):
    folder, there = RunFolder(tmp_path / "r"), tmp_path / "there"
    folder.create()
    there.mkdir()
    (there / "old").write_text("old")
    traces = TraceDir(there, "/inside", is_ours)
    before = traces.stamps()
    (there / "sub").mkdir()
    (there / "sub" / "new").write_text("new")
    traces.take_new(before, folder)
    assert [path.name for path in folder.traces.iterdir()] == ["new"]
    assert (there / "sub" / "new").exists() is not is_ours


def test_a_disk_without_room_for_the_traces_is_refused(tmp_path):
    folder = RunFolder(tmp_path)
    told = refuse_small_disk(folder, ProfileOptions(steps=10), 2, 1)
    assert told == "about 4 MB of traces to come: 2 ranks x 10 steps x 1 run"
    told = refuse_small_disk(folder, ProfileOptions(steps=10), None, 1)
    assert told == "about 2 MB of traces of each rank to come: 10 steps x 1 run"
    with pytest.raises(CaptureError, match="MB free, and about"):
        refuse_small_disk(folder, ProfileOptions(steps=10**12, stacks=True), 8, 3)


def test_files_are_told_by_their_kind_not_their_folder(tmp_path):
    folder = RunFolder(tmp_path / "r")
    kinds = {
        "logs/load_profiled.log": "load_log",
        "logs/server.log": "server_log",
        "machine/lscpu.txt": "context",
        "models/m/config.json": "config",
        "traces/rank0.pt.trace.json.gz": "trace",
        "traces/profiler_out_0.txt": "other",
    }
    with recording(folder, {}) as recorded:
        for name in kinds:
            path = folder.path / name
            path.parent.mkdir(exist_ok=True)
            path.write_text("x")
        recorded.finish()
    assert said(folder)["files"] == kinds


def test_a_run_that_cannot_be_removed_is_told(tmp_path, monkeypatch):
    """Root may remove anything, so that the system's answer is put in its mouth."""
    folder = RunFolder(tmp_path / "r")
    folder.create()
    folder.write({})

    def refused(path):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("shutil.rmtree", refused)
    with pytest.raises(CaptureError, match="cannot be removed: Permission denied; check"):
        folder.remove()
