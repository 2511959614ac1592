"""The pages, as a reader sees them in 80 columns."""

from types import SimpleNamespace

import pytest
from database import add, dicts, memory_database, us, write_database
from rich.cells import cell_len
from samples import eagle3

from tracekit.cli import runs
from tracekit.cli.headline import profiling

PAGES = [
    ("runs",),
    ("steps", "baseline"),
    ("breakdown", "baseline"),
    ("breakdown", "baseline", "--by", "impl", "--step", "2"),
    ("breakdown", "baseline", "--by", "kernel", "--step", "2"),
    ("breakdown", "baseline", "--phase", "forward"),
    ("breakdown", "eagle3"),
    ("breakdown", "stalled"),
    ("kernels", "baseline"),
    ("spec", "eagle3"),
    ("schema",),
    ("schema", "--tables"),
    ("sql", "FROM activities"),
]


@pytest.mark.parametrize("words", PAGES, ids=" ".join)
def test_pages_fit_80_columns(call, words):
    for line in call(*words).stdout.splitlines():
        assert cell_len(line) <= 80, line
        assert line == line.rstrip()


def test_runs(call):
    assert (
        call("runs").stdout
        == """\
run      engine      model    traces    ranks steps decode  window lost
baseline vLLM 0.32.0 tiny-moe synthetic   2/2     4      3 8.00 ms    2
eagle3   vLLM        tiny-moe -           1/1     2      2 4.00 ms    -
stalled  SGLang      -        -           1/1     1      1  550 ms    -
"""
    )


def long_names(con, run):
    for name, backend in (("a" * 16 + "-2026-11-29-tp8-cpu", "cpu"), ("b" * 30, "gpu")):
        facts = {"backend": backend, "is_synthetic": backend == "gpu"}
        add(con, "run", name, engine="vllm", engine_version="0.32.0", model="m" * 40, **facts)
        add(con, "file", name, file_id=0, rank=0, window_start_ns=0, window_end_ns=us(4_000))


def test_runs_with_long_names_keep_them_and_what_is_special(tmp_path):
    con = memory_database()
    long_names(con, "")
    found = [SimpleNamespace(**row) for row in dicts(con, "run_list")]
    heading, *lines = runs._lines(found, 80)
    assert max(map(cell_len, (heading, *lines))) <= 80
    assert "model" not in heading
    for run, line, mark in zip(found, lines, ("CPU", "synthetic"), strict=True):
        assert run.run in line
        assert " vLLM" in line
        assert f" {mark} " in line


def test_a_model_called_synthetic_is_marked_once():
    run = SimpleNamespace(model="org/tiny (synthetic)", is_synthetic=True, backend="gpu")
    assert (runs._model(run), runs._origin(run)) == ("tiny", "synthetic")


def test_a_long_model_is_cut_before_other_names():
    con = memory_database()
    add(con, "run", "short", engine="vllm", engine_version="0.32.0", model="m" * 90)
    found = [SimpleNamespace(**row) for row in dicts(con, "run_list")]
    (line,) = runs._lines(found, 80)[1:]
    assert line.startswith("short vLLM 0.32.0 mmm")
    assert cell_len(line) == 80


def test_breakdown(call):
    assert (
        call("breakdown", "baseline").stdout
        == """\
baseline   vLLM 0.32.0   tiny-moe (synthetic)   TP2, 2 of 2 ranks
2 decode steps of 1 request, 1 cut step left out   step 1.55 ms (median 1.55)
1.45 ms/token, 689.7 tok/s (profiled)   (waiting for work left out)
GPU busy 75.8 %
AllReduce is 33.9 % of the step, 44.7 % of busy time; 15 % of it is waiting
GPU waits for the host 8.9 % of the step (0.14 ms); launch to start 35.0 us

phase   category        ms %step %busy exposed calls us/call   p10-p90
forward gemm          0.60  38.7  51.1    0.59     4   162.5 0.52-0.68
forward all_reduce    0.53  33.9  44.7    0.53     2   275.0 0.39-0.67
          waiting     0.07   4.8   rank 1 last in 50 % of the calls
          transfer    0.43  27.8   14 KiB bf16, custom_1stage, busbw 0.0597 GB/s
          unmatched   0.02   1.2   calls not matched over all ranks
sample  sampling      0.01   1.0   1.3    0.01   0.5    40.0 0.00-0.03
other   2 more        0.01   0.5   0.6    0.01     1     7.0 0.00-0.01
        overlap       0.03   1.8   2.4
        wait for work 0.10   6.5                             0.02-0.18
        idle          0.28  17.7                             0.17-0.38
step                  1.55 100.0                             1.11-1.99
unknown 0.0 % of busy, unlinked 1 (60.0 us, all in no step)
phases by engine scopes
Next:
  tracekit comms baseline --ranks                          who waits for whom
  tracekit breakdown baseline --by kernel --phase forward  its kernels
  tracekit steps baseline                                  every step
"""
    )


