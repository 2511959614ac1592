"""Whose trace a file is: the user's word, the trace's own, its name."""

import json

import pytest

from tracekit.errors import RunError
from tracekit.readers.file_names import facts_of_name, rank_from_name

KERNEL = {"ph": "X", "cat": "kernel", "name": "k", "tid": 7, "ts": 10, "dur": 1}


@pytest.mark.parametrize(
    ("name", "rank", "dp", "stage"),
    [
        # vLLM <= 0.11.0: host and process only
        ("node-a_29223.1795952241505639206.pt.trace.json.gz", None, None, None),
        # 0.11.1-0.16
        ("1795952242305548598-rank-3.1795952242305548598.pt.trace.json.gz", 3, None, None),
        ("f3a9c2-rank-12.17959.pt.trace.json", 12, None, None),
        # >= 0.17
        ("dp0_pp0_tp1_dcp0_ep1_rank1.1795953186406571089.pt.trace.json.gz", 1, 0, None),
        ("dp3_pp0_tp7_dcp0_ep31_rank7.17959.pt.trace.json.gz", 7, 3, None),
        ("my_run_dp1_pp0_tp0_dcp0_ep1_rank0.17959.pt.trace.json.gz", 0, 1, None),
        ("rank0.1795952242305548598.pt.trace.json.gz", 0, None, None),
        ("myrun_rank5.17959.pt.trace.json.gz", 5, None, None),
        # SGLang
        ("1782843274.77-TP-0.trace.json.gz", 0, None, None),
        ("1782843274.77-TP-0-DECODE.trace.json.gz", 0, None, "DECODE"),
        ("exp-1782843274.77-TP-3-DP-1-EP-3-EXTEND.trace.json.gz", 3, 1, "EXTEND"),
        # TensorRT-LLM, torch's own handler
        ("trace-rank-6.json", 6, None, None),
        ("worker3_step_12.1694128201557.pt.trace.json.gz", 3, None, None),
        ("worker3.1694128201557.pt.trace.json", 3, None, None),
        # words that merely hold one
        ("crank7.json", None, None, None),
        ("coworker3.json", None, None, None),
        ("trace.json", None, None, None),
        ("rank99999999999999999999.json", None, None, None),
    ],
)
def test_a_name_tells_its_rank(name, rank, dp, stage):
    facts = facts_of_name(name)
    assert (facts.rank, facts.dp, facts.stage) == (rank, dp, stage)
    assert rank_from_name(name) == rank
    assert not facts.is_frontend


@pytest.fixture
def run(tmp_path, staged):
    """Function that reads a run of files, given as name to rank in the trace."""

    def read_run(traces, **given):
        paths = []
        for name, own in traces.items():
            info = {} if own is None else {"distributedInfo": {"rank": own}}
            paths.append(tmp_path / name)
            paths[-1].write_text(json.dumps(info | {"traceEvents": [KERNEL]}))
        return staged(*paths, **given)

    return read_run


def ranks(staged):
    return staged.rows("SELECT kind, dp, rank, stage FROM file ORDER BY file_id")


def test_the_users_word_comes_before_the_traces(run):
    assert ranks(run({"rank1.json": 2}, rank=3)) == [("trace", 0, 3, None)]


def test_the_traces_word_comes_before_its_names(run):
    assert ranks(run({"rank1.json": 2})) == [("trace", 0, 2, None)]


def test_a_name_with_its_engine_comes_before_a_rank_over_all_engines(run):
    traces = {"dp0_pp0_tp0_dcp0_ep0_rank0.json": 0, "dp1_pp0_tp0_dcp0_ep1_rank0.json": 1}
    assert ranks(run(traces)) == [("trace", 0, 0, None), ("trace", 1, 0, None)]


def test_one_trace_needs_no_rank(run):
    assert ranks(run({"trace.json": None})) == [("trace", 0, None, None)]


def test_several_traces_without_a_rank_are_refused(run):
    with pytest.raises(RunError, match=r"^b\.json: .* its rank.*--rank$"):
        run({"rank0.json": None, "b.json": None})


def test_two_traces_of_one_rank_are_refused(run):
    with pytest.raises(RunError, match=r"^b\.json: rank 1 .* after a\.json; "):
        run({"a.json": 1, "b.json": 1})


def test_stages_of_one_rank_are_two_files(run):
    traces = {"1-TP-0-DECODE.trace.json": 0, "1-TP-0-EXTEND.trace.json": 0}
    assert ranks(run(traces)) == [("trace", 0, 0, "DECODE"), ("trace", 0, 0, "EXTEND")]


def test_pipeline_stages_of_sglang_count_on(run):
    names = [f"1-TP-{tp}-PP-{pp}.trace.json" for pp in (0, 1) for tp in (0, 1)]
    assert [rank for _, _, rank, _ in ranks(run(dict.fromkeys(names)))] == [0, 1, 2, 3]


@pytest.mark.parametrize("rank", ["0", -1, 1.5, True, None, {}, 10**30])
def test_a_rank_that_is_none_is_not_believed(run, rank):
    assert ranks(run({"trace.json": rank})) == [("trace", 0, None, None)]


def test_the_front_end_is_kept_apart_and_no_event_of_it_stays(run):
    staged = run({"node-a_1.async_llm.17.pt.trace.json": None, "rank0.json": None})
    assert ranks(staged) == [("frontend", 0, None, None), ("trace", 0, 0, None)]
    assert staged.rows("SELECT DISTINCT file_id FROM kept") == [(1,)]
    assert staged.ledger() == {"front end": (1, False)}


def test_a_file_without_work_or_rank_is_the_front_ends(tmp_path, staged):
    (tmp_path / "rank0.json").write_text('{"traceEvents": []}')
    (tmp_path / "api.json").write_text('{"traceEvents": [{"ph": "M", "name": "process_name"}]}')
    read = staged(tmp_path / "rank0.json", tmp_path / "api.json")
    assert [kind for kind, *_ in ranks(read)] == ["trace", "frontend"]


def test_each_event_is_of_its_own_file(tmp_path, staged):
    # Slices at the same bytes of two files: nothing may be cached by place.
    for i in (0, 1):
        event = f'{{"ph":"X","cat":"kernel","name":"of {i}","tid":7,"ts":1,"dur":1}}'
        (tmp_path / f"rank{i}.json").write_text(f"[{event}]")
    read = staged(tmp_path / "rank0.json", tmp_path / "rank1.json")
    assert read.rows("SELECT file_id, name FROM kept ORDER BY ALL") == [(0, "of 0"), (1, "of 1")]
