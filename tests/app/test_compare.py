"""The view Compare: which of two runs is faster, and why."""

import json
from functools import partial
from itertools import pairwise

import pytest
from comparing import add_run
from database import write_database
from samples import baseline

import tracekit
from tracekit.app.charts import waterfall

DRAFT, BASELINE = "vllm_cpu_tp2_draft", "vllm_cpu_tp2_baseline"
SIDES = {"base": BASELINE, "other": DRAFT}


def said(page):
    kinds = (page.markdown, page.info, page.error, page.warning)
    return " ".join(text.value for kind in kinds for text in kind)


def metrics(page):
    return {metric.label: metric.value for metric in page.metric}


def main_row(db):
    rows = tracekit.open(db).report("compare_headline", **SIDES).records()
    return next(row for row in rows if row.is_main)


def test_the_speed_up_is_that_of_the_report(view, db):
    page = view("compare", run=BASELINE, other=DRAFT)
    assert metrics(page)["speed\\-up"] == f"{main_row(db).speedup:.2f} x"
    assert "fewer than 8 steps on a side" in said(page)


def test_bars_have_their_pixels_however_few_they_are(db):
    rows = tracekit.open(db).report("compare_waterfall", **SIDES).records()
    chart = waterfall.bars(rows, main_row(db), ("a", "b"), is_dark=False).to_dict()
    assert chart["height"] == waterfall.ROW * len(rows)


def test_the_run_without_drafts_is_the_base_either_way(view, db):
    page = view("compare", run=DRAFT, other=BASELINE)
    assert metrics(page)["speed\\-up"] == f"{main_row(db).speedup:.2f} x"


def test_the_address_restores_the_batch_size(view):
    page = view("compare", run=BASELINE, other=DRAFT, batch=2)
    assert page.radio(key="compare_batch").value == "2"


def test_without_another_run_it_says_what_to_choose(view):
    assert "Choose a second run" in said(view("compare", run=BASELINE))


def test_a_single_run_has_none_to_compare_with(view, tmp_path):
    page = view("compare", database=write_database(tmp_path / "one.duckdb", baseline))
    assert "only run here" in said(page)
    assert page.text[0].value.startswith("tracekit capture")


def test_runs_of_different_models_are_refused(view):
    page = view("compare", run="baseline", other=DRAFT)
    assert "Not comparable" in page.error[0].value
    assert not page.metric


def test_bars_meet_and_close_to_the_other_run(db):
    rows = tracekit.open(db).report("compare_waterfall", **SIDES).records()
    picture = waterfall.bars(rows, main_row(db), (BASELINE, DRAFT), is_dark=False)
    drawn = max(json.loads(picture.to_json())["datasets"].values(), key=len)
    assert len(drawn) == len(rows)
    assert all(bar.to_ns == following.from_ns for bar, following in pairwise(rows[:-1]))
    assert rows[-1].to_ns == rows[-2].to_ns
    assert {bar["what"] for bar in drawn} == {waterfall.WHOLE, waterfall.LONGER, waterfall.SAVED}


REPEATS = {"a1": 1000, "a2": 1010, "b1": 900, "b2": 905}
"""Runs by name, and the time of their steps in us."""


@pytest.fixture(scope="module")
def repeated(tmp_path_factory):
    """Two settings with two runs each."""
    fills = []
    for name, time in REPEATS.items():
        fill = partial(add_run, times=[time, time + 2] * 10)
        fill.__name__ = name
        fills.append(fill)
    return write_database(tmp_path_factory.mktemp("repeats") / "runs.duckdb", *fills)


def test_repeats_from_a_link_are_compared_as_the_command_line_does(view, repeated):
    link = {"run": "a1", "other": "b1", "base_repeats": "a2", "other_repeats": "b2,gone"}
    page = view("compare", database=repeated, **link)
    sides = {"base": ["a1", "a2"], "other": ["b1", "b2"]}
    (row,) = tracekit.open(repeated).report("compare_headline", **sides).records()
    assert row.unit == "run"
    assert metrics(page)["speed\\-up"] == f"{row.speedup:.2f} x"
    assert "2 runs each; a run is one sample" in said(page).replace("\\", "")
    assert page.subheader[0].value.replace("\\", "") == "other (2 runs) against base (2 runs)"


def test_a_repeat_that_is_chosen_is_on_one_side_and_in_the_address(view, repeated):
    page = view("compare", database=repeated, run="a1", other="b1")
    assert page.multiselect(key="base_repeats").options == ["a2", "b2"]
    page.multiselect(key="base_repeats").select("a2").run()
    assert not page.exception
    assert page.query_params["base_repeats"] in ("a2", ["a2"])
    assert page.multiselect(key="other_repeats").options == ["b2"]


def test_a_run_with_a_comma_in_its_name_can_be_a_repeat(view, tmp_path):
    fills = [partial(add_run, times=[time, time + 2] * 10) for time in (20, 21, 15)]
    for fill, name in zip(fills, ("a1", "a, 50 %", "b1"), strict=True):
        fill.__name__ = name
    database = write_database(tmp_path / "runs.duckdb", *fills)
    page = view("compare", database=database, run="a1", other="b1")
    page.multiselect(key="base_repeats").select("a, 50 %").run()
    assert not page.exception
    written = "a%2C 50 %25"
    assert page.query_params["base_repeats"] in (written, [written])
    again = view("compare", database=database, run="a1", other="b1", base_repeats=written)
    assert again.multiselect(key="base_repeats").value == ["a, 50 %"]


def test_where_no_kernel_changes_it_is_said_without_a_table(view, tmp_path):
    fills = [partial(add_run, times=[20, 22] * 10) for _ in range(2)]
    for fill, name in zip(fills, ("a1", "b1"), strict=True):
        fill.__name__ = name
    database = write_database(tmp_path / "runs.duckdb", *fills)
    page = view("compare", database=database, run="a1", other="b1")
    assert "changes by 1\u00a0% or more." in said(page).replace("\\", "")
    assert not [table for table in page.dataframe if "change" in table.value]
