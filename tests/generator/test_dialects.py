"""Each dialect shows the hard case its name says."""

from collections import Counter, defaultdict

import pytest


def phases_of(run, name):
    """(phase, phase_source) of the activities whose name holds `name`, where they have a step."""
    rows = run.truth("activities")
    return {(r["phase"], r["phase_source"]) for r in rows if name in r["name"] and r["step"]}


def annotations(run):
    """Host annotations of the first rank in order of start: (start, end, name)."""
    events = run.traces()[0]["traceEvents"]
    spans = [
        (e["ts"], e["ts"] + e["dur"], e["name"])
        for e in events
        if e.get("cat") == "user_annotation"
    ]
    return sorted(spans)


def test_every_kernel_of_the_catalogue_occurs(runs):
    from_truth = {r["name"] for run in runs.values() for r in run.truth("activities")}
    catalogue = next(iter(runs.values())).catalogue()
    assert catalogue == from_truth


def test_no_name_has_two_classes(runs):
    classes = defaultdict(set)
    for run in runs.values():
        for row in run.truth("activities"):
            classes[row["name"]].add((row["category"], row["impl"]))
    assert {name for name, found in classes.items() if len(found) > 1} == set()


def test_files_are_named_as_the_engine_version_would(runs):
    stems = {
        name: sorted(p.name for p in (run.path / "traces").iterdir())[0]
        for name, run in runs.items()
    }
    assert stems["v2_eagle3"].startswith("dp0_pp0_tp0_dcp0_ep0_rank0.")
    assert stems["v1_new_cached"].split(".")[0].endswith("-rank-0")
    assert stems["v1_old_scopes_010"].startswith("synthetic-host_4101.")
    assert stems["sglang_eagle"].endswith("-TP-0.trace.json.gz")
    assert stems["sglang_decode_plain"].endswith("-TP-0-DECODE.trace.json.gz")


@pytest.mark.parametrize(
    ("dialect", "order"),
    [
        ("v1_old_scopes_010", "Sample Bookkeep Draft"),
        ("v1_old_scopes_011", "Sample Draft Bookkeep"),
    ],
)
def test_old_scopes_come_in_their_order(runs, dialect, order):
    names = [name for _, _, name in annotations(runs[dialect])]
    assert names[:6] == ["Preprocess", "Forward", "Postprocess", *order.split()]
    assert not any(name.startswith("execute_") for name in names)


def test_ngram_drafts_take_host_time_only(runs):
    run = runs["v1_ngram"]
    drafts = [r for r in run.truth("step_phases") if r["phase"] == "draft"]
    assert [r["n"] for r in drafts] == ["0"] * len(run.truth("steps"))
    assert {s["n_draft_tokens"] for s in run.truth("steps")} == {"0", "2", "3", "4", "5"}


def test_scope_decides_about_copies_and_else_they_are_other(runs):
    copy = "Memcpy DtoH"
    assert phases_of(runs["story_baseline"], copy) == {("other", "engine")}
    assert phases_of(runs["v1_old_scopes_010"], copy) == {("other", "engine"), ("draft", "engine")}
    assert phases_of(runs["v1_no_eagle_prepare"], copy) == {("other", "kernels")}
    early = phases_of(runs["v1_no_scopes_eagle"], copy)
    assert early == {("prepare", "span"), ("other", "kernels")}


def test_empty_steps_have_no_window_and_the_step_before_waits(runs):
    steps = [s for s in runs["v1_mixed_idle"].truth("steps") if s["rank"] == "0"]
    empty = {int(s["step"]) for s in steps if s["kind"] == "idle"}
    waiting = {int(s["step"]) for s in steps if int(s["wait_for_work_ns"] or 0)}
    assert empty == {3, 5, 6}
    assert waiting == {2, 4}
    assert {s["start_ns"] for s in steps if s["kind"] == "idle"} == {""}
    assert {s["kind"] for s in steps} == {"prefill", "mixed", "decode", "idle"}


def test_dummy_batches_are_idle_steps_of_forward_without_annotation(runs):
    run = runs["dp_dummy_batch"]
    dummies = {(s["dp"], s["step"]) for s in run.truth("steps") if s["kind"] == "idle"}
    assert dummies == {("1", "2"), ("1", "3"), ("0", "5")}
    phases = {r["phase"] for r in run.truth("step_phases") if (r["dp"], r["step"]) in dummies}
    assert phases == {"forward"}
    assert sum(name.startswith("execute_") for _, _, name in annotations(run)) == 5


def test_lost_launches_are_placed_only_between_neighbours_of_one_step(runs):
    rows = runs["v1_no_scopes_piecewise"].truth("activities")
    links = Counter((r["link"], bool(r["step"])) for r in rows)
    assert links["order", True] == 2
    assert links["none", False] > 2
    assert links["none", True] == links["launch", False] == 0


