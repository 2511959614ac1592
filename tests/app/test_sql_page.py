"""The SQL page: examples, a result with its numbers, and a mistake in one line."""

import duckdb
import pytest

from tracekit import queries


def ask(view, query):
    page = view("sql")
    page.text_area[0].set_value(query)
    (button,) = (button for button in page.button if button.label == "Run")
    return button.click().run()


def test_a_result_is_that_of_the_database(view, db):
    page = ask(view, "SELECT run, n_activities FROM runs ORDER BY run")
    with duckdb.connect(db, read_only=True) as con:
        expected = con.execute("SELECT run, n_activities FROM runs ORDER BY run").fetchall()
    assert list(page.dataframe[-1].value.itertuples(index=False, name=None)) == expected


def test_the_query_is_in_the_address(view):
    page = ask(view, "SELECT 1 AS x")
    assert page.query_params["sql"] == "SELECT 1 AS x"
    assert view("sql", sql="SELECT 2").text_area[0].value == "SELECT 2"


def test_a_link_does_not_run_its_query(view):
    assert len(view("sql", sql="SELECT 2 AS y").dataframe) == 1  # the schema


@pytest.mark.parametrize("query", ["SELECT nothing FROM runs", "DROP TABLE run", ""])
def test_a_mistake_is_told(view, query):
    page = ask(view, query)
    assert not page.exception
    assert len(page.error) == 1


def test_columns_of_one_name_and_of_any_type_are_shown(view):
    page = ask(view, 'SELECT 1 AS x, 2 AS x, [1] AS "a.b[0]", NULL AS n, 1e30::HUGEINT AS h')
    assert not page.exception
    assert list(page.dataframe[-1].value) == ["x", "x 2", "a.b[0]", "n", "h"]


@pytest.mark.parametrize("title", queries.examples())
def test_examples_give_rows(db, title):
    with duckdb.connect(db, read_only=True) as con:
        assert con.execute(queries.examples()[title]).fetchone()


def test_views_are_described(view):
    page = view("sql")
    page.selectbox(key="sql_relation").select("steps").run()
    assert "step" in page.dataframe[0].value["column_name"].tolist()


def test_a_text_that_is_cut_is_told(view):
    said = " ".join(text.value for text in ask(view, "SELECT repeat('x', 3000) AS x").caption)
    assert "1 row in" in said
    assert "texts cut at 2,000 letters" in said
    assert "first" not in said.rpartition("1 row in")[0][-10:]
