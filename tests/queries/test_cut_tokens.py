"""Accepted tokens that max_tokens cut off, from what the server and its steps count."""

import pytest
from database import add, dicts, memory_database

COUNTERS = {
    "spec_decode_num_drafts_total": 30,
    "spec_decode_num_draft_tokens_total": 90,
    "spec_decode_num_accepted_tokens_total": 90,
    "generation_tokens_total": 120,
    "iteration_tokens_total_count": 10,
    "time_to_first_token_seconds_count": 5,
}
REQUESTS = (0, 3, 3, 3, 3, 3, 3, 4, 4, 4)


@pytest.fixture
def db():
    con = memory_database()
    add(con, "run", "r")
    add(con, "capture_window", "r", window_name="profiled", is_profiled=True)
    yield con
    con.close()


def count(con, window="profiled", **changed):
    """The draft that is the target itself: 5 requests of 24 tokens, all of 30 drafts accepted."""
    for name, difference in {**COUNTERS, **changed}.items():
        for moment, value in (("before", 7), ("after", 7 + difference)):
            row = {"name": f"vllm:{name}", "moment": moment, "value": value}
            add(con, "counter", "r", window_name=window, **row)


def log(con, requests=REQUESTS, window="profiled"):
    for n, decode in enumerate(requests):
        prefill = 0 if decode else 5
        load = {"n_prefill_reqs": prefill, "n_prefill_tokens": 17 * prefill}
        load |= {"n_decode_reqs": decode, "n_decode_tokens": 4 * decode, "dur_ns": 1000}
        add(con, "iteration", "r", iteration=n, window_name=window, **load)


def trace(con, requests=REQUESTS):
    for n, decode in enumerate(requests):
        for rank in (0, 1):
            kind = "decode" if decode else "prefill"
            add(con, "step", "r", step=n, rank=rank, kind=kind, n_decode_reqs=decode)


def told(con):
    (row,) = dicts(con, "spec_totals", run="r")
    names = "tokens", "n_plain", "n_first", "n_generated", "n_cut"
    return tuple(row[name] for name in names)


@pytest.mark.parametrize("tell", [log, trace])
def test_what_was_cut_off_is_the_rest(db, tell):
    count(db)
    tell(db)
    assert told(db) == (120, 0, 5, 120, 5)


def test_steps_without_a_draft_are_no_cut(db):
    count(db, generation_tokens_total=131)
    log(db, [0, 3, 3, 3, 3, 3, 3, 4, 8, 8])
    assert told(db) == (120, 8, 5, 131, 2)


def test_requests_without_work_are_no_steps(db):
    count(db)
    log(db)
    add(db, "step", "r", step=99, rank=0, kind="idle", n_decode_reqs=0)
    add(
        db,
        "iteration",
        "r",
        window_name="profiled",
        iteration=11,
        dur_ns=9,
        is_dummy=True,
        n_prefill_reqs=0,
        n_prefill_tokens=0,
        n_decode_reqs=1,
        n_decode_tokens=1,
    )
    assert told(db) == (120, 0, 5, 120, 5)


@pytest.mark.parametrize("tell", [log, trace, lambda *_: None])
def test_of_part_of_the_steps_nothing_is_told(db, tell):
    count(db)
    tell(db, REQUESTS[:-1])
    assert told(db) == (120, None, 5, 120, None)


def test_a_trace_of_another_window_tells_nothing(db):
    add(db, "capture_window", "r", window_name="unprofiled", is_profiled=False)
    count(db, "unprofiled")
    trace(db)
    assert told(db) == (120, None, 5, 120, None)


def test_counters_that_contradict_the_steps_are_not_explained(db):
    count(db, generation_tokens_total=126)
    log(db)
    assert told(db) == (120, 0, 5, 126, None)


def test_a_log_alone_does_not_tell_what_was_cut(db):
    row = {"drafts": 30, "n_drafted": 90, "n_accepted": 90, "mean_acceptance_length": 4.0}
    add(db, "spec_sample", "r", window_name="profiled", **row)
    assert told(db) == (120, None, None, None, None)
