"""nccl-tests and calibration.json: every measured point, with the bandwidth its tool prints."""

import json

import pytest
from click.testing import CliRunner
from database import memory_run

from tracekit.cli import main
from tracekit.errors import RunError
from tracekit.readers.kind import kind_of
from tracekit.readers.nccl_tests import points_of_json, points_of_text

BANNER = """\
# nccl-tests version 2.19.2 nccl-headers=22807 nccl-library=22807
# Collective test starting: {program}
# nThread 1 nGpus 1 minBytes 8 maxBytes 4294967296 step: 2(factor) warmup iters: 5 iters: 20 agg \
iters: 1 validation: 1 graph: {graph} unalign: 0
#
# Using devices
#  Rank  0 Group  0 Pid   1001 on     node-a device  0 [0000:41:00] NVIDIA Made-up
#  Rank  1 Group  0 Pid   1002 on     node-a device  1 [0000:42:00] NVIDIA Made-up
#  Rank  2 Group  0 Pid   1003 on     node-a device  2 [0000:61:00] NVIDIA Made-up
#  Rank  3 Group  0 Pid   1004 on     node-a device  3 [0000:62:00] NVIDIA Made-up
#
"""


def row(cells, lead=""):
    """Cells in columns as nccl-tests prints them."""
    return lead + "".join(f"{cell:>11}" for cell in cells.split()) + "\n"


HALF = "time algbw busbw #wrong"
HEADING = row(f"size count type redop root {HALF} {HALF}", "#")
UNITS = row("(B) (elements) (us) (GB/s) (GB/s) (us) (GB/s) (GB/s)", "#")
TAIL = "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 12.5\n#\n"
ROWS = (
    row("8 2 float sum -1 31.20 0.00 0.00 0 30.75 0.00 0.00 0")
    + row("14336 7168 bfloat16 sum -1 32.00 0.45 0.67 0 31.50 0.46 0.68 0")
    + row("4294967296 1073741824 float sum -1 1.8e+06 2.39 3.58 N/A 1795000 2.39 3.59 N/A", " ")
)


def new_text(rows, program="all_reduce_perf", graph=0):
    return BANNER.format(program=program, graph=graph) + HEADING + UNITS + rows + TAIL


def times(sheet):
    return [(p.bytes, p.is_in_place, p.time_ns) for p in sheet.points]


EXPECTED = [
    (8, False, 31_200),
    (8, True, 30_750),
    (14_336, False, 32_000),
    (14_336, True, 31_500),
    (4_294_967_296, False, 1_800_000_000),
    (4_294_967_296, True, 1_795_000_000),
]


def test_rows_have_a_point_out_of_place_and_one_in_place():
    sheet = points_of_text(new_text(ROWS), "out.txt")
    assert times(sheet) == EXPECTED
    assert sheet.bad == []
    point = sheet.points[2]
    assert (point.category, point.mode, point.n_ranks, point.gpu, point.dtype, point.n) == (
        "all_reduce", "eager", 4, "NVIDIA Made-up", "bfloat16", 20,
    )  # fmt: skip


def test_graph_launches_are_a_mode_of_their_own():
    assert {p.mode for p in points_of_text(new_text(ROWS, graph=5), "").points} == {"graph"}


@pytest.mark.parametrize(
    ("program", "category"),
    [
        ("all_gather_perf", "all_gather"),
        ("reduce_scatter_perf", "reduce_scatter"),
        ("alltoall_perf", "all_to_all"),
        ("broadcast_perf", "broadcast"),
        ("sendrecv_perf", "send_recv"),
        ("scatter_perf", "scatter"),
    ],
)
def test_the_banner_tells_the_collective(program, category):
    assert {p.category for p in points_of_text(new_text(ROWS, program), "").points} == {category}


OLD = """\
# nThread 1 nGpus 2 minBytes 33554432 maxBytes 33554432 step: 2(factor) warmup iters: 5 iters: 20 \
validation: 1
#
# Using devices
#   Rank  0 Pid    195 on node-a device  0 [0x07] Made-up K80
#   Rank  1 Pid    195 on node-a device  1 [0x08] Made-up K80
#
"""
OLD += row("size count type redop time algbw busbw error time algbw busbw error", "#") + UNITS
OLD += row("33554432 8388608 float sum 19902 1.69 1.69 2e-07 19898 1.69 1.69 2e-07")


def test_old_columns_without_root_and_with_error_are_read():
    sheet = points_of_text(OLD, "all_reduce_perf.log")
    assert times(sheet) == [(33_554_432, False, 19_902_000), (33_554_432, True, 19_898_000)]
    assert (sheet.points[0].n_ranks, sheet.points[0].gpu) == (2, "Made-up K80")


