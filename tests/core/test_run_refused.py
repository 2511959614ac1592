"""Paths that make no run, and special files in folders that do."""

import os
import re
import socket

import pytest
from run_folders import METRICS, TRACE, lay_out

from tracekit.errors import RunError
from tracekit.run import discover


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
    assert [trace.shown for trace in run.traces] == [
        "traces/rank0.pt.trace.json",
        "traces/rank1.pt.trace.json",
    ]


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
