"""What predictions stand on: measured means, what drafting costs, what a user or a config gives."""

import json
import math

import pytest
from database import add, dicts, memory_database, us
from samples import baseline


def inputs(con, **params):
    return {
        (row["subject"], row["input"])
        if row["place"] is None
        else (row["input"], row["place"]): row
        for row in dicts(con, "whatif_inputs", **params)
    }


def test_means_over_decode_steps_of_both_ranks(con):
    """Steps 2 and 3 of the run `baseline`: tests/samples.py."""
    found = inputs(con, run="baseline")
    values = {name: found["baseline", name]["value"] for name in ("step_ns", "pass_ns", "idle_ns")}
    work = (1_000 + (1_800 + 2_000) / 2) / 2
    assert values == {"step_ns": us(work), "pass_ns": us(1_120), "idle_ns": us(275)}
    assert found["baseline", "all_reduce_ns"]["value"] == us((350 + 700) / 2)
    assert found["baseline", "gemm_ns"]["value"] == us((500 + 700) / 2)
    assert found["baseline", "all_reduces"]["value"] == 2
    assert found["baseline", "message_bytes"]["value"] == 14_336
    error = (
        12.71 * us(900) / math.sqrt(2) / math.sqrt(2)
    )  # deviation of 1,000 and 1,900; Student's t
    assert found["baseline", "step_ns"]["error"] == pytest.approx(error)
    assert found["baseline", "step_ns"]["source"] == "2 decode steps of baseline"
    assert ("speculative", "step_ns") not in found


def test_a_run_with_drafts_gives_acceptance_and_what_drafting_costs(con):
    """Counters: 4 drafts, 3 accepted at position 1, 2 at 2; step times without the profiler."""
    found = inputs(con, run="baseline", calibrate="eagle3")
    assert [found["acceptance", i]["value"] for i in (1, 2)] == [0.75, 0.5]
    assert found["acceptance", 1]["source"] == "of 4 drafts of eagle3"
    error = 0.75 - 5 / 8 + 1.96 * math.sqrt(5 / 8 * 3 / 8 / 8)  # Agresti and Coull: 5 of 8
    assert found["acceptance", 1]["error"] == pytest.approx(error)
    assert found["model", "acceptance_beyond"]["value"] == pytest.approx(2 / 3)
    assert found["speculative", "k"]["value"] == 2
    assert found["speculative", "filled"]["value"] == found["speculative", "covered"]["value"] == 1
    assert found["speculative", "tokens"]["value"] == 3
    factor = 1_000 / 1_500
    assert found["speculative", "step_ns"]["value"] == pytest.approx(us(1_100) * factor)
    assert found["speculative", "draft_ns"]["value"] == pytest.approx(us(200) * factor)
    source = "2 decode steps of eagle3, scaled to its window unprofiled"
    assert found["speculative", "step_ns"]["source"] == source


def drafting(kernels, n_drafted=3):
    """A run with one verify step, and activities of its draft phase: name, calls, us each."""
    con = memory_database()
    add(con, "run", "r", engine="vllm", tensor_parallel=2)
    add(con, "file", "r", file_id=0, rank=0)
    load = {"n_decode_reqs": 1, "n_decode_tokens": 1 + n_drafted, "n_draft_tokens": n_drafted}
    times = {"start_ns": 0, "dur_ns": us(5_000), "busy_ns": us(4_000), "idle_ns": us(1_000)}
    add(con, "step", "r", rank=0, step=0, kind="decode", is_verify=True, **load, **times)
    total = sum(n * dur for _, n, dur in kernels)
    phase = {"rank": 0, "step": 0, "phase": "draft"}
    add(con, "step_phase", "r", n=9, sum_ns=us(total), busy_ns=us(total), **phase)
    for name, n, dur in kernels:
        times = {"n": n, "sum_ns": us(n * dur), "busy_ns": us(n * dur), "exposed_ns": 0}
        add(con, "step_category", "r", category=name, **times, **phase)
        for i in range(n):
            facts = {"name": name, "category": name, "start_ns": i, "dur_ns": us(dur)}
            add(con, "activity", "r", activity_id=i, **facts, **phase)
    return con


