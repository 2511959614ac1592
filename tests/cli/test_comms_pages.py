"""Pages of collectives, as a reader sees them in 80 columns."""

from types import SimpleNamespace

import pytest
from database import add, add_call, us, write_database
from rich.cells import cell_len
from samples import baseline, eagle3

from tracekit.cli import comms_page

PAGES = [(), ("--ranks",), ("--issues",), ("--calibration", "baseline")]


@pytest.mark.parametrize("words", PAGES, ids=" ".join)
@pytest.mark.parametrize("columns", [80, 120])
def test_pages_fit_their_width(call, words, columns):
    for line in call("comms", "baseline", *words, columns=columns).stdout.splitlines():
        assert cell_len(line) <= columns or line.startswith("  tracekit"), line
        assert line == line.rstrip()


def body(page):
    """What stands below the head of a page."""
    return page.partition("\n\n")[2]


def test_signatures(call):
    assert (
        body(call("comms", "baseline").stdout)
        == """\
phase   collective                   message calls   ms    us   p95 wait%  busbw
forward all_reduce custom_1stage 14 KiB bf16     2 0.53 250.0 300.0  14.3 0.0597
        inconclusive: too few calls: 4 of the 5 needed; ranks arrive 100 us
        apart (p95 100 us); 7.8x the calibration (32.0 us); 12.5x NCCL's model,
        a lower bound (20.0 us)
ms: in a step; us, p95: transfer of a call, that is, its time on the rank that
is done first, median and 95th percentile; wait%: the rest of the calls' time;
busbw in GB/s
Next:
  tracekit comms baseline --ranks   who waits for whom
  tracekit comms baseline --issues  what is doubtful: 2
"""
    )


def test_the_head_is_that_of_the_breakdown(call):
    head = call("comms", "baseline").stdout.partition("\n\n")[0]
    assert call("breakdown", "baseline").stdout.startswith(head)


def test_ranks(call):
    assert (
        body(call("comms", "baseline", "--ranks").stdout)
        == """\
No rank stands out: 67 % of the waiting is for rank 1, at most.
Arrivals are 100 us apart (median; p95 100 us), ends 0 ns. Waiting is 0.07 ms of
a step by durations, 0.07 ms by the clocks, of 0.53 ms in these collectives.
Clocks of 2 ranks need no correction; no rank ends a call before the last has
begun.

rank last% late waits by dur others ms/step host% device% steps
   1  50.0 50.0  25.0   25.0  100.0    0.10     0     100 2-3 (2 of 2)
   0  25.0 25.0  50.0   50.0  100.0    0.05     0     100 3 (1 of 2)
us per call: late = after the first rank; waits = for the last one, by the
clocks; by dur = the same without clocks; others = what the others wait where it
is last, and ms/step in a step; host%, device% = why it is late; steps = those
in which half of the waiting is for it
Next:
  tracekit comms baseline           transfer and waiting, by message size
  tracekit comms baseline --issues  what is doubtful: 2
"""
    )


def test_issues(call):
    assert (
        body(call("comms", "baseline", "--issues").stdout)
        == """\
1 of 9 all_reduce calls are not matched over ranks: nothing is known of their
waiting.
  calls at the edges of the window are often cut on some rank; many more mean
  that a trace lost events
1 of 9 all_reduce calls are in no step, and in no figure of one.
Next:
  tracekit comms baseline          transfer and waiting, by message size
  tracekit comms baseline --ranks  who waits for whom
"""
    )


def test_what_the_profiler_costs_is_an_issue(call):
    lines = call("comms", "eagle3", "--issues").stdout.splitlines()
    assert "There are no collectives in it." in lines
    assert any(line.startswith("The profiler slows the host") for line in lines)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("eagle3",), "eagle3: no collectives in such steps"),
        (("eagle3", "--ranks"), "eagle3: no collective is matched over ranks"),
        (("eagle3", "--topology"), "eagle3: no NCCL log beside its traces"),
        (("baseline", "--phase", "draft"), "baseline: no collectives in such steps"),
    ],
    ids=str,
)
def test_what_is_not_there_is_said_on_stderr(call, words, said):
    result = call("comms", *words)
    assert result.stdout == ""
    assert result.stderr.startswith(said)


