"""Acceptance by the lines of a log, where no counters tell it."""

import json
from pathlib import Path

import pytest
from database import add, memory_database

from tracekit.readers.folder import InputFile
from tracekit.readers.prometheus import parse
from tracekit.readers.spec_log import read_acceptance
from tracekit.readers.windows import Windows

SHARED = Path(__file__).parents[3] / "shared" / "traces" / "vllm_cpu"
COLUMNS = "position, drafts, draft_tokens, accepted, acceptance_rate, mean_acceptance_length"


@pytest.fixture
def db():
    con = memory_database()
    add(con, "run", "r")
    yield con
    con.close()


def windows(con, *names):
    """Windows of run.json; only `profiled` is."""
    con.execute(
        "UPDATE run SET context = ?", [json.dumps({"windows": [{"name": n} for n in names]})]
    )
    for name in names:
        add(con, "capture_window", "r", window_name=name, is_profiled=name == "profiled")


def line(con, drafts=4, drafted=8, accepted=4, rates=(0.75, 0.25), window="profiled", **row):
    given = {"drafts": drafts, "n_drafted": drafted, "n_accepted": accepted}
    given |= {"mean_acceptance_length": 1 + sum(rates), "position_rates": list(rates)}
    given |= {"acceptance_rate": accepted and accepted / drafted, "window_name": window}
    add(con, "spec_sample", "r", **given | row)


def sglang(con, running, mean, rate):
    row = {"mean_acceptance_length": mean, "acceptance_rate": rate, "n_running": running}
    add(con, "spec_sample", "r", engine="sglang", **row)


def found(con, columns=COLUMNS):
    return con.sql(f"SELECT {columns} FROM spec_decode ORDER BY position NULLS FIRST").fetchall()


def test_lines_of_the_window_are_added_up(db):
    windows(db, "profiled")
    line(db)
    line(db, drafts=12, drafted=24, accepted=8, rates=(0.5, 1 / 6))
    line(db, drafts=100, window=None)
    assert found(db) == [
        (None, 16, 32, 12, 12 / 32, 1 + 12 / 16),
        (0, 16, None, 9, 9 / 16, None),
        (1, 16, None, 3, 3 / 16, None),
    ]
    assert found(db, "source, window_names") == [("log", ["profiled"])] * 3


def test_drafts_that_a_line_leaves_open_are_not_made_up(db):
    line(db, window=None)
    line(db, drafts=None, drafted=24, accepted=0, rates=(0.0, 0.0), window=None)
    assert found(db) == [
        (None, None, 32, 4, 4 / 32, (8 * 2 + 24 * 1) / 32),
        (0, None, None, None, 0.75 * 8 / 32, None),
        (1, None, None, None, 0.25 * 8 / 32, None),
    ]


def test_means_of_sglang_are_weighted_with_the_requests(db):
    sglang(db, 1, 3.0, 0.5)
    sglang(db, 3, 2.0, 0.25)
    assert found(db) == [(None, None, None, None, 1.25 / 4, 9 / 4)]


def test_without_rates_there_are_no_positions(db):
    row = {"n_drafted": 8, "n_accepted": 4, "acceptance_rate": 0.5}
    add(db, "spec_sample", "r", **row)
    assert found(db) == [(None, None, 8, 4, 0.5, None)]


def test_counters_come_first(db):
    line(db)
    for name, difference in (("drafts", 2), ("draft_tokens", 4), ("accepted_tokens", 1)):
        for moment, value in (("before", 1), ("after", 1 + difference)):
            name_ = f"vllm:spec_decode_num_{name}_total"
            add(db, "counter", "r", name=name_, moment=moment, value=value)
    assert found(db, "drafts, accepted, source") == [(2, 1, "counters")]


def test_the_profiled_window_comes_first(db):
    windows(db, "unprofiled", "profiled")
    line(db, window="unprofiled", drafts=100)
    assert found(db, "drafts")[0] == (100,)
    line(db)
    assert found(db, "drafts")[0] == (4,)


def test_lines_outside_windows_that_are_known_do_not_count(db):
    windows(db, "profiled")
    line(db, window=None)
    assert found(db) == []


@pytest.mark.parametrize("run", ["ngram", "ngram-no-scopes", "draft-noisy", "tp2-draft-noisy"])
def test_a_real_log_agrees_with_the_counters_it_ended_with(db, run):
    """The log holds all since the server started, and so do the counters at the end."""
    folder = SHARED / run
    if not folder.is_dir():
        pytest.skip(f"no {folder}")
    log = InputFile(folder / "server.log", "server.log", "server_log", 0)
    read_acceptance(db, [(0, log)], Windows({}, {}, {}), run="r")
    ((drafts,),) = counted(folder, "drafts")
    ((drafted,),) = counted(folder, "draft_tokens")
    ((accepted,),) = counted(folder, "accepted_tokens")
    totals, *positions = found(db, "drafts, draft_tokens, accepted")
    assert totals == (drafts, drafted, accepted)
    at_positions = [(value,) for (value,) in counted(folder, "accepted_tokens_per_pos")]
    assert [(position[2],) for position in positions] == at_positions


def counted(folder, name):
    """Values of a counter in the text after the window, by position."""
    samples = parse((folder / "metrics_after.prom").read_text())
    values = zip(samples.names, samples.values, strict=True)
    return [(v,) for n, v in values if n == f"vllm:spec_decode_num_{name}_total"]