def test_without_a_word_on_the_collective_nothing_is_guessed():
    sheet = points_of_text(OLD, "out.txt")
    assert sheet.points == []
    assert len(sheet.bad) == 2


NCCL = "node-a:1001:1001 [0] NCCL INFO Channel 00/0 : 1[1] -> 2[2] via P2P/CUMEM\n"
WARN = "\n[2026-01-02 03:04:05] node-a:1001:1001 [0] net.cc:100 NCCL WARN Cuda failure 1 'x'\n"


@pytest.mark.parametrize(
    "text",
    [
        ROWS.replace("\n", f"\n{NCCL}", 1),
        ROWS.replace("-1      31.20", f"-1{NCCL}      31.20"),
        ROWS.replace("-1      31.20", f"-1{NCCL}{NCCL}      31.20"),
        ROWS.replace("-1      31.20", f"-1{WARN}      31.20"),
        ROWS.replace("0.00          0      30.75", f"0.00          0{NCCL}      30.75"),
        "".join(f"[1,0]<stdout>:{line}\n" for line in ROWS.splitlines()),
        ROWS.replace("\n", "\r\n"),
        ROWS.replace("      31.20", " Reducing maxBytes\n      31.20"),
    ],
    ids=["between", "glued", "glued twice", "warning", "half", "mpirun", "crlf", "foreign"],
)
def test_lines_of_nccl_cost_no_row(text):
    sheet = points_of_text(new_text(text), "")
    if "Reducing" in text:
        assert times(sheet) == EXPECTED[2:]
        assert len(sheet.bad) > 0
    else:
        assert times(sheet) == EXPECTED
        assert sheet.bad == []


def test_a_torn_number_is_told_not_believed():
    torn = ROWS.replace("      32.00       0.45", "      2.00       0.45")
    sheet = points_of_text(new_text(torn), "")
    assert times(sheet) == [EXPECTED[0], EXPECTED[1], *EXPECTED[3:]]
    assert len(sheet.bad) == 1
    assert sheet.bad[0].startswith("14336 7168 bfloat16")


def test_a_row_cut_at_the_end_of_the_file_is_told():
    sheet = points_of_text(new_text(ROWS).partition("  1.8e+06")[0], "")
    assert times(sheet) == EXPECTED[:4]
    assert len(sheet.bad) == 1


FAILED = TAIL.replace("0 OK", "3 FAILED")


def test_a_point_whose_results_were_wrong_is_told_not_kept():
    text = new_text(ROWS.replace("0.67          0 ", "0.67          3 ")).replace(TAIL, FAILED)
    sheet = points_of_text(text, "")
    assert times(sheet) == [*EXPECTED[:2], *EXPECTED[3:]]
    assert sheet.bad == []
    assert len(sheet.wrong) == 1
    assert sheet.wrong[0].startswith("14336 7168 bfloat16")


def test_a_test_that_failed_without_a_word_where_counts_for_nothing():
    sheet = points_of_text(new_text(ROWS) + new_text(ROWS).replace(TAIL, FAILED), "")
    assert times(sheet) == EXPECTED  # of the first, which did not fail
    assert sheet.wrong == ["# Out of bounds values : 3 FAILED"] * len(EXPECTED)


SINGLE = f"{HALF} i_min i_max i_p99 i_cv%"
PER_ITERATION = (
    BANNER.format(program="all_reduce_perf", graph=0)
    + row(f"size count type redop root {SINGLE} {SINGLE} timestamp", "#")
    + row(
        "14336 7168 bfloat16 sum -1 32.00 0.45 0.67 0 30.00 40.00 39.00 5.10 "
        "31.50 0.46 0.68 0 30.10 41.00 39.50 6.00 2026-01-02 03:04:05"
    )
)


def test_columns_of_single_calls_and_time_stamps_are_passed_over():
    sheet = points_of_text(PER_ITERATION, "")
    assert times(sheet) == [(14_336, False, 32_000), (14_336, True, 31_500)]


def report(**changes):
    half = {"time": 32.0, "alg_bw": 0.448, "bus_bw": 0.672, "nwrong": 0.0}
    single = {"p50_us": 31.0, "p95_us": 38.5, "times_us": [31.0, 38.5]}
    result = {
        "size": 14336, "count": 7168, "type": "bfloat16", "redop": "sum", "root": "    -1",
        "out_of_place": half, "out_of_place_per_iter": single, "in_place": half,
    }  # fmt: skip
    devices = [{"rank": rank, "device_info": "NVIDIA Made-up"} for rank in range(4)]
    config = {"nthreads": 1, "ngpus": 1, "minimum_bytes": 8, "iterations": 20, "graph": 0}
    config |= {"aggregated_iterations": 2, "devices": devices}
    said = {"version": 3, "args": ["./build/all_reduce_perf", "-g", "1"], "config": config}
    return {**said, "results": [result], **changes}