def test_breakdown_of_one_phase_and_all_rows(call):
    page = call("breakdown", "baseline", "--phase", "other", "--all").stdout
    assert "other copy" in page
    assert "other index" in page
    assert "rest of step" in page


def test_a_phase_without_rows_names_those_that_have_some(call):
    lines = call("breakdown", "eagle3", "--phase", "forward").stdout.splitlines()
    text = " ".join(lines)
    assert "No work in the phase forward: it is called verify here. Phases with work: " in text
    lines = call("breakdown", "baseline", "--phase", "draft").stdout.splitlines()
    assert "No work in the phase draft. Phases with work: forward, sample, other." in lines


@pytest.fixture(scope="module")
def engines_db(tmp_path_factory):
    return write_database(tmp_path_factory.mktemp("dp") / "dp.duckdb", engines)


def engines(con, run):
    """Two engines of one rank: both decode in step 0, in step 1 the second has no request."""
    add(con, "run", run, engine="vllm", tensor_parallel=1, world_size=2)
    for dp in (0, 1):
        add(con, "file", run, file_id=dp, dp=dp, rank=0)
        for step in (0, 1):
            is_idle = dp == step == 1
            add(
                con,
                "step",
                run,
                dp=dp,
                rank=0,
                step=step,
                kind="idle" if is_idle else "decode",
                start_ns=us(1_000 * step),
                dur_ns=us(900 + 100 * dp),
                busy_ns=us(800),
                idle_ns=us(100 + 100 * dp),
                n_prefill_reqs=0,
                n_decode_reqs=None if is_idle else 2,
            )
            row = {"dp": dp, "rank": 0, "step": step, "phase": "forward", "n": 1}
            work = {"sum_ns": us(800), "busy_ns": us(800)}
            add(con, "step_phase", run, **row, **work)
            add(con, "step_category", run, category="gemm", exposed_ns=us(800), **row, **work)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "3 decode steps of 2 requests on engines 0-1"),
        (("--dp", "1"), "1 decode step of 2 requests on engine 1"),
        (("--step", "0"), "2 decode steps of 2 requests on engines 0-1"),
        (("--step", "1"), "1 decode step of 2 requests on engine 0"),
        (("--step", "1", "--kind", "idle"), "1 idle step on engine 1"),
        (("--step", "1", "--dp", "1"), "1 idle step on engine 1"),
    ],
    ids=str,
)
def test_steps_of_one_kind_are_measured_and_their_engines_named(call, engines_db, words, said):
    lines = call("breakdown", *words, database=engines_db).stdout.splitlines()
    assert "TP1 DP2" in lines[0]
    assert lines[1].partition("   ")[0] == said


def test_steps_of_several_engines(call, engines_db):
    lines = call("steps", database=engines_db).stdout.splitlines()
    assert [line.split()[0] for line in lines[3:7]] == ["0.0", "0.1", "1.0", "1.1"]
    assert lines[7] == "step is engine.step: the data-parallel engine, and its step"
    assert "--dp 1 --step 0" in lines[-1]
    lines = call("steps", "--dp", "0", database=engines_db).stdout.splitlines()
    assert [line.split()[0] for line in lines[3:5]] == ["0.0", "0.1"]
    assert lines[5].startswith("step is engine.step")


def test_a_stalled_host_is_told_in_words(call):
    lines = call("breakdown", "stalled").stdout.splitlines()
    assert lines[1] == "1 decode step   step 10.0 ms and 464 ms of a stalled host"
    assert "The host stalled for 464 ms in step 0: without that it takes 10.00 ms." in lines
    assert not any("/token" in line for line in lines)


