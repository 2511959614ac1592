"""tracekit ingest: from files made by hand to the page."""

import gzip
import json
import os
import pty
import subprocess
import sys

import duckdb
import pytest

import tracekit

BASE = 1_790_000_000_000_000_000
MARLIN = "void marlin_moe_wna16::Marlin<1125899906909960, 1125899907892224, 128, 1, 8, 8>(int)"


def event(cat, name, start, dur, tid=1, **args):
    timing = {"ts": start, "dur": dur}
    return {"ph": "X", "cat": cat, "name": name, "pid": 0, "tid": tid, **timing, "args": args}


def decode_step(number):
    """100 us on the device: a Marlin kernel of 60 and an AllReduce of 20 us; launched ahead."""
    start, first = 1000 + 100 * number, 10 * number
    stream = {"device": 0, "stream": 7}
    return [
        event("user_annotation", "execute_context_0(0)_generation_1(1)", start - 50, 40),
        event("cuda_runtime", "cudaLaunchKernel", start - 48, 5, correlation=first),
        event("cuda_runtime", "cudaLaunchKernel", start - 40, 5, correlation=first + 1),
        event("kernel", MARLIN, start, 60, tid=7, correlation=first, **stream),
        event(
            "kernel",
            "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
            start + 60,
            20,
            tid=7,
            correlation=first + 1,
            **stream,
        ),
    ]


def trace(rank=0, n_ranks=2, more=()):
    events = [found for number in range(3) for found in decode_step(number)]
    return {
        "baseTimeNanoseconds": BASE,
        "deviceProperties": [{"id": 0, "name": "NVIDIA H200"}],
        "distributedInfo": {"rank": rank, "world_size": n_ranks},
        "vllm_version": "0.32.0",
        "traceEvents": [*events, *more],
    }


@pytest.fixture
def folder(tmp_path):
    """A run folder `pair` with the traces of two ranks."""
    traces = tmp_path / "pair" / "traces"
    traces.mkdir(parents=True)
    for rank in (0, 1):
        path = traces / f"rank{rank}.pt.trace.json.gz"
        path.write_bytes(gzip.compress(json.dumps(trace(rank)).encode()))
    return tmp_path / "pair"


@pytest.fixture
def empty(tmp_path):
    return tmp_path / "new.duckdb"


def test_a_folder_becomes_a_run_with_its_breakdown(call, folder, empty):
    result = call("ingest", str(folder), database=empty)
    first, *more = result.stdout.splitlines()
    assert first.startswith("pair: 2 ranks, 12 activities, 3 steps in ")
    assert more == ["Next: tracekit breakdown pair"]
    page = call("breakdown", database=empty).stdout
    assert page.startswith("pair   vLLM 0.32.0   TP2, 2 of 2 ranks\n3 decode steps of 1 request")
    assert "forward moe_gemm" in page
    assert "forward all_reduce" in page


def test_what_was_lost_is_printed(call, tmp_path, empty):
    bad = event("kernel", "backwards", 1500, -5, correlation=99, device=0, stream=7)
    path = tmp_path / "rank0.json"
    path.write_text(
        json.dumps(trace(more=[bad, {"ph": "s", "id": 1, "pid": 0, "tid": 1, "ts": 1}]))
    )
    lines = call("ingest", str(path), database=empty).stdout.splitlines()
    assert lines[1] == "not read, or doubtful:"
    assert lines[3].split()[:2] == ["1", "lost"]
    assert "negative duration" in lines[3]
    assert "rank0.json" in lines[3]
    assert not any("flow" in line for line in lines)


def test_files_of_no_known_kind_are_named(call, folder, empty):
    (folder / "notes\x1b[2J.bin").write_bytes(b"\x00\x01")
    lines = call("ingest", str(folder), database=empty).stdout.splitlines()
    assert lines[1] == "files of no known kind: notes\\x1b[2J.bin"


def test_many_files_of_no_known_kind_in_one_folder_are_counted(call, folder, empty):
    (folder / "truth").mkdir()
    for name in "abcd":
        (folder / "truth" / f"{name}.csv").write_text("x,y\n")
    (folder / "notes.bin").write_bytes(b"\x00\x01")
    lines = call("ingest", str(folder), database=empty).stdout.splitlines()
    assert lines[1] == "files of no known kind: 4 under truth/, notes.bin"


def test_a_name_that_is_taken_is_refused_unless_replaced(call, folder, empty):
    call("ingest", str(folder), "--run", "one", database=empty)
    result = call("ingest", str(folder), "--run", "one", database=empty, exit_code=1)
    assert "run 'one' is already there; add --replace" in result.stderr
    call("ingest", str(folder), "--run", "one", "--replace", database=empty)
    assert tracekit.open(empty).runs() == ["one"]


def test_several_runs_with_each(call, tmp_path, folder, empty):
    other = tmp_path / "alone"
    other.mkdir()
    (other / "rank0.json").write_text(json.dumps(trace(n_ranks=1)))
    result = call("ingest", str(tmp_path), database=empty, exit_code=1)
    assert "--each makes one run of each" in result.stderr
    lines = call("ingest", str(tmp_path), "--each", database=empty).stdout.splitlines()
    assert [line.partition(":")[0] for line in lines] == ["alone", "pair", "Next"]
    assert lines[-1] == "Next: tracekit runs"
    assert tracekit.open(empty).runs() == ["alone", "pair"]