def test_json_gives_the_median_where_single_calls_were_timed():
    sheet = points_of_json(report())
    found = [(p.is_in_place, p.time_ns, p.p95_ns, p.n, p.n_ranks) for p in sheet.points]
    assert found == [(False, 31_000, 38_500, 40, 4), (True, 32_000, None, 40, 4)]


def test_json_without_a_rank_for_each_gpu_counts_those_of_its_process():
    config = {"nthreads": 1, "ngpus": 8, "devices": [{"rank": 0, "device_info": "X"}]}
    assert {p.n_ranks for p in points_of_json(report(config=config)).points} == {8}


@pytest.mark.parametrize(
    "result",
    ["text", {"size": -1, "in_place": {"time": 1}}, {"size": 8, "in_place": {"time": "x"}}],
)
def test_json_that_makes_no_sense_is_told(result):
    sheet = points_of_json(report(results=[result]))
    assert sheet.points == []
    assert len(sheet.bad) == 1


def result_of(**changes):
    (result,) = report()["results"]
    return {**result, **changes}


FAILURE = {"out_of_bounds": {"count": 3, "okay": "false"}}
HALF_OF_JSON = {"time": 32.0, "alg_bw": 0.448, "bus_bw": 0.672, "nwrong": 3.0}


def test_json_with_wrong_results_is_told_not_kept():
    result = result_of(in_place=HALF_OF_JSON)
    sheet = points_of_json(report(results=[result], **FAILURE))
    assert [p.is_in_place for p in sheet.points] == [False]
    assert sheet.wrong == [repr(result)]


@pytest.mark.parametrize("okay", [False, "false"])
def test_json_that_failed_without_a_word_where_counts_for_nothing(okay):
    sheet = points_of_json(report(out_of_bounds={"count": 3, "okay": okay}))
    assert sheet.points == []
    assert len(sheet.wrong) == 2
    assert points_of_json(report(out_of_bounds={"count": 0, "okay": "true"})).wrong == []


def test_json_without_a_time_is_told():
    sheet = points_of_json(report(results=[result_of(in_place={"time": 0.0, "nwrong": 0.0})]))
    assert [p.is_in_place for p in sheet.points] == [False]
    assert len(sheet.bad) == 1


OWN = {
    "format": 1, "tool": "tracekit", "backend": "gloo", "n_ranks": 2, "gpu": None,
    "points": [{
        "mode": "burst", "collective": "all_reduce", "dtype": "bfloat16", "bytes": 14336,
        "is_in_place": True, "n": 50, "p50_ns": 81_000, "p95_ns": 99_000, "min_ns": 75_000,
        "delayed_rank": 1, "delay_ns": 200_000,
    }],
}  # fmt: skip


def test_measured_sizes_are_a_run_of_their_own(tmp_path):
    folder = tmp_path / "curve"
    folder.mkdir()
    (folder / "calibration.json").write_text(json.dumps(OWN))
    (folder / "nccl.txt").write_text(new_text(ROWS))
    (folder / "report").write_text(json.dumps(report()))
    db = memory_run(folder)
    assert db.sql("SELECT run, n_ranks, n_activities FROM runs").fetchall() == [("r", 0, 0)]
    assert db.sql("SELECT kind, count(*) FROM file GROUP BY 1").fetchall() == [("calibration", 3)]
    own = db.sql("FROM calibrations WHERE tool = 'tracekit'").fetchall()
    assert own == [
        ("r", "tracekit", "burst", "all_reduce", "gloo", 2, None, "bfloat16", 14336, True, 50,
         81_000, 99_000, 14336 / 81_000, 14336 / 81_000, 1, 200_000, 0)
    ]  # fmt: skip
    assert db.sql("SELECT count(*) FROM calibrations").fetchall() == [(9,)]


def test_the_command_shows_where_they_are(tmp_path):
    (tmp_path / "all_reduce.txt").write_text(new_text(ROWS))
    ran = CliRunner().invoke(
        main, ["ingest", str(tmp_path / "all_reduce.txt"), "--db", str(tmp_path / "c.duckdb")]
    )
    assert ran.exit_code == 0
    assert ran.stdout.startswith("all_reduce: 0 ranks, 0 activities")
    assert ran.stdout.splitlines()[-1].startswith("Next: tracekit runs")


