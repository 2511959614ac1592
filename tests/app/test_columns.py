"""How a table shows a report's columns."""

import pandas as pd
import pytest

from tracekit import queries
from tracekit.app import columns
from tracekit.app.parts import escaped

BREAKDOWN = queries.load("breakdown")


@pytest.mark.parametrize(
    ("times", "title", "shown"),
    [
        ([2_000, 1_500, 1_000_000], "busy, us", [2.0, 1.5, 1000.0]),
        ([2_000_000, 1_500_000, 3], "busy, ms", [2.0, 1.5, 0.0]),
        ([3_000_000_000], "busy, s", [3.0]),
        ([0, 0], "busy, us", [0.0, 0.0]),
    ],
)
def test_times_are_in_the_unit_that_most_of_them_fill(times, title, shown):
    frame = pd.DataFrame({"busy_ns": pd.array(times, dtype="Int64")})
    made, config = columns.readable(frame, BREAKDOWN, ("busy_ns",))
    assert made["busy_ns"].tolist() == pytest.approx(shown)
    assert config["busy_ns"]["label"] == title


def test_a_table_has_one_unit_of_time_and_whole_numbers_without_digits():
    frame = pd.DataFrame({"busy_ns": [5e6, 3e6], "ns_per_call": [4e5, 9e6], "calls": [27.0, 4.0]})
    made, config = columns.readable(frame, BREAKDOWN, ("busy_ns", "ns_per_call", "calls"))
    assert [config[name]["label"] for name in made] == ["busy, ms", "time per call, ms", "calls"]
    assert config["calls"]["type_config"]["format"] == "localized"


@pytest.mark.parametrize(
    ("report", "column", "title"),
    [
        ("comm_ranks", "dp", "engine"),
        ("comms", "busbw_gb_per_s", "bus bandwidth, GB/s"),
        ("comm_issues", "of_n", "of"),
        ("run_list", "n_decode_steps", "decode steps"),
        ("breakdown", "p90_ns", "90th percentile, us"),
        ("comms", "transfer_p50_ns", "transfer, median, us"),
        ("comms", "dur_p50_ns", "time, median, us"),
        ("spec_phases", "all_reduce_ns", "AllReduce, us"),
        ("whatif", "speedup_low", "speed-up, from"),
        ("whatif", "tokens_per_s_high", "tokens per second, to"),
        ("run_headline", "is_unprofiled", "unprofiled"),
    ],
)
def test_a_column_is_named_in_words(report, column, title):
    frame = pd.DataFrame({column: [1]})
    assert columns.readable(frame, queries.load(report), (column,))[1][column]["label"] == title


def test_shares_are_per_cent_and_explained_in_the_words_of_the_header():
    frame = pd.DataFrame({"share_of_step": [0.5]})
    made, config = columns.readable(frame, BREAKDOWN, ("share_of_step",))
    assert list(made["share_of_step"]) == [50.0]
    assert config["share_of_step"]["label"] == "share of step, %"
    (meaning,) = (c.meaning for c in BREAKDOWN.columns if c.name == "share_of_step")
    assert config["share_of_step"]["help"] == meaning


def test_what_rounds_to_nothing_has_no_sign():
    frame = pd.DataFrame(
        {"busy_ns": [-1.0, 5e6], "share_of_step": [-1e-7, 1], "calls": [-0.001, 2]}
    )
    made, _ = columns.readable(frame, BREAKDOWN, tuple(frame))
    assert [str(value) for value in made.iloc[0]] == ["0.0", "0.0", "0.0"]


def test_a_column_with_nothing_in_it_is_left_out():
    frame = pd.DataFrame({"phase": ["draft", None], "name": [None, None]})
    made, _ = columns.readable(frame, BREAKDOWN, ("phase", "name"))
    assert list(made) == ["phase"]


def test_an_empty_report_has_its_columns_left_out_too():
    frame = pd.DataFrame({"phase": [], "busy_ns": []})
    assert columns.readable(frame, BREAKDOWN, ("phase", "busy_ns"))[0].empty


def test_escaped_text_has_no_sign_that_means_something():
    assert escaped("a_b *c* <d>") == r"a\_b \*c\* \<d\>"
    assert escaped("a\nb\x1b[2J") == r"a\\nb\\x1b\[2J"