def test_runs_before_a_bad_one_are_told(call, tmp_path, folder, empty):
    bad = tmp_path / "worse"
    bad.mkdir()
    (bad / "rank0.json").write_text('{"traceEvents": 7}')
    result = call("ingest", str(folder), str(bad), "--each", database=empty, exit_code=1)
    assert "rank0.json" in result.stderr
    assert result.stdout.startswith("pair: 2 ranks")
    assert tracekit.open(empty).runs() == ["pair"]


def test_rank_of_a_trace_that_tells_none(call, tmp_path, empty):
    document = trace()
    del document["distributedInfo"]
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(document))
    call("ingest", str(path), "--rank", "5", database=empty)
    assert tracekit.open(empty).sql("SELECT DISTINCT rank FROM steps").fetchall() == [(5,)]


def test_a_trace_without_a_rank_is_shown_as_such(call, tmp_path, empty):
    document = trace()
    del document["distributedInfo"]
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(document))
    call("ingest", str(path), database=empty)
    assert call("breakdown", database=empty).stdout.startswith("trace   vLLM 0.32.0   rank ?\n")


def test_rules_of_a_user_come_first(call, folder, empty, tmp_path):
    rules = tmp_path / "mine.toml"
    rules.write_text(
        '[[rule]]\ncategory = "gemm"\nimpl = "mine"\npattern = "Marlin"\n'
        'examples = ["Marlin"]\nsource = "me"\n'
    )
    call("ingest", str(folder), "--taxonomy", str(rules), database=empty)
    page = call("kernels", "--why", "marlin_moe", database=empty).stdout
    assert "class   gemm mine" in page
    assert "rule    mine.toml: Marlin" in page


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nothing.json"], "nothing.json"),
        ([""], "'': an empty path"),
        (["--memory", "lots"], "--memory lots: not an amount"),
        (["--memory", "-1"], "--memory -1: not an amount"),
        (["--taxonomy", "nothing.toml"], "nothing.toml: "),
    ],
)
def test_bad_input_leaves_no_database(call, folder, empty, words, said):
    paths = [] if words[0] in ("nothing.json", "") else [str(folder)]
    result = call("ingest", *paths, *words, database=empty, exit_code=1)
    (line,) = result.stderr.splitlines()
    assert said in line
    assert not empty.exists()
    assert list(empty.parent.glob(".new*")) == []


def test_what_the_analysis_cannot_do_is_one_line(call, folder, empty, monkeypatch):
    def overflow(con, run):
        con.execute("SELECT 9223372036854775807 + length($run)", {"run": run})

    monkeypatch.setattr("tracekit.api.derive", overflow)
    result = call("ingest", str(folder), database=empty, exit_code=1)
    (line,) = result.stderr.splitlines()
    assert "cannot be analysed (Out of Range Error: " in line
    assert not empty.exists()


@pytest.mark.parametrize("where", ["derive", "context.describe"])
@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("Query interrupted"),
        duckdb.InvalidInputException("Traceback (most recent call last):\nKeyboardInterrupt: "),
        KeyboardInterrupt(),
    ],
    ids=repr,
)
def test_ctrl_c_is_one_line_and_leaves_nothing(call, folder, empty, monkeypatch, where, error):
    def interrupt(*_):
        raise error

    monkeypatch.setattr(f"tracekit.api.{where}", interrupt)
    result = call("ingest", str(folder), database=empty, exit_code=130)
    assert (result.stdout, result.stderr) == ("", "Aborted!\n")
    assert sorted(path.name for path in empty.parent.iterdir()) == ["pair"]


def test_a_full_disk_at_a_commit_is_no_fault_of_the_trace(call, folder, empty, monkeypatch):
    def fill(con, run):
        raise duckdb.TransactionException("Failed to commit: No space left on device")

    monkeypatch.setattr("tracekit.api.derive", fill)
    result = call("ingest", str(folder), database=empty, exit_code=1)
    assert "cannot be written (Failed to commit: No space left on device); free" in result.stderr


def test_what_is_printed_can_be_pasted_and_is_one_line(call, folder, tmp_path):
    strange = tmp_path / "new\n.duckdb"
    words = ["--run", "-rank0", "--db", str(strange)]
    first, following = call("ingest", str(folder), *words).stdout.splitlines()
    assert first.endswith("new\\n.duckdb")
    assert following.endswith("-- -rank0")


def test_on_a_terminal_a_bar_shows_and_results_stay_on_stdout(folder, empty):
    """stderr is a terminal, stdout a file."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "tracekit", "ingest", str(folder), "--db", str(empty)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=theirs, check=True)
    os.close(theirs)
    bar = os.read(ours, 100_000)
    os.close(ours)
    assert done.stdout.startswith(b"pair: 2 ranks")
    assert b"\x1b" not in done.stdout
    assert b"pair" in bar
    assert b"\x1b" in bar