def test_busbw_is_the_one_that_nccl_tests_prints(tmp_path):
    folder = tmp_path / "curve"
    folder.mkdir()
    for program in ("all_reduce_perf", "alltoall_perf", "broadcast_perf"):
        (folder / program).write_text(new_text(ROWS, program))
    found = memory_run(folder).sql(
        "SELECT category, round(busbw_gb_per_s, 2) FROM calibrations "
        "WHERE bytes = 4294967296 AND is_in_place ORDER BY 1"
    )
    assert found.fetchall() == [("all_reduce", 3.59), ("all_to_all", 1.79), ("broadcast", 2.39)]


def test_a_later_format_is_refused(tmp_path):
    folder = tmp_path / "curve"
    folder.mkdir()
    (folder / "calibration.json").write_text(json.dumps({**OWN, "format": 2}))
    with pytest.raises(RunError, match="calibration.json: format 2, this tracekit reads 1"):
        memory_run(folder)


def test_points_that_make_no_sense_are_in_the_ledger(tmp_path):
    folder = tmp_path / "curve"
    folder.mkdir()
    bad = [{**OWN["points"][0], "bytes": -1}, 7, {**OWN["points"][0], "mode": "idle"}]
    (folder / "calibration.json").write_text(json.dumps({**OWN, "points": OWN["points"] + bad}))
    db = memory_run(folder)
    assert db.sql("SELECT skipped, reason FROM ingest_ledger").fetchall() == [
        (3, "measured size not understood")
    ]
    assert db.sql("SELECT count(*) FROM calibrations").fetchall() == [(1,)]


@pytest.mark.parametrize(
    ("number", "n_points"),
    [("NaN", 1), ("-Infinity", 1), ("inf", 1), ('"nan"', 1), ("32.0", 2)],
)
def test_a_figure_that_is_no_number_costs_its_point_alone(tmp_path, number, n_points):
    folder = tmp_path / "curve"
    folder.mkdir()
    text = json.dumps(report()).replace(
        '"in_place": {"time": 32.0', f'"in_place": {{"time": {number}'
    )
    (folder / "report.json").write_text(text)
    db = memory_run(folder)
    assert db.sql("SELECT count(*) FROM calibrations").fetchall() == [(n_points,)]
    ledger = [(1, "measured size not understood")] * (2 - n_points)
    assert db.sql("SELECT skipped, reason FROM ingest_ledger").fetchall() == ledger


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (new_text(""), "no measured size"),
        (json.dumps(report(results=[])), "no measured size"),
        (json.dumps({**OWN, "points": []}), "no measured size"),
        (json.dumps(report(**FAILURE)), "measured size with wrong results"),
        (json.dumps(report())[:-1], "measured size not understood"),
        (json.dumps({**OWN, "points": [{**OWN["points"][0], "p50_ns": 0}]}),
         "measured size not understood"),
        (json.dumps({**OWN, "points": [{**OWN["points"][0], "p50_ns": float("nan")}]}),
         "measured size not understood"),
    ],
    ids=["text", "json", "own", "wrong", "cut", "no time", "own nan"],
)  # fmt: skip
def test_a_file_without_a_point_is_told(tmp_path, text, reason):
    folder = tmp_path / "curve"
    folder.mkdir()
    (folder / "some").write_text(text)
    (folder / "good.txt").write_text(new_text(ROWS))
    assert memory_run(folder).sql("SELECT reason, is_loss FROM ledger").fetchall() == [
        (reason, True)
    ]


def with_environment(n_bytes):
    """A report with all variables of the process before its settings, as -J writes it."""
    head = {"version": 3, "start_time": "2026-01-02 03:04:05", "args": [], "env": ["A" * n_bytes]}
    return json.dumps(head | report())


@pytest.mark.parametrize(
    "text",
    [with_environment(100_000), with_environment(2_000_000),
     json.dumps({"env": ["A" * 100_000], **report()}),
     new_text(ROWS), OLD, NCCL + new_text(ROWS), json.dumps(OWN), json.dumps(report()),
     json.dumps(report(padding=["x"] * 400_000))],
    ids=["environment", "long environment", "environment first", "new", "old", "nccl first", "own",
         "json", "long json"],
)  # fmt: skip
def test_calibrations_are_told_by_what_is_in_them(tmp_path, text):
    path = tmp_path / "some"
    path.write_text(text)
    assert kind_of(path) == "calibration"
