"""The view Step: what fills steps, and one of them in full."""

import pandas as pd
import pytest
from altair import Scale
from database import write_database
from samples import baseline

import tracekit
from tracekit import units
from tracekit.app import picking
from tracekit.app.charts import palette, steps, timeline


def report(db, name, **params):
    return tracekit.open(db).report(name, **params).df()


def test_the_picked_step_has_the_duration_of_the_report(view, db):
    page = view("step", run="vllm_cpu_tp2_draft", step=4)
    (row,) = tracekit.open(db).report("step_list", run="vllm_cpu_tp2_draft", step=4).records()
    shown = {metric.label: metric.value for metric in page.metric}
    assert shown["step 4"] == f"{units.ms(row.dur_ns)} ms"
    assert page.number_input(key=picking.STEP).value == 4


def test_a_step_is_picked_by_its_number_and_kept_in_the_address(view):
    page = view("step", run="vllm_cpu_tp2_draft", step=4)
    page.number_input(key=picking.STEP).set_value(5).run()
    assert not page.exception
    assert page.query_params["step"] in ("5", ["5"])
    assert "step 5" in [metric.label for metric in page.metric]


def test_the_address_restores_the_window_of_a_step_and_of_no_other(view, db):
    link = {"run": "vllm_cpu_tp2_draft", "window": "4:1.5:3"}
    page = view("step", step=4, **link)
    part = {"run": "vllm_cpu_tp2_draft", "step": 4, "from_ns": 1_500_000, "to_ns": 3_000_000}
    frame = report(db, "timeline", **part)
    assert timeline.told(frame) in [caption.value for caption in page.caption]
    assert page.slider[0].value == (1.5, 3.0)
    other = view("step", step=5, **link).slider[0]
    assert other.value == (other.min, other.max)


def test_a_window_is_kept_in_the_address_until_the_whole_step_is_asked_for(view):
    page = view("step", run="vllm_cpu_tp2_draft", step=4)
    page.slider[0].set_range(1.0, 2.0).run()
    assert page.query_params["window"] in ("4:1.0:2.0", ["4:1.0:2.0"])
    next(button for button in page.button if button.label == "Whole step").click().run()
    assert not page.exception
    assert "window" not in page.query_params


@pytest.mark.parametrize("window", ["4", "4:a:b", "4:3:2", "4:-1:2", "4:nan:nan", "4:9e9:9e10"])
def test_a_window_that_cannot_be_is_left_out(view, window):
    slider = view("step", run="vllm_cpu_tp2_draft", step=4, window=window).slider[0]
    assert slider.value == (slider.min, slider.max)


def test_a_step_without_activities_says_so_in_place_of_its_timeline(view):
    page = view("step", run="drafting")
    assert [message.value.replace("\\", "") for message in page.info] == [
        "No activity of this step is in the database."
    ]


def two_engines(con, run):
    """The run baseline, its second rank another engine."""
    baseline(con, run)
    for table in ("file", "step", "step_category", "step_phase", "activity"):
        con.execute(f"UPDATE {table} SET dp = 1 WHERE rank = 1")


def test_of_several_engines_the_step_shown_is_of_one_and_says_of_which(view, tmp_path):
    database = write_database(tmp_path / "engines.duckdb", two_engines)
    page = view("step", database)
    (name,) = [metric.label for metric in page.metric if metric.label.startswith("step")]
    assert name.endswith("of engine 0")
    assert "mean over 2 engines; what follows is of engine 0" in said(page.caption)
    page = view("step", database, dp=1)
    assert page.metric[0].label.endswith("of engine 1")
    assert "mean over 2 engines" not in said(page.caption)


def said(elements):
    return " ".join(element.value.replace("\\", "") for element in elements)


def test_bars_have_the_colour_of_their_category_and_close_to_the_step(db):
    frame = report(db, "step_profile", run="baseline")
    picture = steps.profile(frame, "category", 2, is_dark=False).to_dict()
    (rows,) = picture["datasets"].values()
    assert sum(row["ms"] for row in rows if row["first_step"] == 3) == 2.1
    legend = picture["encoding"]["color"]["scale"]
    assert legend["domain"][:2] == ["AllReduce", "GEMM"]
    assert legend["range"][0] == palette.groups(is_dark=False).range[0]


def test_bars_of_phases_have_the_colours_of_phases(db):
    frame = report(db, "step_profile", run="baseline")
    scale = steps.profile(frame, "phase", 2, is_dark=True).to_dict()["encoding"]["color"]["scale"]
    assert scale["domain"][:3] == ["forward", "sample", "other"]


def test_lanes_stand_in_the_order_of_ranks_with_the_main_stream_first():
    row = {"dp": 0, "n": 1, "start_ns": 0, "dur_ns": 10, "sum_ns": 10, "queued_ns": None}
    row |= {"name": "k", "category": "gemm", "impl": None, "phase": "forward", "op": None}
    lanes = [(1, 7, True), (0, 23, False), (0, 30, True)]
    frame = pd.DataFrame(
        [
            {**row, "rank": rank, "stream": stream, "is_main": is_main, "step": 2, "n_window": 3}
            for rank, stream, is_main in lanes
        ]
    )
    chart = timeline.lanes(frame, 2, (0.0, 1.0), is_dark=False).to_dict()
    assert chart["encoding"]["y"]["sort"] == [
        "rank 0, stream 30",
        "rank 0: stream 23",
        "rank 1, stream 7",
    ]
    assert timeline.told(frame).startswith("3 activities in this window, 3 of them one by one.")


def test_a_lane_has_its_pixels_whatever_the_legend_takes(db):
    frame = report(db, "timeline", run="baseline", step=2)
    chart = timeline.lanes(frame, 2, (0.0, 1.0), is_dark=False).to_dict()
    assert chart["height"] == timeline.LANE * 2
    assert chart["mark"]["height"] < timeline.LANE


def test_what_is_not_looked_at_is_dimmed(db):
    frame = report(db, "timeline", run="baseline", step=2)
    chart = timeline.lanes(frame, 2, (0.0, 1.0), is_dark=False, category="moe_gemm").to_dict()
    (rows,) = chart["datasets"].values()
    assert {row["class"]: row["opacity"] for row in rows} == {
        "all_reduce custom_1stage": timeline.DIM,
        "moe_gemm marlin_moe": timeline.FULL,
    }


def test_a_legend_has_what_the_chart_shows_in_the_fixed_order():
    scale = Scale(domain=["a", "b", "c"], range=["#1", "#2", "#3"])
    assert palette.present(scale, ["c", "a"]).domain == ["a", "c"]


def test_kernels_are_a_tab_that_a_link_opens(view, db):
    page = view("step", run="baseline", step=2, shown="Kernels")
    kernels = report(db, "breakdown", run="baseline", step=2, by="kernel")
    work = kernels[kernels["row_kind"] == "work"]
    assert list(page.dataframe[0].value["name"]) == list(work["name"])
    assert not page.slider
    lanes = view("step", run="baseline", step=2)
    assert lanes.slider
    assert not lanes.dataframe
    wrong = view("step", run="baseline", step=2, shown="nothing")
    assert wrong.slider
    assert "Tab nothing: there is none here" in said(wrong.warning)