def test_kernels_of_each_drafted_token_are_told_from_those_of_the_step():
    """Between two of three drafted tokens is an update: one less than there are tokens."""
    con = drafting([("prepare", 1, 30), ("gemm", 6, 50), ("update", 2, 5), ("all_reduce", 6, 20)])
    found = inputs(con, run="r")
    assert found["model", "draft_step_ns"]["value"] == pytest.approx(us(30 - 5))
    assert found["model", "draft_token_ns"]["value"] == pytest.approx(us(100 + 5))
    assert found["model", "draft_all_reduces"]["value"] == 2
    assert found["model", "draft_all_reduce_ns"]["value"] == us(20)


def test_of_one_drafted_token_what_comes_once_a_step_is_assumed():
    found = inputs(drafting([("gemm", 1, 50)], n_drafted=1), run="r")
    row = found["model", "draft_token_ns"]
    assert (row["value"], row["kind"]) == (us(50), "assumed")
    assert row["source"].startswith("all, but of one token to a draft nothing tells")


def test_a_single_step_tells_no_error_so_half_of_it_is_taken():
    row = inputs(drafting([("gemm", 3, 50)]), run="r")["speculative", "step_ns"]
    assert (row["error"], row["source"]) == (us(2_500), "1 decode step of r")


def test_steps_of_several_loads_and_those_that_stalled_are_named():
    """Four steps of one request, one of them stalled, and two of four."""
    con = memory_database()
    add(con, "run", "r", engine="vllm")
    add(con, "file", "r", file_id=0, rank=0)
    for step, (streams, dur) in enumerate([(1, 10), (1, 11), (1, 10), (1, 90), (4, 40), (4, 40)]):
        times = {"start_ns": us(1_000 * step), "dur_ns": us(dur), "busy_ns": us(dur), "idle_ns": 0}
        add(con, "step", "r", rank=0, step=step, kind="decode", n_decode_reqs=streams, **times)
    found = inputs(con, run="r")
    said = "6 decode steps of r, of 1 to 4 requests, 2.0 on average, 1 stalled"
    assert found["baseline", "step_ns"]["source"] == said
    assert found["baseline", "steps"]["value"] == 6


@pytest.mark.parametrize(
    ("given", "calls"),
    [
        ({}, (2, "measured")),
        ({"draft_tp": 1}, (0, "given")),
        ({"draft_tp": 8}, (2, "measured")),
        ({"all_reduces_per_draft": 5.0}, (5, "given")),
        ({"draft_ns": 1e6}, (0, "assumed")),
        ({"draft_ns": 1e6, "draft_tp": 2}, (2, "assumed")),
    ],
    ids=str,
)
def test_all_reduces_of_a_drafted_token(given, calls):
    con = drafting([("gemm", 6, 50), ("all_reduce", 6, 20)])
    found = inputs(con, run="r", **given)["model", "draft_all_reduces"]
    assert (found["value"], found["kind"]) == calls


def test_what_is_given_takes_the_place_of_what_was_measured(con):
    found = inputs(con, run="baseline", calibrate="eagle3", acceptance="0.5", draft_fraction=0.2)
    assert found["acceptance", 1]["value"] == 0.5
    assert ("acceptance", 2) not in found
    assert found["model", "draft_fraction"]["kind"] == "given"
    assert ("model", "draft_token_ns") not in found


def test_a_run_without_drafts_has_them_assumed(con):
    found = inputs(con, run="baseline")
    assert found["acceptance", 1]["kind"] == found["model", "draft_fraction"]["kind"] == "assumed"
    assert [found["model", f"acceptance_{end}"]["value"] for end in ("low", "high")] == [0.3, 0.9]
    given = inputs(con, run="baseline", acceptance="0.7")
    assert ("model", "acceptance_low") not in given


def config(con, path, **values):
    facts = {"kind": "config", "path": path, "metadata": json.dumps(values)}
    add(con, "file", "baseline", file_id=9, **facts)