def test_a_run_may_be_left_out_where_there_is_one(call, tmp_path):
    path = write_database(tmp_path / "one.duckdb", eagle3)
    assert call("breakdown", database=path).stdout.startswith("eagle3   vLLM")


def test_steps(call):
    assert (
        call("steps", "baseline").stdout
        == """\
baseline   vLLM 0.32.0   tiny-moe (synthetic)   TP2, 2 of 2 ranks

step kind        req tok   ms busy% idle forward sample other
   0 decode, cut   1   1 0.50 100.0 0.00       -      -     -
   1 prefill       1  17 0.80 100.0 0.00       -      -     -
   2 decode        1   1 1.00  85.0 0.15    0.85      -     -
   3 decode        1   1 2.10  71.4 0.40    1.39   0.03  0.01
Next:
  tracekit breakdown baseline --step 3  the longest of them
"""
    )


def test_kernels(call):
    page = call("kernels", "baseline").stdout.splitlines()
    assert page[2] == "  ms %sum calls us/call category impl" + " " * 12 + "name"
    assert page[3].startswith("0.70 55.6     4   175.0 all_reduce custom_1stage")


def test_unknown_kernels(call):
    page = call("kernels", "baseline", "--unknown").stdout.splitlines()
    assert page[3].startswith("0.06  4.8     1    60.0 unknown")
    assert page[4] == "Next:"


def test_a_run_whose_kernels_are_all_known(call):
    page = call("kernels", "stalled", "--unknown").stdout.splitlines()
    assert page[-1] == "every name is known: a rule gives each its class"
    assert call("kernels", "stalled", "--unknown", "--format", "json").stdout == "[]\n"


@pytest.mark.parametrize("columns", [20, 40, 60, 80, 200])
def test_the_schema_in_any_width(call, columns):
    page = call("schema", "--tables", columns=columns).stdout
    assert "n_unknown_ranks" in page
    if columns >= 80:
        assert max(map(cell_len, page.splitlines())) <= columns


def test_words_beside_commands_stay_only_where_they_fit(call):
    narrow = call("breakdown", "baseline", columns=60).stdout.splitlines()
    after = narrow[narrow.index("Next:") + 1 :]
    assert after == [
        "  tracekit comms baseline --ranks  who waits for whom",
        "  tracekit breakdown baseline --by kernel --phase forward",
        "  tracekit steps baseline          every step",
    ]


def test_why(call):
    assert (
        call("kernels", "baseline", "--why", "Marlin").stdout
        == """\
void marlin_moe_wna16::Marlin<1125899906909960, 1125899907892224, 128, 1, 8, 8>(int4 const*)
  class   moe_gemm marlin_moe
  rule    r:2
  Marlin  u4b8, group 32, tile 16x128x128
  time    0.50 ms in 4 calls
"""
    )


def test_why_of_a_name_that_is_not_there(call):
    result = call("kernels", "baseline", "--why", "nothing")
    assert result.stdout == ""
    assert "no name with 'nothing' in it" in result.stderr


def test_spec(call):
    assert (
        call("spec", "eagle3").stdout
        == """\
eagle3   vLLM   tiny-moe   TP1, 1 of 1 rank
drafts: eagle3, K=2   62.5 % of draft tokens accepted (profiled)
2 decode steps of 1 request   step 1.10 ms (profiled, median 1.10)
2.25 tokens/step   0.49 ms/token, 2,045.5 tok/s (profiled)   GPU busy 90.9 %
Without the profiler a decode step takes 1.00 ms, with it 1.50 ms (+50.0 %;
medians of 2 and 2 by the engine's log, without the time between steps).
AllReduce is 18.2 % of the step, 20.0 % of busy time

phase   ms/step %step ms/token AllReduce calls   p10-p90 source
verify     0.70  63.6     0.31      0.10     2 0.70-0.70 engine
draft      0.20  18.2     0.09      0.10     2 0.20-0.20 engine
sample     0.04   3.6     0.02         -       0.04-0.04 engine
overlap    0.06   5.5     0.03         -
idle       0.10   9.1     0.04         -       0.06-0.14
step       1.10 100.0     0.49      0.20     4 1.02-1.18
The table is of the 2 steps traced, with the profiler.

position drafts accepted of drafts given the one before
       1      4        3    75.0 %               75.0 %
       2      4        2    50.0 %               66.7 %
9 tokens in the window: 4 bonus + 5 accepted; max_tokens may have cut some
counters: /metrics around the profiled window; 2.25 tokens per draft
Next:
  tracekit breakdown eagle3  the step in full
"""
    )


