"""The story's pair of runs: the comparison says what the generator's truth says; docs/whatif.md."""

import csv

import pytest
from generated import generate

import tracekit
from tracekit.whatif import predict

RUNS = ("story_baseline", "story_eagle3")
TARGET = ("forward", "verify")


@pytest.fixture(scope="module")
def story(tmp_path_factory):
    """Folder of the generated runs, and the database of both."""
    out = tmp_path_factory.mktemp("story")
    dialects = [word for run in RUNS for word in ("--dialect", run)]
    generate(out, *dialects, "--ranks", "2", "--steps", "10")
    for run in RUNS:
        tracekit.ingest([out / run], db=out / "story.duckdb")
    return out, tracekit.open(out / "story.duckdb")


def report(story, name, **params):
    return story[1].report(name, base=RUNS[0], other=RUNS[1], **params).records()


def truth(story, run, name):
    """Rows of a truth file."""
    with (story[0] / run / "truth" / f"{name}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def mean_step(story, run):
    """Mean duration of the complete steps, and their numbers."""
    rows = [row for row in truth(story, run, "steps") if row["is_complete"] == "1"]
    return sum(int(row["dur_ns"]) for row in rows) / len(rows), {row["step"] for row in rows}


def mean_busy(story, run, name, **chosen):
    """Mean over steps and ranks of the busy time of the rows of a truth file that are `chosen`."""
    _, steps = mean_step(story, run)
    rows = [row for row in truth(story, run, name) if row["step"] in steps]
    busy = [
        int(row["busy_ns"])
        for row in rows
        if all(row[column] in values for column, values in chosen.items())
    ]
    return sum(busy) / len(steps) / 2


def test_time_per_token_is_the_truth(story):
    (row,) = report(story, "compare_headline")
    total = truth(story, RUNS[1], "spec")[0]
    tokens = 1 + int(total["accepted"]) / int(total["drafts"])
    assert row.base_ns_per_token == pytest.approx(mean_step(story, RUNS[0])[0])
    assert row.other_ns_per_token == pytest.approx(mean_step(story, RUNS[1])[0] / tokens)
    assert row.verdict == "faster"
    assert row.ratio_low < row.ratio < row.ratio_high


def test_bars_are_the_truth_and_add_up_exactly(story):
    first, *between, last = report(story, "compare_waterfall")
    assert first.change_ns + sum(row.change_ns for row in between) == last.change_ns
    found = {(row.category or row.phase, row.part): row for row in between}
    for category in ("moe_gemm", "gemm", "attention"):
        row = found[category, None]
        of_target = {"category": (category,), "phase": TARGET}
        assert row.base_step_ns == pytest.approx(
            mean_busy(story, RUNS[0], "step_breakdown", **of_target)
        )
        assert row.other_step_ns == pytest.approx(
            mean_busy(story, RUNS[1], "step_breakdown", **of_target)
        )
    draft = mean_busy(story, RUNS[1], "step_phases", phase=("draft",))
    assert found["draft", None].other_step_ns == pytest.approx(draft)


def test_all_reduce_is_waiting_and_transfer_with_its_messages(story):
    rows = [row for row in report(story, "compare_waterfall") if row.category == "all_reduce"]
    assert {row.part for row in rows} == {"waiting", "transfer"}
    whole = mean_busy(story, RUNS[1], "step_breakdown", category=("all_reduce",), phase=TARGET)
    assert sum(row.other_step_ns for row in rows) == pytest.approx(whole)
    assert {(row.base_bytes, row.other_bytes) for row in rows} == {(14_336, 57_344)}
    assert {(row.base_impl, row.other_impl) for row in rows} == {("custom_1stage",) * 2}


def test_experts_touched_and_all_reduces_of_drafting_are_named(story):
    found = {row.category or row.phase: row for row in report(story, "compare_waterfall")}
    gemm, draft = found["moe_gemm"], found["draft"]
    assert gemm.phase == "verify"
    assert gemm.experts == 384
    assert gemm.base_experts == pytest.approx(8)
    assert gemm.other_experts == pytest.approx(384 * (1 - (376 / 384) ** 4))
    whole = mean_busy(story, RUNS[1], "step_breakdown", category=("all_reduce",), phase=("draft",))
    assert draft.other_all_reduce_ns == pytest.approx(whole)
    assert draft.base_all_reduce_ns is None


def test_kernels_of_drafting_are_new_and_marlin_is_slower(story):
    rows = report(story, "compare_kernels")
    assert {row.change for row in rows if row.phase == "draft"} == {"new"}
    assert {row.change for row in rows if row.impl == "marlin_moe"} == {"slower"}
    changes = [abs(row.change_ns) for row in rows]
    assert changes == sorted(changes, reverse=True)


def test_the_runs_differ_in_speculation_alone(story):
    differing = [row.fact for row in report(story, "compare_context") if row.verdict == "differs"]
    assert differing == ["speculative decoding"]


RATES = "0.867,0.667,0.467"
SUM = {"verify_ns": 12e6, "draft_ns": 1e6, "tokens_per_step": 3.0}


def of_three(story, calibrate=None, **given):
    """The prediction for K = 3 and one stream, from the story's run without drafts."""
    rows = predict(story[1], RUNS[0], calibrate, ks="3", concurrencies="1", **given).rows.records()
    return rows[-1]


def test_the_models_own_answer_is_below_the_plain_sum(story):
    """Four tokens touch 31 experts, not 8."""
    own, plain = of_three(story, acceptance=RATES), of_three(story, **SUM)
    assert own.tokens_per_step == pytest.approx(3.0, abs=0.01)
    assert own.verify_ns > 1.3 * plain.verify_ns
    assert 1 < own.speedup_low < own.speedup < 0.8 * plain.speedup


def test_a_draft_on_one_gpu_saves_its_all_reduces_alone(story):
    one, all_ = (of_three(story, acceptance=RATES, draft_tp=n) for n in (1, 8))
    rows = predict(story[1], RUNS[0], None, acceptance=RATES, draft_tp=8).inputs.records()
    (call,) = [row.value for row in rows if row.input == "draft_all_reduce_ns"]
    assert all_.draft_ns - one.draft_ns == pytest.approx(3 * 2 * call)
    assert all_.verify_ns == one.verify_ns
    assert 0 < one.speedup - all_.speedup < 0.1


@pytest.mark.parametrize(
    ("calibrate", "given"), [(None, {"acceptance": RATES}), (RUNS[1], {}), (None, SUM)]
)
def test_one_all_reduce_for_each_drafted_token_is_little_and_one_for_each_of_the_pass_is_all(
    story, calibrate, given
):
    plain = of_three(story, calibrate, **given)
    few, many = (of_three(story, calibrate, **given, all_reduces_per_draft=n) for n in (1, 127))
    assert few.speedup == pytest.approx(plain.speedup, rel=0.05)
    assert many.speedup < 0.6 * plain.speedup
