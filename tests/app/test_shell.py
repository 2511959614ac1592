"""What all views share: the choice and its address, and what is said where there is no database."""

import shutil

import duckdb
import pytest
from database import join, write_database
from samples import baseline, stalled


def said(elements):
    """What messages say, without the signs that keep names from being Markdown."""
    return [element.value.replace("\\", "") for element in elements]


def test_a_link_brings_its_choice_with_it(view):
    page = view(run="vllm_cpu_tp2_draft", rank=1, phase="draft")
    assert page.selectbox(key="choice_run").value == "vllm_cpu_tp2_draft"
    assert page.selectbox(key="choice_rank").value == "1"
    assert page.selectbox(key="choice_phase").value == "draft"


def test_a_choice_goes_into_the_address(view):
    page = view(run="baseline")
    page.selectbox(key="choice_rank").select("1").run()
    assert page.query_params["run"] == "baseline"
    assert page.query_params["rank"] == "1"


def test_what_a_run_does_not_have_is_left_out_of_a_link_with_a_message(view):
    page = view(run="baseline", rank=7, kind="nonsense")
    assert page.selectbox(key="choice_rank").value == ""
    assert said(page.warning) == [
        "Rank 7: there is none here, so it is left out.",
        "Kind of step nonsense: there is none here, so it is left out.",
    ]
    assert "rank" not in page.query_params


def test_a_choice_stays_when_another_view_is_opened(view):
    page = view(run="baseline", kind="prefill")
    page.query_params.clear()  # as the menu's links have none
    page.switch_page("views/quality.py").run()
    assert page.selectbox(key="choice_run").value == "baseline"
    assert page.query_params["kind"] == "prefill"


def test_a_choice_taken_back_leaves_the_address(view):
    page = view(run="baseline", rank=1)
    page.selectbox(key="choice_rank").select("").run()
    assert "rank" not in page.query_params
    assert page.selectbox(key="choice_rank").value == ""


def test_without_a_database_the_page_says_what_to_run(view, tmp_path):
    page = view(database=tmp_path / "none.duckdb")
    assert "tracekit ingest PATH" in said(page.error)[0]


def test_a_database_without_runs_says_what_to_run(view, tmp_path):
    path = write_database(tmp_path / "runs.duckdb", baseline)
    with duckdb.connect(path) as con:
        con.execute("DELETE FROM run")
    page = view(database=path)
    assert "no run in it" in said(page.info)[0]
    assert page.text[0].value.startswith("tracekit ingest PATH --db ")


def test_what_is_no_database_is_told(view, tmp_path):
    path = tmp_path / "runs.duckdb"
    path.write_text("a,b\n1,2\n" * 100)
    assert "not a DuckDB database" in said(view(database=path).error)[0]


def test_a_broken_database_is_told(view, db, tmp_path):
    path = tmp_path / "runs.duckdb"
    path.write_bytes(db.read_bytes()[:20_000])
    assert "cannot be opened" in said(view(database=path).error)[0]


def test_runs_ingested_meanwhile_appear_with_the_next_click(view, tmp_path):
    path = write_database(tmp_path / "runs.duckdb", baseline)
    page = view(database=path)
    join(path, stalled)
    page.run()
    assert page.selectbox(key="choice_run").options == ["baseline", "stalled"]
    shutil.move(path, tmp_path / "away.duckdb")
    assert "no such database" in said(page.run().error)[0]


def test_a_database_that_somebody_writes_is_told(view, tmp_path):
    path = write_database(tmp_path / "runs.duckdb", baseline)
    page = view(database=path)
    with duckdb.connect(path) as con:
        con.execute("UPDATE run SET model = 'other'; CHECKPOINT")
        page.run()
        assert not page.exception
    assert not page.run().error


DRAFT, BASELINE = "vllm_cpu_tp2_draft", "vllm_cpu_tp2_baseline"

ELSEWHERE = [
    ("step", "window", "garbage", "Window"),
    ("step", "window", "4:-1:3", "Window"),
    ("step", "window", "5:1:3", "Window"),
    ("step", "dp", "9", "Engine"),
    ("collectives", "calibration", "zzz", "Measured curve"),
    ("compare", "batch", "77", "Requests of a step"),
    ("compare", "base_repeats", "nope", "Repeats of the base"),
    ("speculation", "k", "abc", "Drafted tokens K"),
    ("speculation", "acceptance", "-1", "Accepted at each position"),
    ("speculation", "requests", "77", "Requests of a step"),
]


@pytest.mark.parametrize(("name", "choice", "said", "label"), ELSEWHERE)
def test_what_an_address_asks_of_a_view_in_vain_is_left_out_with_a_message(
    view, name, choice, said, label
):
    page = view(name, run=DRAFT, other=BASELINE, step=4, **{choice: said})
    assert [message.value.replace("\\", "") for message in page.warning][0] == (
        f"{label} {said}: there is none here, so it is left out."
    )
    assert choice not in page.query_params
