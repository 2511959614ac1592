"""The first page: what a new user looks for is on it, in the numbers of the reports."""

import pytest

import tracekit
from tracekit import units


def text(page):
    """The page's sentences, without the signs that keep names from being Markdown."""
    said = "\n".join(found.value for found in page.markdown)
    return said.replace("\\", "").replace("\u00a0", " ")


def test_all_reduce_share_and_the_slowest_rank_are_told(view, db):
    page = view(run="vllm_cpu_tp2_draft")
    (row,) = tracekit.open(db).report("breakdown_headline", run="vllm_cpu_tp2_draft").records()
    share = units.percent(row.all_reduce_share_of_step)
    assert f"AllReduce is {share} % of a decode step" in text(page)
    ranks = tracekit.open(db).report("comm_ranks", run="vllm_cpu_tp2_draft").records()
    assert f"of the waiting is for rank {ranks[0].rank}" in text(page)
    assert f"{share} %" in [metric.value for metric in page.metric]


def test_whether_drafts_pay_is_told_by_a_run_of_the_same_model(view):
    for run in ("vllm_cpu_tp2_draft", "vllm_cpu_tp2_baseline"):
        shown = text(view(run=run))
        assert "vllm_cpu_tp2_draft is" in shown
        assert "only a run without drafts" not in shown


def test_every_run_is_in_the_table(view, db):
    frame = view().dataframe[0].value
    assert list(frame["run"]) == tracekit.open(db).runs()
    (row,) = tracekit.open(db).report("run_headline", run="baseline").records()
    of_run = frame[frame["run"] == "baseline"].iloc[0]
    assert of_run["ns_per_token"] == pytest.approx(row.ns_per_token / 1e6, abs=1e-3)
    assert of_run["all_reduce_share_of_step"] == pytest.approx(
        100 * row.all_reduce_share_of_step, abs=1e-2
    )
