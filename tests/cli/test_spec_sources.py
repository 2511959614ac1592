"""What `tracekit spec` says of drafts, by where it knows it from."""

import gzip
import json

import pytest
from database import add, us, write_database

import tracekit

LINE = (
    "(APIServer pid=7) INFO 11-29 12:03:32 [metrics.py:120] SpecDecoding metrics: Mean acceptance "
    "length: 2.26, Accepted throughput: 22.34 tokens/s, Drafted throughput: 36.58 tokens/s, "
    "Accepted: 58 tokens, Drafted: 95 tokens, Per-position acceptance rate: 0.696, 0.370, 0.196, "
    "Avg Draft acceptance rate: 61.1%\n"
)
REQUESTS = {"n_prefill_reqs": 0, "n_prefill_tokens": 0, "n_decode_reqs": 1, "n_decode_tokens": 3}
FROM_LOG = "log: all that the engine says in the window, rounded"


def verified(con, run):
    add(con, "run", run, engine="vllm", world_size=1)
    add(con, "file", run, file_id=0, rank=0)
    add(con, "capture_window", run, window_name="profiled", is_profiled=True)
    for step in (0, 1):
        times = {"start_ns": us(step), "dur_ns": us(1), "busy_ns": us(1), "idle_ns": 0}
        add(con, "step", run, rank=0, step=step, kind="decode", is_verify=True, **REQUESTS, **times)


def logged(con, run, **row):
    verified(con, run)
    add(con, "spec_sample", run, **{"window_name": "profiled", "acceptance_rate": 0.5} | row)


def vllm(con, run):
    rates = {"position_rates": [0.667, 0.333], "mean_acceptance_length": 2.0}
    logged(con, run, drafts=3, n_drafted=6, n_accepted=3, **rates)


def open_drafts(con, run):
    rates = {"position_rates": [0.008, 0.0], "mean_acceptance_length": 1.01}
    logged(con, run, n_drafted=250, n_accepted=1, **rates)


def sglang(con, run):
    logged(con, run, engine="sglang", mean_acceptance_length=2.5, n_running=2)


def old_sglang(con, run):
    sglang(con, run)
    con.execute("UPDATE spec_sample SET acceptance_rate = NULL")


def counted(con, run):
    verified(con, run)
    counters = {
        "spec_decode_num_drafts_total": 2,
        "spec_decode_num_draft_tokens_total": 4,
        "spec_decode_num_accepted_tokens_total": 3,
        "generation_tokens_total": 4,
        "iteration_tokens_total_count": 2,
        "time_to_first_token_seconds_count": 0,
    }
    for name, difference in counters.items():
        for moment, value in (("before", 1), ("after", 1 + difference)):
            row = {"name": f"vllm:{name}", "moment": moment, "value": value}
            add(con, "counter", run, window_name="profiled", **row)


@pytest.mark.parametrize(
    ("fill", "lines"),
    [
        (
            vllm,
            [
                "       1      3        2    66.7 %               66.7 %",
                "       2      3        1    33.3 %               49.9 %",
                "6 tokens in the window: 3 bonus + 3 accepted; max_tokens may have cut some",
                f"{FROM_LOG}; 2.00 tokens per draft",
            ],
        ),
        (open_drafts, ["       2     0.0 %                0.0 %"]),
        (sglang, [f"{FROM_LOG}; 2.50 tokens per draft"]),
        (old_sglang, [f"{FROM_LOG}; 2.50 tokens per draft"]),
        (
            counted,
            [
                "5 tokens in the window: 2 bonus + 3 accepted, 1 cut by max_tokens",
                "4 generated: these less 1 cut and 0 of prefill",
                "counters: /metrics around the window; 2.50 tokens per draft",
            ],
        ),
        (
            verified,
            ["no acceptance: no /metrics text from before and after the window beside it, and"],
        ),
    ],
)
def test_the_page_tells_what_it_knows(call, tmp_path, fill, lines):
    path = write_database(tmp_path / "x.duckdb", fill)
    shown = call("spec", database=path).stdout.splitlines()
    assert [line for line in lines if line not in shown] == []
    is_told = fill not in (old_sglang, verified)
    assert any("of draft tokens accepted" in line for line in shown) == is_told