def test_data_has_one_row_per_signature_or_rank(call):
    assert call("comms", "baseline", "--format", "csv").stdout.count("\n") == 2
    assert call("comms", "baseline", "--ranks", "--format", "csv").stdout.count("\n") == 3
    assert call("comms", "eagle3", "--format", "json").stdout == "[]\n"


def test_wrong_words_are_refused(call):
    assert (
        "leave out --rank"
        in call("comms", "baseline", "--ranks", "--rank", "0", exit_code=2).stderr
    )
    assert "no such run" in call("comms", "baseline", "--calibration", "x", exit_code=1).stderr
    assert "no category" in call("comms", "baseline", "--category", "x", exit_code=1).stderr
    assert "no rank 7" in call("comms", "baseline", "--rank", "7", exit_code=1).stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--topology", "--ranks"), "--ranks and --topology are pages of their own: give one"),
        (("--ranks", "--issues"), "--ranks and --issues are pages of their own: give one"),
        (("--ranks", "--calibration", "baseline"), "leave out --calibration"),
    ],
    ids=str,
)
def test_one_page_at_a_time(call, words, said):
    assert said in call("comms", "baseline", *words, exit_code=2).stderr


def curve(con, run):
    """What nccl-tests leaves: no count of calls, no 95th percentile."""
    add(con, "run", run)
    add(con, "file", run, file_id=0, kind="calibration")
    add(con, "calibration", run, n_ranks=8, dtype="float", bytes=16_384, time_ns=us(20))


def one_rank(con, run):
    """A trace of one rank alone."""
    add(con, "run", run)
    add(con, "file", run, file_id=0, rank=0)
    add(con, "step", run, rank=0, step=0, kind="decode", dur_ns=us(100), busy_ns=us(90))
    add_call(con, run, 0, (0,), (50,), step=0, match="none", transfer_ns=None, wait_ns=None)


@pytest.fixture
def measured(tmp_path):
    return write_database(tmp_path / "measured.duckdb", baseline, eagle3, curve, one_rank)


def test_a_curve_that_does_not_apply_is_an_error(call, measured):
    words = ("comms", "baseline", "--calibration")
    failed = call(*words, "curve", database=measured, exit_code=1).stderr
    assert "curve: no calibration of 2 ranks; it has 8: measure one with" in failed
    failed = call(*words, "eagle3", database=measured, exit_code=1).stderr
    assert "eagle3: no calibration; measure one with tracekit bench allreduce" in failed


def test_a_run_of_measured_times_shows_them(call, measured):
    title, heading, row = call("comms", "curve", database=measured).stdout.splitlines()
    assert title.split() == ["curve", "measured", "times", "8", "ranks"]
    assert heading.split()[:2] == ["mode", "message"]
    assert row.split()[:4] == ["eager", "16", "KiB", "20.0"]


def test_one_rank_is_not_asked_who_waits(call, measured):
    page = call("comms", "one_rank", database=measured).stdout
    assert "--issues" in page
    assert "--ranks" not in page


def late_host(con, run):
    """Eight steps of eight ranks; from step 2 on rank 5 starts 60 us late for its host."""
    add(con, "run", run, engine="vllm", tensor_parallel=8, world_size=8)
    message = {"bytes": 14_336, "bytes_source": "nccl_log", "dtype": "BFloat16"}
    choice = {"algorithm": "RING", "protocol": "LL", "channels": 2, "model_ns": us(36)}
    for rank in range(8):
        add(con, "file", run, file_id=rank, rank=rank)
        for step in range(8):
            times = {"start_ns": us(1_000 * step), "dur_ns": us(1_000)}
            times |= {"busy_ns": us(900), "idle_ns": us(100)}
            add(con, "step", run, rank=rank, step=step, kind="decode", **times)
    for step in range(8):
        late = tuple(60 if rank == 5 and step >= 2 else 0 for rank in range(8))
        starts = tuple(1_000 * step + own for own in late)
        durs = tuple(max(late) - own + 30 for own in late)
        facts = {"starved_ns": tuple(map(us, late)), "launch_ns": tuple(map(us, starts))}
        add_call(con, run, step, starts, durs, step=step, **message, **choice, **facts)