def test_step_cut_by_the_stop_of_profiling_is_not_complete(runs):
    steps = runs["v1_no_scopes_piecewise"].truth("steps")
    assert [s["step"] for s in steps if s["is_complete"] == "0"] == ["4", "4"]
    phases = runs["v1_no_scopes_piecewise"].truth("step_phases")
    assert {r["phase"] for r in phases if r["step"] == "4"} == {"prepare", "forward"}


def test_draft_tokens_are_unknown_only_where_drafts_are_checked_without_a_count(runs):
    for run in runs.values():
        for step in run.truth("steps"):
            assert step["is_verify"] == "1" or step["n_draft_tokens"] == "0"
    unknown = {n for n, r in runs.items() if "" in {s["n_draft_tokens"] for s in r.truth("steps")}}
    assert unknown == {
        "v1_old_scopes_010",
        "v1_old_scopes_011",
        "v1_new_cached",
        "v2_cuda_only",
        "sglang_eagle",
        "sglang_no_run_batch",
    }


def test_first_kernels_of_a_trace_were_launched_before_it(runs):
    for name in ("story_baseline", "v2_eagle3", "sglang_eagle"):
        first = runs[name].truth("activities")[0]
        assert (first["link"], first["step"], first["phase"]) == ("none", "", "other")


def test_output_copy_is_launched_before_post_update(runs):
    rows = runs["v2_copy_before_post_update"].truth("activities")
    rows = [r for r in rows if r["rank"] == "0" and r["step"] == "1"]
    order = [r["name"] for r in sorted(rows, key=lambda r: int(r["correlation"]))]
    copy = next(i for i, name in enumerate(order) if name.startswith("Memcpy DtoH"))
    assert copy < order.index("_post_update_kernel")
    assert phases_of(runs["v2_copy_before_post_update"], "_post_update") == {("sample", "kernels")}


def test_top_p_and_penalties_are_sampling(runs):
    for name in ("_topk_topp", "_penalties", "_temperature"):
        assert phases_of(runs["v2_top_p"], name) == {("sample", "kernels")}


def scope_names(run):
    return {name for _, _, name in annotations(run) if not name.startswith("execute_")}


def test_scopes_of_the_plugin_stand_alone_or_beside_vllms_own(runs):
    plugin = {f"tracekit: {scope}" for scope in ("forward", "logits", "sample", "draft")}
    assert scope_names(runs["v1_plugin"]) == plugin
    assert scope_names(runs["v2_plugin"]) == plugin
    both = scope_names(runs["v1_plugin_scopes"])
    assert both > plugin
    assert {name for name in both - plugin if not name.startswith("gpu_model_runner: ")} == set()


def sources(run):
    """For each phase what decided it, where it has activities."""
    found = defaultdict(set)
    for row in run.truth("activities"):
        if row["step"]:
            found[row["phase"]].add(row["phase_source"])
    return found


def test_the_span_decides_what_the_plugins_scopes_alone_leave(runs):
    for name in ("v1_plugin", "v1_plugin_ngram", "v2_plugin", "v2_plugin_eager"):
        found = sources(runs[name])
        assert found["prepare"] == found["other"] == {"span"}
        assert found["sample"] == {"plugin"}
        assert found["draft"] <= {"plugin"}


def test_the_gather_of_logits_is_where_the_scopes_leave_it(runs):
    gather = "index_elementwise_kernel"
    assert phases_of(runs["v1_plugin"], gather) == {
        ("forward", "span"),
        ("verify", "span"),
        ("prepare", "span"),
    }
    assert ("verify", "engine") in phases_of(runs["v1_plugin_scopes"], gather)
    assert phases_of(runs["v2_plugin"], gather) == {("sample", "plugin")}


def test_device_only_runs_hold_nothing_of_the_host(runs):
    def categories(name):
        return {e.get("cat") for trace in runs[name].traces() for e in trace["traceEvents"]}

    device = {"kernel", "gpu_memcpy", "gpu_memset", "Trace", "overhead", None}
    assert categories("v2_kernels_only") == device
    assert categories("v2_cuda_only") - device == {"cuda_runtime", "cuda_driver", "ac2g"}


def test_hip_has_no_graph_ids_and_tells_collectives_in_args_only(runs):
    events = [e for trace in runs["amd_hip"].traces() for e in trace["traceEvents"]]
    assert not any("graph id" in e.get("args", {}) for e in events)
    named = {
        (e["name"][:24], e["args"].get("Collective name"))
        for e in events
        if e.get("cat") == "kernel" and "Generic" in e["name"]
    }
    assert named == {("ncclDevKernel_Generic_4(", "allreduce"), ("ncclDevKernel_Generic_1(", None)}
