"""The form of a header."""

import pytest

from tracekit.errors import QueryError
from tracekit.queries.header import Param, parse

TEXT = """\
-- Time of each thing.
--
-- Answers: where does it go?
-- Grain: one row per thing.
-- Params:
--   $run VARCHAR: run to read,
--     by its name.
--   $fold DOUBLE = 0.5: share.
--   $top INTEGER = 3: how many.
--   $by VARCHAR = 'category': one of category, kernel; what.
--   $kind VARCHAR = NULL: which.
--   $is_all BOOLEAN = false: whether.
-- Columns:
--   busy_ns BIGINT: time, ns.
--   names VARCHAR[]: names.
-- Limits: none
--     at all.

-- Not the header.
SELECT 1
"""


def test_a_header_is_taken_apart():
    query = parse("thing", "report", TEXT)
    assert (query.title, query.answers) == ("Time of each thing.", "where does it go?")
    assert query.limits == "none at all."
    assert query.params[0] == Param("run", "VARCHAR", "run to read, by its name.", True, None)
    defaults = {param.name: param.default for param in query.params[1:]}
    assert defaults == {"fold": 0.5, "top": 3, "by": "category", "kind": None, "is_all": False}
    assert [(c.name, c.type, c.meaning) for c in query.columns] == [
        ("busy_ns", "BIGINT", "time, ns."),
        ("names", "VARCHAR[]", "names."),
    ]
    assert query.sql == TEXT


def test_a_line_in_no_form_is_refused():
    with pytest.raises(QueryError, match="thing: header line 'Colums:'"):
        parse("thing", "report", TEXT.replace("Columns:", "Colums:"))


def test_values_are_bound_with_defaults():
    query = parse("thing", "report", TEXT)
    bound = query.bind({"run": "a", "top": None})
    assert bound == {
        "run": "a",
        "fold": 0.5,
        "top": None,
        "by": "category",
        "kind": None,
        "is_all": False,
    }


def test_a_value_that_is_no_choice_is_refused():
    query = parse("thing", "report", TEXT)
    assert query.bind({"run": "a", "by": "kernel"})["by"] == "kernel"
    with pytest.raises(QueryError, match="thing: by 'kernle': no such value; use category, kernel"):
        query.bind({"run": "a", "by": "kernle"})