def jumped(con, run):
    """Two ranks whose clocks cannot be compared, though a correction was found for one."""
    add(con, "run", run, engine="vllm", tensor_parallel=2, world_size=2)
    for rank in range(2):
        add(con, "file", run, file_id=rank, rank=rank)
        times = {"start_ns": 0, "dur_ns": us(1_000), "busy_ns": us(900), "idle_ns": us(100)}
        add(con, "step", run, rank=rank, step=0, kind="decode", **times)
        early = {"n_early_before": 9, "n_early_after": 0, "is_applied": rank == 1}
        add(con, "clock_offset", run, rank=rank, offset_ns=us(9 * rank), **early)
    add_call(con, run, 0, (0, 900), (50, 20), step=0, wait_ns=None)


def alone(con, run):
    """One rank, whose calls are matched with none."""
    add(con, "run", run, engine="vllm", tensor_parallel=2, world_size=2)
    add(con, "file", run, file_id=0, rank=0)
    times = {"start_ns": 0, "dur_ns": us(1_000), "busy_ns": us(900), "idle_ns": us(100)}
    add(con, "step", run, rank=0, step=0, kind="decode", **times)
    unmatched = {"wait_ns": None, "transfer_ns": None, "match": "none"}
    add_call(con, run, 0, (0,), (50,), step=0, **unmatched)


def test_only_columns_that_are_there_are_explained(call, tmp_path):
    path = write_database(tmp_path / "alone.duckdb", alone)
    lines = call("comms", database=path).stdout.splitlines()
    assert "ms: in a step" in lines
    assert "p95: transfer" not in " ".join(lines)


def test_clocks_that_cannot_be_compared_are_told(call, tmp_path):
    path = write_database(tmp_path / "jumped.duckdb", jumped)
    page = " ".join(call("comms", "--issues", database=path).stdout.split())
    assert "2 of 2 matched all_reduce calls are of ranks whose clocks cannot be compared" in page
    page = " ".join(call("comms", "--ranks", database=path).stdout.split())
    assert "cannot be compared: who is last is told by durations." in page
    assert "Waiting is 0.01 ms of a step by durations, of 0.04 ms in these collectives." in page
    assert "corrected" not in page


def test_a_straggler_is_named_with_its_steps_and_its_reason(call, tmp_path):
    path = write_database(tmp_path / "late.duckdb", late_host)
    page = " ".join(call("comms", "--ranks", database=path).stdout.split())
    assert "100 % of the waiting is for rank 5, last in 75 % of 8 calls" in page
    assert "the others then wait 60.0 us, 0.04 ms of a step" in page
    assert "It is the straggler of 6 of 8 steps: 2-7." in page
    assert "Its host is late: in 100 % of that time nothing was queued on it for 60.0 us" in page
    assert "it was launched 60.0 us later" in page
    page = " ".join(call("comms", database=path).stdout.split())
    assert "mixed: ranks arrive 60.0 us apart (p95 60.0 us), rank 5 last in 75 %" in page
    assert "100 % of the waiting for late hosts; 0.8x NCCL's model, a lower bound (36.0" in page
    assert "us); below it: size or model is wrong; RING LL 2 channels" in page


def test_what_nccl_logged(call):
    assert "ranks" in body(call("comms", "stalled", "--topology").stdout)
    lines = call("comms", "stalled", "--issues").stdout.splitlines()
    assert "NCCL warns 1x (net.cc:7): Cuda failure 999 'unknown'" in lines


def test_topics_stand_beside_their_words():
    rows = [
        SimpleNamespace(topic="ranks", words="8 ranks on one node"),
        SimpleNamespace(topic="transport", words="SHM through the host, no P2P"),
    ]
    assert comms_page.topics(rows, 30) == [
        "ranks      8 ranks on one node",
        "transport  SHM through the",
        "           host, no P2P",
    ]


def test_hostile_names_stay_visible():
    row = SimpleNamespace(n=2, place="a.cc:1", example="x\x1b[31m", meaning=None, advice="do")
    told, advice = comms_page.warning(row, 80)
    assert "\\x1b[31m" in told
    assert advice == "  do"
