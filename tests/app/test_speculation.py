"""The view Speculation: what drafts cost and give, and what other drafts would."""

import json

import pytest
from database import write_database
from samples import eagle3

import tracekit
from tracekit import units
from tracekit.app import parts
from tracekit.app.charts import speculation
from tracekit.cli import whatif_page
from tracekit.cli.headline import profiling
from tracekit.whatif import told

DRAFT, BASELINE = "vllm_cpu_tp2_draft", "vllm_cpu_tp2_baseline"


def report(db, name, **params):
    return tracekit.open(db).report(name, **params)


def predicted(db, run, **given):
    inputs = report(db, "whatif_inputs", run=run, **given).records()
    return report(db, "whatif", inputs=told(inputs)).records()


def metrics(page):
    return {metric.label: metric.value for metric in page.metric}


def said(page):
    return " ".join(text.value for kind in (page.markdown, page.info) for text in kind)


def test_the_acceptance_and_the_cut_tokens_are_those_of_the_report(view, db):
    page = view("speculation", run=DRAFT)
    (total,) = report(db, "spec_totals", run=DRAFT).records()
    assert metrics(page)["accepted"] == f"{units.percent(total.acceptance_rate)} %"
    assert f"{total.n_cut:,} cut by max" in said(page)


def test_the_prediction_is_that_of_the_report(view, db):
    page = view("speculation", run=DRAFT, k=2)
    row = next(row for row in predicted(db, DRAFT) if row.is_own and row.k == 2)
    assert metrics(page)["speed\\-up\\, K\\=2"] == f"{row.speedup:.2f} x"
    assert metrics(page)["tokens\\/s"] == f"{row.tokens_per_s:,.0f}"


def test_the_address_restores_the_sliders(view, db):
    page = view("speculation", run=DRAFT, k=5, acceptance=0.85, draft_ms=1.25, requests=16)
    sliders = {slider.key: slider.value for slider in page.select_slider}
    assert sliders == {
        "suppose_k": 5,
        "suppose_acceptance": 0.85,
        "suppose_draft_ms": 1.25,
        "suppose_requests": 16,
    }
    given = predicted(db, DRAFT, acceptance="0.85", draft_ns=1.25e6)
    there = [row for row in given if row.concurrency == 16]
    assert parts.escaped(whatif_page.answer(there)) in said(page)
    row = next(row for row in there if row.k == 5)
    assert metrics(page)["tokens\\/s"] == f"{row.tokens_per_s:,.0f}"


def test_a_slider_is_kept_in_the_address_until_all_are_reset(view):
    page = view("speculation", run=DRAFT)
    page.select_slider(key="suppose_acceptance").set_value(0.9).run()
    assert page.query_params["acceptance"] == "0.9"
    page.button(key="suppose_nothing").click().run()
    assert not page.exception
    assert "acceptance" not in page.query_params
    assert page.select_slider(key="suppose_acceptance").value is None


@pytest.mark.parametrize("asked", [{"k": 99}, {"acceptance": "nan"}, {"draft_ms": "x"}])
def test_an_address_that_cannot_be_is_left_out(view, asked):
    page = view("speculation", run=DRAFT, **asked)
    assert page.select_slider(key=f"suppose_{next(iter(asked))}").value != next(
        iter(asked.values())
    )


def test_a_run_without_drafts_says_so_and_shows_the_prediction(view):
    page = view("speculation", run=BASELINE)
    assert "no step that checks drafts" in said(page)
    assert "suppose_k" in [slider.key for slider in page.select_slider]


def test_what_the_profiler_costs_is_told_in_the_words_of_the_command_line(view, tmp_path):
    path = write_database(tmp_path / "runs.duckdb", eagle3)
    page = view("speculation", database=path, run="eagle3")
    cost = report(path, "profiling_cost", run="eagle3").records()
    told = [parts.escaped(words) for words in profiling(cost, parts.WIDE)]
    captions = [caption.value for caption in page.caption]
    assert [words for words in told if words in captions] == told != []
    assert any("of the 2 steps traced" in words for words in captions)


def test_a_run_that_allows_no_prediction_says_why(view):
    page = view("speculation", run="drafting")
    assert page.info or page.select_slider


def test_phases_add_up_to_the_step(db):
    frame = report(db, "spec_phases", run=DRAFT).df()
    spec = json.loads(speculation.phases(frame, is_dark=False).to_json())
    drawn = max(spec["datasets"].values(), key=len)
    step = frame.loc[frame["row_kind"] == "step", "busy_ns"].iloc[0] / 1e6
    assert sum(r["ms"] for r in drawn if r["of"] == speculation.STEP) == pytest.approx(step, 1e-3)
