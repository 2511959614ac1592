"""Reports of two runs: the comparison's numbers, and both runs."""

import pytest
from click.testing import CliRunner
from database import write_database
from samples import baseline, drafting, eagle3

import tracekit
from tracekit import report, units
from tracekit.cli import main


@pytest.fixture(scope="module")
def db(tmp_path_factory):
    path = tmp_path_factory.mktemp("db") / "runs.duckdb"
    return write_database(path, baseline, drafting, eagle3)


@pytest.fixture(scope="module")
def document(db):
    with tracekit.open(db).batch() as database:
        return report.compare(database, "baseline", "drafting")


def test_changes_are_those_of_the_waterfall_and_end_at_the_other_run(db, document):
    (table,) = [t for s in document.sections for t in s.tables if t.caption == "What changes"]
    titles = [heading.title for heading in table.headings]
    change = titles.index("change, ms of a token")
    rows = tracekit.open(db).report(
        "compare_waterfall", base=["baseline"], other=["drafting"], fold=0.01
    )
    expected = [units.ms(row.change_ns) for row in rows.records()]
    assert [row[change].removeprefix("+") for row in table.rows] == expected
    assert table.totals == (0, len(table.rows) - 1)
    passes = table.rows[1]
    assert passes[:3] == ("fewer passes", "", "")
    assert passes[titles.index("why")] == "1.00 -> 2.25 tokens of a step"


def test_bars_of_the_waterfall_begin_where_the_one_before_ended(document):
    (chart,) = [c for s in document.sections for c in s.charts if c.title == "Why they differ"]
    base, tokens = chart.shapes[:2]
    assert base.x + base.width == pytest.approx(tokens.x + tokens.width, abs=1)


def test_both_runs_are_told_by_name(document):
    titles = [finding.title for finding in document.findings]
    assert "drafting" in titles[0]
    assert any(title.startswith("baseline: AllReduce") for title in titles)
    assert any(title.startswith("drafting: With drafts") for title in titles)


def test_a_question_that_the_other_run_answers_is_not_asked(document):
    (drafts,) = [finding for finding in document.findings if finding.topic == "drafts"]
    assert "only a run without drafts" not in drafts.text


def test_runs_of_other_models_are_not_compared(db):
    document = report.compare(tracekit.open(db), "baseline", "eagle3")
    assert any("only a run without drafts" in finding.text for finding in document.findings)
    assert "cannot be compared" in document.findings[0].title
    assert not [c for s in document.sections for c in s.charts if c.title == "Why they differ"]


def test_a_run_is_not_compared_with_itself(db, tmp_path):
    words = ["report", "baseline", "baseline", "-o", str(tmp_path / "pair.md"), "--db", str(db)]
    result = CliRunner().invoke(main, words)
    assert (result.exit_code, result.output) == (
        1,
        "baseline: it is named twice; name another run to compare it with\n",
    )


def test_the_command_writes_it(db, tmp_path):
    target = tmp_path / "pair.html"
    words = ["report", "baseline", "drafting", "-o", str(target), "--db", str(db)]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 0, result.output
    assert "From baseline to drafting" in target.read_text("utf-8")


def test_another_run_that_is_not_there_is_told(db, tmp_path):
    words = ["report", "baseline", "gone", "-o", str(tmp_path / "pair.html"), "--db", str(db)]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 1
    assert "gone: no such run" in result.output
