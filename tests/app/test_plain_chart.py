"""The chart of a user's own query: any columns, whatever they are called."""

import pandas as pd
import pytest

from tracekit.app import excerpts
from tracekit.app.charts.plain import MARKS, plain
from tracekit.sandbox import Excerpt


def made(columns, types, rows):
    return excerpts.frame(Excerpt(columns, types, rows, is_cut=False, is_shortened=False))


@pytest.mark.parametrize("mark", MARKS)
def test_names_that_vega_would_read_as_paths_are_titles(mark):
    frame = pd.DataFrame({"a.b[0]": ["x", "y"], "c:d": [1, 2]})
    spec = plain(frame, "a.b[0]", "c:d", "a.b[0]", mark).to_dict()
    encoding = spec["encoding"]
    assert encoding["x"]["title"] == encoding["color"]["title"] == "a.b[0]"
    assert encoding["y"]["title"] == "c:d"
    assert encoding["x"]["field"] == encoding["color"]["field"] == "c0"
    assert next(iter(spec["datasets"].values())) == [{"c0": "x", "c1": 1}, {"c0": "y", "c1": 2}]


def test_whole_numbers_stay_whole_where_others_are_missing():
    frame = made(["n"], ["BIGINT"], [[2**53 + 1], [None]])
    assert frame["n"][0] == 2**53 + 1
    assert frame["n"].isna().tolist() == [False, True]


def test_heights_are_numbers():
    row = [1, 1.5, True, "text", "1.25"]
    frame = made(list("abcde"), ["INTEGER", "DOUBLE", "BOOLEAN", "VARCHAR", "DECIMAL(3,2)"], [row])
    assert excerpts.numbers(frame) == ["a", "b", "e"]


def test_no_rows_and_no_columns():
    assert made(["a", "a"], ["BIGINT", "VARCHAR"], []).empty
    assert made([], [], []).empty
