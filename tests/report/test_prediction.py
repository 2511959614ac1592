"""The part of a report that predicts: the numbers of whatif, and nothing where none can be."""

import pytest
from comparing import add_run, add_work
from database import add, us, write_database
from samples import baseline

import tracekit
from tracekit import report, units
from tracekit.report.prediction import TITLE
from tracekit.whatif import predict

STEPS = [10_000, 10_100, 9_900, 10_050, 9_950] * 2


def plain(con, run):
    add_run(con, run, STEPS)
    for step in range(10):
        add_work(con, run, step, "forward", gemm=6_000, all_reduce=3_000)


def drafted(con, run):
    """Drafts of two tokens of which its log tells the acceptance, and no more."""
    add_run(con, run, [1.3 * time for time in STEPS], None, num_speculative_tokens=2)
    for step in range(10):
        add_work(con, run, step, "verify", gemm=6_500, all_reduce=3_500)
        add_work(con, run, step, "draft", gemm=1_000)
    row = {"acceptance_rate": 0.5, "mean_acceptance_length": 2.0, "n_running": 1}
    add(con, "spec_sample", run, engine="sglang", **row)


def elsewhere(con, run):
    add_run(con, run, STEPS, gpu="A100")
    add_work(con, run, 0, "forward", gemm=6_000)


def unphased(con, run):
    """No phase is told, so none is the target's pass."""
    add_run(con, run, STEPS)
    add_work(con, run, 0, "other", gemm=6_000)


def prefill(con, run):
    """A run without a decode step."""
    add(con, "run", run)
    times = {"dur_ns": us(100), "busy_ns": us(90), "idle_ns": us(10), "start_ns": 0}
    add(con, "step", run, rank=0, step=0, kind="prefill", **times)


def instant(con, run):
    """Steps that take no time at all."""
    add_run(con, run, [100] * 8)
    con.execute("UPDATE step SET dur_ns = 0, busy_ns = 0, idle_ns = 0 WHERE run = ?", [run])


def empty(con, run):
    """A run without any step, whose counters were spoilt."""
    add(con, "run", run)
    add(con, "file", run, file_id=0, kind="metrics", path="metrics_after.prom")
    reason = "counters of drafts are no finite numbers"
    add(con, "ledger", run, file_id=0, reason=reason, skipped=1, is_loss=True)


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    path = tmp_path_factory.mktemp("db") / "runs.duckdb"
    write_database(path, baseline, plain, drafted, elsewhere, prefill, empty, unphased, instant)
    with tracekit.open(path).batch() as opened:
        yield opened


def predicted(document):
    return [section for section in document.sections if section.title.endswith(TITLE)]


def test_it_holds_the_numbers_of_whatif_and_what_they_stand_on(database):
    (section,) = predicted(report.compare(database, "plain", "drafted"))
    by_k, by_load, inputs = section.tables
    rows = predict(database, "plain", "drafted").rows.records()
    place = [heading.title for heading in by_k.headings].index("ms per token")
    assert [row[place] for row in by_k.rows] == [
        units.ms(row.ns_per_token) for row in rows if row.is_own
    ]
    assert len(by_load.rows) == 4
    assert {row[2] for row in inputs.rows} == {"measured"}
    answer, known, _ = section.words
    assert answer.startswith("K=")
    assert "Measured: step without drafts; step with drafts" in known
    assert len(section.charts[0].shapes) == 9


def test_of_a_run_without_drafts_it_says_what_is_assumed(database):
    (section,) = predicted(report.make(database, "plain"))
    assert "with acceptance and draft time assumed: " in section.words[0]
    assert section.words[1].startswith("Assumed: draft, a token; ")
    assert "acceptance" in section.words[1]


@pytest.mark.parametrize("run", ["prefill", "empty", "unphased", "instant"])
def test_without_a_pass_to_start_from_there_is_none(database, run):
    document = report.make(database, run)
    assert predicted(document) == []
    assert report.html(document)
    assert report.markdown(document)


def test_runs_that_cannot_be_compared_calibrate_nothing(database):
    document = report.compare(database, "elsewhere", "drafted")
    assert [section.title for section in predicted(document)] == [
        f"elsewhere: {TITLE}",
        f"drafted: {TITLE}",
    ]


def test_drafts_that_a_log_tells_in_part_are_told_as_far_as_known(database):
    document = report.make(database, "drafted")
    (drafts,) = [section for section in document.sections if section.title == "Drafts"]
    assert drafts.words == (
        "Acceptance is by the server's log, rounded: 2.00 a draft with the bonus token, those "
        "that max_tokens cuts off included.",
    )
    assert "50.0 % of draft tokens were accepted." in report.markdown(document).replace("\\", "")
