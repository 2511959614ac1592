"""The story's pair of runs has the figures the story tells."""

import csv
from collections import Counter

import pytest


def mean(values):
    values = list(values)
    return sum(values) / len(values)


def step_ms(run):
    return mean(int(s["dur_ns"]) for s in run.truth("steps")) / 1e6


def test_target_pass_has_127_all_reduces_and_124_marlin_launches(stories):
    for name, phase in (("story_baseline", "forward"), ("story_eagle3", "verify")):
        counts = Counter()
        for row in stories[name].truth("step_breakdown"):
            if row["phase"] == phase:
                counts[row["category"], int(row["n"])] += 1
        steps = len(stories[name].truth("steps"))
        assert counts["all_reduce", 127] == steps
        assert counts["moe_gemm", 124] == steps


def test_all_reduce_takes_its_share_of_busy_time(stories):
    run = stories["story_baseline"]
    reduce_ns = sum(
        int(r["busy_ns"]) for r in run.truth("step_breakdown") if r["category"] == "all_reduce"
    )
    share = reduce_ns / sum(int(s["busy_ns"]) for s in run.truth("steps"))
    assert share == pytest.approx(0.515, abs=0.003)


def test_steps_take_the_story_s_time(stories):
    assert step_ms(stories["story_baseline"]) == pytest.approx(12.1, abs=0.2)
    assert step_ms(stories["story_eagle3"]) == pytest.approx(16.2, abs=0.4)


def test_draft_has_three_passes_with_two_all_reduces_each(stories):
    rows = stories["story_eagle3"].truth("step_breakdown")
    counts = {int(r["n"]) for r in rows if (r["phase"], r["category"]) == ("draft", "all_reduce")}
    assert counts == {6}


def test_acceptance_is_the_story_s(stories):
    total, *positions = stories["story_eagle3"].truth("spec")
    assert int(total["accepted"]) / int(total["draft_tokens"]) == pytest.approx(0.67, abs=0.02)
    survival = [int(p["accepted"]) / int(p["drafts"]) for p in positions]
    assert survival == pytest.approx([0.87, 0.68, 0.47], abs=0.03)


def test_counters_differ_by_the_accepted_drafts(stories):
    run = stories["story_eagle3"]
    before, after = (
        dict(
            line.rsplit(" ", 1)
            for line in (run.path / "metrics" / f"{moment}.prom").read_text().splitlines()
            if not line.startswith("#")
        )
        for moment in ("before", "after")
    )
    gained = [float(after[k]) - float(before[k]) for k in after]
    total, *positions = run.truth("spec")
    told = [total["drafts"], total["draft_tokens"], total["accepted"]]
    assert gained == [float(x) for x in told + [p["accepted"] for p in positions]]


def test_host_of_the_next_step_starts_before_the_device_has_finished(stories):
    run = stories["story_baseline"]
    trace = run.traces()[0]
    base = trace["baseTimeNanoseconds"]
    hosts = sorted(
        base + int(e["ts"] * 1000)
        for e in trace["traceEvents"]
        if e.get("cat") == "user_annotation" and e["name"].startswith("execute_")
    )
    starts = [int(s["start_ns"]) for s in run.truth("steps") if s["rank"] == "0"]
    ends = [*starts[1:]]
    assert all(host < end for host, end in zip(hosts[1:], ends, strict=True))


def test_slowest_card_waits_least(stories):
    waiting = Counter()
    for row in stories["story_baseline"].truth("step_breakdown"):
        if row["category"] == "all_reduce":
            waiting[row["rank"]] += int(row["sum_ns"])
    assert min(waiting, key=waiting.get) == "5"


def test_same_seed_same_bytes_and_another_seed_others(tmp_path, generate):
    arguments = ("--dialect", "v2_eagle3", "--steps", "3")
    for out, seed in (("a", "7"), ("b", "7"), ("c", "8")):
        generate(tmp_path / out, *arguments, "--seed", seed)

    def contents(out):
        files = sorted((tmp_path / out).rglob("*.*"))
        return {str(f.relative_to(tmp_path / out)): f.read_bytes() for f in files}

    assert contents("a") == contents("b")
    assert contents("a") != contents("c")


def test_truth_is_integers_and_names_only(runs):
    for run in runs.values():
        for path in (run.path / "truth").iterdir():
            with path.open() as file:
                header, *rows = csv.reader(file)
            for row in rows[:200]:
                for column, cell in zip(header, row, strict=True):
                    if column.endswith("_ns") or column in ("n", "rank", "step"):
                        assert cell == "" or cell.lstrip("-").isdigit()