def test_experts_are_those_of_the_models_config():
    con = memory_database()
    baseline(con, "baseline")
    category = {"rank": 0, "step": 2, "phase": "forward", "category": "moe_gemm"}
    add(con, "step_category", "baseline", n=1, sum_ns=5, busy_ns=5, exposed_ns=5, **category)
    assert inputs(con, run="baseline")["model", "experts"]["kind"] == "assumed"
    text = {"n_routed_experts": 384, "num_experts_per_tok": 8, "num_hidden_layers": 61}
    config(con, "models/target/config.json", text_config=text)
    config(con, "models/draft/config.json", num_hidden_layers=1)
    found = inputs(con, run="baseline")
    assert found["model", "experts"]["value"] == 384
    assert found["model", "active_experts"]["value"] == 8
    assert found["model", "draft_fraction"]["value"] == pytest.approx(2 / 61)
    given = inputs(con, run="baseline", experts=128, active_experts=4)
    assert given["model", "experts"]["value"] == 128


def test_hostile_configs_are_no_experts():
    con = memory_database()
    add(con, "run", "baseline")
    config(con, "a/config.json", n_routed_experts="'; DROP", num_experts_per_tok={"a": 1})
    assert ("model", "experts") not in inputs(con, run="baseline")


def test_a_curve_that_is_asked_for_comes_before_all_others(con):
    assert ("all_reduce_ns", 14_336.0) not in inputs(con, run="baseline")
    con = memory_database()
    baseline(con, "baseline")
    for size, time in ((1_024, 10), (65_536, 40), (1_048_576, 35)):
        add(con, "calibration", "bench", n_ranks=2, bytes=size, time_ns=us(time))
    found = inputs(con, run="baseline", curve="bench")
    times = [found["all_reduce_ns", size]["value"] for size in (1_024, 65_536, 1_048_576)]
    assert times == [us(10), us(40), us(40)]  # a larger message is never quicker
    assert found["all_reduce_ns", 1_024]["source"] == "curve of bench"


def test_every_time_of_the_inputs_has_its_kind_and_source(con):
    for row in dicts(con, "whatif_inputs", run="baseline", calibrate="eagle3"):
        assert row["kind"] in {"measured", "modelled", "assumed", "given"}
        assert row["source"]


def test_drafts_that_not_every_step_has():
    """Two steps, one checks 2 of at most 4 tokens; counters: drafts of 2 tokens."""
    con = memory_database()
    config = {"speculative_method": "ngram", "num_speculative_tokens": 4}
    add(con, "run", "r", engine="vllm", **config)
    add(con, "file", "r", file_id=0, rank=0)
    for step, drafted in enumerate((2, 0)):
        load = {"n_decode_reqs": 1, "n_decode_tokens": 1 + drafted, "n_draft_tokens": drafted}
        times = {"start_ns": us(1_000 * step), "dur_ns": us(1_000), "idle_ns": us(400)}
        add(
            con,
            "step",
            "r",
            rank=0,
            step=step,
            kind="decode",
            is_verify=drafted > 0,
            **load,
            **times,
        )
        row = {"rank": 0, "step": step, "phase": "draft", "n": 0, "sum_ns": 0, "busy_ns": 0}
        add(con, "step_phase", "r", host_dur_ns=us(150), **row)
    for name, gained in (("drafts", 5), ("draft_tokens", 10), ("accepted_tokens", 6)):
        for moment, value in (("before", 0), ("after", gained)):
            row = {"name": f"vllm:spec_decode_num_{name}_total", "moment": moment, "value": value}
            add(con, "counter", "r", **row)
    found = inputs(con, run="r")
    values = {name: found["speculative", name]["value"] for name in ("k", "filled", "covered")}
    assert values == {"k": 4, "filled": 0.25, "covered": 0.5}
    assert found["model", "accepted_per_draft"]["value"] == pytest.approx(1.2)
    assert found["speculative", "draft_idle_ns"]["value"] == us(150)
    assert found["model", "draft_step_ns"]["source"] == "on the host, in idle time: drafting of r"


def test_a_log_of_nothing_but_the_rate_takes_it_for_all_tokens_of_a_draft():
    con = drafting([("gemm", 3, 10)])
    add(con, "spec_sample", "r", n_drafted=8, n_accepted=4, acceptance_rate=0.5)
    found = inputs(con, run="r")
    assert found["model", "accepted_per_draft"]["value"] == pytest.approx(0.5 * 3)
    assert ("acceptance", 1) not in found


def test_a_draft_of_no_tokens_by_its_options_is_as_long_as_it_was():
    con = drafting([("gemm", 3, 10)])
    con.execute("UPDATE run SET num_speculative_tokens = 0")
    assert inputs(con, run="r")["speculative", "k"]["value"] == 3
