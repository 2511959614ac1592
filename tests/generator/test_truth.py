"""The truth beside every generated run agrees with itself and with the files."""

from collections import Counter, defaultdict

DEVICE = {"kernel", "gpu_memcpy", "gpu_memset"}


def number(text):
    return int(text or 0)


def key(row, *columns):
    return tuple(row[c] for c in ("dp", "rank", *columns))


def union(intervals):
    length, reach = 0, None
    for start, end in sorted(intervals):
        if reach is None or end > reach:
            length += end - (start if reach is None else max(start, reach))
            reach = end
    return length


def span(row):
    start = int(row["start_ns"])
    return start, start + int(row["dur_ns"])


def clip(intervals, start, end):
    return [(max(a, start), min(b, end)) for a, b in intervals if a < end and b > start]


def test_every_dialect_is_written(runs, names):
    assert set(runs) == set(names)


def test_parts_of_a_step_add_up_to_its_window(runs):
    for run in runs.values():
        for step in run.truth("steps"):
            parts = [number(step[c]) for c in ("busy_ns", "idle_ns", "wait_for_work_ns")]
            assert sum(parts) == number(step["dur_ns"])
            assert min(parts) >= 0


def test_steps_of_a_rank_follow_each_other_without_gap(runs):
    for run in runs.values():
        ends = {}
        for step in run.truth("steps"):
            if step["start_ns"]:
                start, end = span(step)
                assert ends.get(key(step), start) == start
                ends[key(step)] = end


def test_busy_time_is_the_union_clipped_to_the_window(runs):
    for run in runs.values():
        spans = defaultdict(list)
        for row in run.truth("activities"):
            spans[key(row)].append(span(row))
        for step in run.truth("steps")[:12]:
            if step["start_ns"]:
                clipped = clip(spans[key(step)], *span(step))
                assert union(clipped) == int(step["busy_ns"])


def test_breakdown_holds_every_placed_activity_once(runs):
    for run in runs.values():
        placed = Counter(
            key(row, "step", "phase", "category") for row in run.truth("activities") if row["step"]
        )
        rows = run.truth("step_breakdown")
        assert {key(r, "step", "phase", "category"): int(r["n"]) for r in rows} == placed


def test_breakdown_adds_up_to_the_phases(runs):
    for run in runs.values():
        sums = defaultdict(Counter)
        for row in run.truth("step_breakdown"):
            for column in ("n", "sum_ns"):
                sums[column][key(row, "step", "phase")] += int(row[column])
        for row in run.truth("step_phases"):
            assert int(row["n"]) == sums["n"][key(row, "step", "phase")]
            assert int(row["sum_ns"]) == sums["sum_ns"][key(row, "step", "phase")]


def test_exposed_and_overhanging_time_by_interval_arithmetic(runs):
    for run in runs.values():
        rows = run.truth("activities")
        rank = key(rows[-1])
        mine = [r for r in rows if key(r) == rank]
        windows = {r["step"]: span(r) for r in run.truth("steps") if key(r) == rank and r["dur_ns"]}
        last = max(windows, key=int)
        for part in run.truth("step_breakdown"):
            if key(part) != rank or part["step"] not in (last, "0"):
                continue
            own = [
                span(r)
                for r in mine
                if (r["step"], r["phase"], r["category"])
                == (part["step"], part["phase"], part["category"])
            ]
            reach = (min(a for a, _ in own), max(b for _, b in own))
            others = [span(r) for r in mine if r["category"] != part["category"]]
            others = clip(others, *reach)
            inside = union(clip(own, *windows[part["step"]]))
            assert int(part["busy_ns"]) == union(own)
            assert int(part["exposed_ns"]) == union(own + others) - union(others)
            assert int(part["overhang_ns"]) == union(own) - inside


def test_files_hold_exactly_the_activities_of_the_truth(runs):
    for run in runs.values():
        told = Counter(
            (r["start_ns"], r["dur_ns"], r["name"], r["stream"], r["correlation"])
            for r in run.truth("activities")
        )
        found = Counter()
        for trace in run.traces():
            base = trace["baseTimeNanoseconds"]
            for event in trace["traceEvents"]:
                if event.get("cat") in DEVICE:
                    start = base + int(event["ts"] * 1000)
                    args = event["args"]
                    place = str(args["stream"]), str(args["correlation"])
                    found[str(start), str(int(event["dur"] * 1000)), event["name"], *place] += 1
        assert found == told


def test_link_says_whether_the_launch_is_in_the_file(runs):
    for run in runs.values():
        calls = set()
        for trace in run.traces():
            info = trace["synthetic_rank"]
            for event in trace["traceEvents"]:
                if event.get("cat") in ("cuda_runtime", "cuda_driver"):
                    calls.add((info["dp"], info["rank"], event["args"]["correlation"]))
        for row in run.truth("activities"):
            linked = (int(row["dp"]), int(row["rank"]), int(row["correlation"])) in calls
            assert linked == (row["link"] == "launch")
            assert bool(row["step"]) or row["phase"] == "other"
