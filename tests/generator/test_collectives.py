"""The truth about collectives agrees with the activities, the clocks and what the dialect says."""

import re
from collections import Counter, defaultdict

import pytest

COLLECTIVES = {"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "collective_other"}
TAILS = ("rmsNormLamport", "local_device_load_rmsnorm")


def calls_of(run):
    """Rows of each matched call."""
    calls = defaultdict(list)
    for row in run.truth("collectives"):
        if row["match"] != "none":
            calls[row["collective"]].append(row)
    return calls


def clocks_of(run):
    return {(r["dp"], r["rank"]): int(r["offset_ns"]) for r in run.truth("clocks")}


def start(row):
    return int(row["start_ns"])


def end(row):
    return start(row) + int(row["dur_ns"])


@pytest.fixture(scope="module")
def with_collectives(runs):
    return {n: run for n, run in runs.items() if (run.path / "truth" / "collectives.csv").exists()}


def test_every_collective_activity_belongs_to_one_call(with_collectives):
    for run in with_collectives.values():
        told = Counter(key(row) for row in run.truth("collectives"))
        emitted = Counter(
            key(row)
            for row in run.truth("activities")
            if row["category"] in COLLECTIVES and not any(t in row["name"] for t in TAILS)
        )
        assert told == emitted


def key(row):
    return row["dp"], row["rank"], row["start_ns"], row["name"], row["step"], row["phase"]


def test_waiting_ends_when_the_last_rank_starts_on_corrected_clocks(with_collectives):
    for run in with_collectives.values():
        clocks = clocks_of(run)
        for call in calls_of(run).values():
            starts = [start(r) + clocks[r["dp"], r["rank"]] for r in call]
            assert [int(r["wait_ns"]) for r in call] == [max(starts) - s for s in starts]
            assert [r["is_last"] == "1" for r in call] == [s == max(starts) for s in starts]


def test_transfer_is_the_shortest_duration(with_collectives):
    for run in with_collectives.values():
        for call in calls_of(run).values():
            assert {int(r["transfer_ns"]) for r in call} == {min(int(r["dur_ns"]) for r in call)}
            assert {r["group_size"] for r in call} == {str(len(call))}


def early(run, clocks):
    """Calls that a rank ends before another starts, by these clocks."""
    found = 0
    for call in calls_of(run).values():
        ends = [end(r) + clocks[r["dp"], r["rank"]] for r in call]
        starts = [start(r) + clocks[r["dp"], r["rank"]] for r in call]
        found += min(ends) <= max(starts)
    return found


def test_no_rank_ends_before_the_last_has_started_on_corrected_clocks(with_collectives):
    for run in with_collectives.values():
        assert early(run, clocks_of(run)) == 0


def test_clocks_that_differ_show_in_the_traces(with_collectives):
    shifted = {
        name
        for name, run in with_collectives.items()
        if early(run, dict.fromkeys(clocks_of(run), 0)) > 10
    }
    assert shifted == {"ranks8_clock_offsets", "ranks8_two_hosts"}


@pytest.mark.parametrize("dialect", ["ranks8_common_clock", "ranks8_clock_offsets"])
def test_stragglers_come_last_in_their_steps(runs, dialect):
    run = runs[dialect]
    last = defaultdict(list)
    for row in run.truth("collectives"):
        if row["is_last"] == "1" and row["category"] == "all_reduce":
            last[row["step"]].append(row["rank"])
    for straggler in run.truth("stragglers"):
        ranks = last[straggler["step"]]
        if straggler["side"] == "host":
            assert ranks[0] == straggler["rank"]  # one launch for the whole graph
        else:
            assert ranks.count(straggler["rank"]) > len(ranks) / 2


def test_a_trace_that_lacks_calls_leaves_them_unmatched(runs):
    unmatched = defaultdict(set)
    for row in runs["unequal_counts"].truth("collectives"):
        if row["match"] == "none":
            assert row["wait_ns"] == row["transfer_ns"] == row["is_last"] == ""
            unmatched[row["collective"]].add((row["step"], row["rank"]))
    lacking = {
        next(iter({step for step, _ in rows})): {str(r) for r in range(8)} - {r for _, r in rows}
        for rows in unmatched.values()
    }
    assert lacking == {"": {"7"}, "0": {"7"}, "3": {"2"}, "5": {"1"}}


def test_a_size_has_a_source(with_collectives):
    for run in with_collectives.values():
        for row in run.truth("collectives"):
            assert bool(row["bytes_source"]) == (int(row["bytes"] or 0) > 0)


def test_zoo_tells_sizes_by_args_and_shapes(runs):
    sources = {
        (row["impl"], row["bytes_source"]) for row in runs["collectives_zoo"].truth("collectives")
    }
    assert sources > {("nccl", "args"), ("nccl", "shapes"), ("nccl", ""), ("deepep", "")}
    fused = {
        row["impl"]
        for name in ("collectives_zoo", "collectives_zoo_rocm")
        for row in runs[name].truth("collectives")
        if row["is_fused"] == "1"
    }
    assert fused == {"flashinfer_oneshot_fused", "mnnvl", "aiter"}


def test_halves_of_the_ranks_make_calls_of_their_own(runs):
    halves = {
        tuple(row["rank"] for row in call)
        for call in calls_of(runs["collectives_zoo"]).values()
        if call[0]["group_size"] == "4"
    }
    assert halves == {("0", "1", "2", "3"), ("4", "5", "6", "7")}


def test_drafts_have_collectives_of_their_own(runs):
    found = {
        (row["phase"], row["category"])
        for row in runs["draft_collectives"].truth("collectives")
        if row["step"]
    }
    kinds = ("all_reduce", "all_gather")
    assert found == {(phase, kind) for phase in ("verify", "draft") for kind in kinds}


def test_implementation_changes_with_the_size_of_the_message(runs):
    sizes = defaultdict(set)
    for row in runs["bytes_from_model"].truth("collectives"):
        if row["bytes_source"] == "model":
            sizes[row["impl"]].add(int(row["bytes"]))
    assert sizes == {
        "custom_1stage": {14336 * tokens for tokens in (1, 2, 4, 8, 16)},
        "nccl": {14336 * 256},
    }


def calls_logged(run, rank):
    """(collective, count) of the COLL lines of a rank's log, in order."""
    (path,) = (run.path / "logs").glob(f"nccl.synthetic-host.{4101 + rank}.log")
    pattern = re.compile(r" NCCL INFO (\w+): opCount 0 .* count (\d+) datatype 9 ")
    found = map(pattern.search, path.read_text().splitlines())
    return [(m[1], int(m[2])) for m in found if m]


def test_logs_end_with_the_eager_calls_of_the_trace(runs):
    run = runs["nccl_log_graphs"]
    eager = [
        ("AllReduce", int(row["bytes"]) // 2)
        if row["category"] == "all_reduce"
        else ("AllGather", int(row["bytes"]) // 16)
        for row in run.truth("collectives")
        if row["rank"] == "3" and row["match"] == "order"
    ]
    assert len(eager) > 10
    assert calls_logged(run, 3)[-len(eager) :] == eager


def test_logs_hold_two_passes_of_every_captured_size_largest_first(runs):
    calls = calls_logged(runs["nccl_log_graphs"], 0)
    sizes = [2048, 8, 8, 4, 4, 2, 2, 1, 1]
    assert calls[: 7 * 9] == [("AllReduce", 7168 * size) for size in sizes for _ in range(7)]


def test_only_the_first_rank_logs_what_it_chose(runs):
    run = runs["nccl_log_graphs"]
    logs = sorted((run.path / "logs").iterdir())
    chosen = [path.read_text().count("channel{Lo..Hi}") for path in logs]
    assert chosen == [len(calls_logged(run, 0)), *[0] * 7]


def test_sizes_with_equal_channels_are_not_told_apart_without_annotations(runs):
    rows = runs["nccl_log_no_annotation"].truth("collectives")
    in_graphs = {(r["step"], r["bytes"]) for r in rows if r["match"] == "template"}
    assert in_graphs == {(str(s), "14336" if s % 3 == 2 else "") for s in range(6)}


def test_a_batch_is_padded_to_the_next_captured_size(runs):
    run = runs["nccl_log_graphs"]
    tokens = {s["step"]: int(s["n_decode_tokens"]) for s in run.truth("steps")}
    sizes = {
        (tokens[row["step"]], int(row["bytes"]) // 14336)
        for row in run.truth("collectives")
        if row["match"] == "template"
    }
    assert sizes == {(1, 1), (2, 2), (3, 4), (4, 4), (8, 8)}


@pytest.mark.parametrize("ranks", [1, 2])
def test_dialects_of_eight_ranks_can_be_made_of_fewer(tmp_path, generate, names, ranks):
    eight = names[names.index("ranks8_common_clock") :]
    generate(tmp_path, *(f"--dialect={n}" for n in eight), f"--ranks={ranks}", "--steps=2")
    for name in eight:
        assert len(list((tmp_path / name / "traces").iterdir())) == ranks
