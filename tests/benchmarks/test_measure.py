"""What the benchmarks measure and how it is told: with commands that take no time."""

import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture(autouse=True)
def importable(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))


def command(text):
    return [sys.executable, "-c", text]


def loading(seconds):
    return command(f"print('{{\"load_seconds\": {seconds}}}')")


def test_a_tool_that_cannot_load_a_trace_is_left_out(capsys):
    from measure import Case, alternate

    failing = Case("peer", command("raise SystemExit('no such form')"), may_fail=True)
    measured = alternate([Case("tracekit", loading(2)), failing], 2)
    assert [(samples.case.name, len(samples.runs)) for samples in measured] == [("tracekit", 2)]
    assert "no such form" in capsys.readouterr().err


def test_our_own_failure_ends_the_benchmark():
    from measure import Case, ChildError, alternate

    with pytest.raises(ChildError, match="exit code 3"):
        alternate([Case("tracekit", command("raise SystemExit(3)"))], 2)


def test_traces_stand_in_rows_with_the_mean_of_each_tool():
    from measure import Case, alternate
    from report import Trace, traces_table

    rows = []
    for name, peer_s in (("a.json.gz", 8), ("b.json.gz", 18), ("c.json.gz", None)):
        cases = [Case("tracekit", loading(2))]
        cases += [Case("peer", loading(peer_s))] if peer_s else []
        trace = Trace(Path(name), name, plain_bytes=500_000_000, events=10, copies=1)
        rows.append((trace, alternate(cases, 1)))
    *_, first, second, third, mean = traces_table(rows, 0.0).splitlines()
    assert first.startswith("| a | 500 | 10 | 2.00 (2.00) | 250 |")
    assert [line.split("|")[-2].strip() for line in (first, second, third, mean)] == [
        *("4.0", "9.0", "-"),
        "6.0",
    ]