COUNTED = {
    "source": "counters",
    "unprofiled_step_ns": 2e6,
    "profiled_step_ns": 3e6,
    "slowdown": 1.5,
    "unprofiled_elapsed_ns": 1e6,
    "profiled_elapsed_ns": 2e6,
    "n_unprofiled_steps": 63,
    "n_profiled_steps": 40,
    "unprofiled_tokens_per_step": 1.9,
    "profiled_tokens_per_step": 3.8,
    "profiled_share": 0.5,
}


def test_what_profiling_cost_says_what_each_time_holds_and_what_differs():
    assert profiling([SimpleNamespace(**COUNTED)], 200) == [
        "Without the profiler a decode step takes 2.00 ms, with it 3.00 ms "
        "(+50.0 %; means, /metrics).",
        "The engine's own elapsed time is 1.00 and 2.00 ms "
        "(medians of 63 and 40 by the engine's log, without the time between steps).",
        "More drafts are accepted with it: 1.90 tokens/step without, 3.80 with the profiler; "
        "compare steps, not tokens.",
        "The profiler ended before the load: with it are the 50.0 % of steps traced.",
    ]
    (*_, of_log) = profiling([SimpleNamespace(**COUNTED | {"source": "iteration_log"})], 200)
    assert of_log == (
        "The profiler ended before the load: it ran in 50.0 % of those steps, "
        "and cost them more than this tells."
    )


def test_windows_that_do_the_same_are_not_said_to_differ():
    alike = COUNTED | {"profiled_tokens_per_step": 1.95, "profiled_share": 1.0}
    assert len(profiling([SimpleNamespace(**alike)], 200)) == 2


def test_a_row_too_wide_for_a_table_is_shown_column_by_column(call):
    page = call("sql", "FROM activities WHERE run = 'stalled' ORDER BY start_ns").stdout
    first, second = page.split("\n\n")
    assert first.splitlines()[0] == "run           stalled"
    assert len(first.splitlines()) == len(second.splitlines()) == 27


def ngram(con, run):
    """Two verify steps; the host drafts for 200 and 100 us of them."""
    add(con, "run", run, engine="vllm")
    add(con, "file", run, file_id=0, rank=0)
    times = {"dur_ns": us(1_000), "busy_ns": us(700), "idle_ns": us(300)}
    for step, host in ((0, 200), (1, 100)):
        facts = {"kind": "decode", "is_verify": True, "n_draft_tokens": 2}
        add(con, "step", run, rank=0, step=step, start_ns=us(1_000 * step), **times, **facts)
        row = {"rank": 0, "step": step}
        device = {"n": 3, "sum_ns": us(700), "busy_ns": us(700)}
        add(con, "step_phase", run, phase="verify", **device, **row)
        none = {"n": 0, "sum_ns": 0, "busy_ns": 0, "host_dur_ns": us(host)}
        add(con, "step_phase", run, phase="draft", **none, **row)


def test_drafting_on_the_host_is_shown_beside_the_sum(call, tmp_path):
    path = write_database(tmp_path / "ngram.duckdb", ngram)
    lines = call("spec", database=path).stdout.splitlines()
    assert "step       1.00 100.0 1.00-1.00" in lines
    assert "draft      0.15     - 0.11-0.19 host" in lines
    assert any(line.startswith("host: drafting is time of the host") for line in lines)
    found = call("spec", "--dp", "0", "--rank", "0", database=path).stdout
    assert "draft      0.15" in found


def test_spec_of_a_run_without_drafts(call):
    result = call("spec", "baseline")
    assert result.stdout == ""
    assert result.stderr == (
        "baseline: no step that checks drafts, and no counters of drafts beside it\n"
    )
