"""Tokens per step of two windows: what the steps traced gave, and what the headline quotes."""

import pytest
from comparing import add_run, add_windows, count_tokens
from database import us, write_database


def drafted(con, run):
    """Ten steps traced of 30 ms and 2 tokens; without the profiler 20 ms and 4 tokens."""
    add_run(con, run, [30_000] * 10, tokens=2)
    con.execute("UPDATE step SET is_verify = true")
    add_windows(con, run, us(20_000), tokens=4, drafts=80)
    count_tokens(con, run, "profiled", us(30_000), tokens=4, drafts=80)


@pytest.fixture
def path(tmp_path):
    return write_database(tmp_path / "x.duckdb", drafted)


def test_spec_says_which_steps_each_number_is_of(call, path):
    shown = call("spec", database=path, columns=120).stdout
    assert "4.00 tokens/step   5.00 ms/token, 200.0 tok/s (unprofiled)" in shown
    assert ["step", "30.00", "100.0", "15.00"] in [line.split()[:4] for line in shown.splitlines()]
    assert "10 steps traced, with the profiler: 2.00 tokens/step (all of the window" in shown
    assert "without it: 4.00)." in shown


def test_the_report_quotes_one_window_and_names_the_other(call, path, tmp_path):
    pytest.importorskip("jinja2")
    call("report", "drafted", "-o", str(tmp_path / "x.md"), database=path)
    text = (tmp_path / "x.md").read_text()
    assert "With drafts a step gives 4.00 tokens without the profiler" in text
    assert "10 steps traced, with the profiler: 2.00 tokens/step" in text