def test_a_log_beside_a_trace_is_enough(call, tmp_path):
    folder = tmp_path / "x"
    folder.mkdir()
    (folder / "server.log").write_text(LINE)
    trace = {"traceEvents": [], "distributedInfo": {"rank": 0}}
    (folder / "rank0.1.pt.trace.json.gz").write_bytes(gzip.compress(json.dumps(trace).encode()))
    tracekit.ingest(folder, db=tmp_path / "x.duckdb")
    shown = call("spec", database=tmp_path / "x.duckdb").stdout
    assert "       3     46        9    19.6 %               53.0 %\n" in shown
    assert "104 tokens in the window: 46 bonus + 58 accepted; max_tokens may have cut some" in shown
    assert "log: all that the engine says, rounded; 2.26 tokens per draft\n" in shown


def metrics(drafts, accepted):
    names = {"drafts": drafts, "draft_tokens": drafts, "accepted_tokens": accepted}
    return "".join(f"vllm:spec_decode_num_{name}_total {n}\n" for name, n in names.items())


@pytest.mark.parametrize(
    ("before", "after", "said", "losses"),
    [
        ((5, 3), ("NaN", 4), "counters of drafts are no finite numbers", 1),
        ((5, 3), (2, 1), "counters of drafts fell: the server was started again", 1),
        ((5, 3), (5, 3), "the /metrics texts beside it tell of no draft in the window", 0),
    ],
    ids=["NaN", "fell", "none"],
)
def test_counters_that_cannot_be_used_are_told(call, tmp_path, before, after, said, losses):
    folder, path = tmp_path / "x", tmp_path / "x.duckdb"
    folder.mkdir()
    (folder / "metrics_before.prom").write_text(metrics(*before))
    (folder / "metrics_after.prom").write_text(metrics(*after))
    trace = {"traceEvents": [], "distributedInfo": {"rank": 0}}
    (folder / "rank0.1.pt.trace.json.gz").write_bytes(gzip.compress(json.dumps(trace).encode()))
    tracekit.ingest(folder, db=path)
    (row,) = tracekit.open(path).report("spec_untold", run="x").records()
    assert row.reason.endswith(said)
    rows = tracekit.open(path).report("losses", run="x").records()
    assert len([row for row in rows if row.reason in said]) == losses


def detailed(con, run):
    verified(con, run)
    con.execute("UPDATE step SET n_draft_tokens = 2")
    con.execute("UPDATE step SET n_emitted_tokens = 3 WHERE step = 0")


def test_steps_tell_what_each_accepted_where_the_trace_does(call, tmp_path):
    shown = call("steps", database=write_database(tmp_path / "x.duckdb", detailed)).stdout
    cells = [line.split()[4] for line in shown.splitlines() if line[3:6] in ("0 d", "1 d")]
    assert cells == ["2/2", "2"]
    assert "drafts is accepted/checked, where the trace tells\n" in shown
    shown = call("steps", database=write_database(tmp_path / "y.duckdb", verified)).stdout
    assert "accepted" not in shown


def told_by_steps(con, run, n_requests=1):
    """Four steps that check two drafts of each request; of the last nothing tells."""
    add(con, "run", run, engine="vllm", world_size=1)
    add(con, "file", run, file_id=0, rank=0)
    for step, accepted in enumerate((2, 0, 1, None)):
        times = {"start_ns": us(step), "dur_ns": us(1), "busy_ns": us(1), "idle_ns": 0}
        load = {"n_prefill_reqs": 0, "n_decode_reqs": n_requests, "n_draft_tokens": 2 * n_requests}
        emitted = None if accepted is None else n_requests + accepted
        given = {**times, **load, "n_emitted_tokens": emitted}
        add(con, "step", run, rank=0, step=step, kind="decode", is_verify=True, **given)


def told_by_steps_of_two(con, run):
    told_by_steps(con, run, n_requests=2)


def test_steps_that_tell_their_tokens_tell_the_acceptance(call, tmp_path):
    path = write_database(tmp_path / "x.duckdb", told_by_steps, told_by_steps_of_two)
    shown = call("spec", "told_by_steps", database=path).stdout
    assert "50.0 % of draft tokens accepted\n" in shown
    assert "       1      3        2    66.7 %               66.7 %\n" in shown
    assert "       2      3        1    33.3 %               50.0 %\n" in shown
    assert "6 tokens in the steps that tell theirs: 3 bonus + 3 accepted\n" in shown
    assert "2.00 tokens/step" in shown
    shown = call("spec", "told_by_steps_of_two", database=path).stdout
    assert "25.0 % of draft tokens accepted\n" in shown
    assert "position" not in shown
    assert "1.50 tokens/step" in shown
