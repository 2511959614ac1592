"""Data quality: every event is accounted for, in the numbers of the reports."""

import tracekit


def test_the_ledger_of_each_file(view, db):
    page = view("quality", run="baseline")
    ledger = page.dataframe[-1].value
    assert ledger["events"].tolist() == [100, 100]
    assert ledger["lost"].tolist() == [0, 2]
    found = tracekit.open(db).report("ledger", run="baseline").records()
    assert ledger["not_needed"].tolist() == [row.not_needed for row in found]


def test_what_was_lost_is_named(view):
    page = view("quality", run="baseline")
    assert page.dataframe[0].value["reason"].tolist() == ["negative duration"]


def test_what_is_in_order_is_said(view):
    page = view("quality", run="drafting")
    assert "none is doubted" in page.success[0].value


def test_only_a_device_is_said_to_have_launches(view):
    said = "".join(text.value for text in view("quality", run="vllm_cpu_tp2_draft").markdown)
    assert "A CPU has no launches" in said
    assert "its launch in the trace" not in said
    said = "".join(text.value for text in view("quality", run="drafting").markdown)
    assert "its launch in the trace" in said
