"""The story's pair of runs: what the comparison says of it is what the generator's truth says."""

import csv

import pytest
from generated import generate

import tracekit

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
