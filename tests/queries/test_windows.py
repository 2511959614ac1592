"""Views and reports on windows: what timed them, and what profiling cost."""

import pytest
from database import add, dicts, memory_database, us


@pytest.fixture
def db():
    con = memory_database()
    add(con, "run", "r", engine="vllm")
    yield con
    con.close()


def window(con, name, is_profiled=False, **row):
    add(con, "capture_window", "r", window_name=name, is_profiled=is_profiled, **row)


def log(con, name, *durations, **load):
    given = {"n_prefill_reqs": 0, "n_prefill_tokens": 0, "n_decode_reqs": 1, "n_decode_tokens": 1}
    for n, dur in enumerate(durations):
        add(con, "iteration", "r", window_name=name, iteration=n, dur_ns=us(dur), **given | load)


def count(con, name, **differences):
    for counter, difference in differences.items():
        counter = f"vllm:{counter}"
        for moment, value in (("before", 100), ("after", 100 + difference)):
            row = {"name": counter, "moment": moment, "value": value, "window_name": name}
            add(con, "counter", "r", **row)


def decoded(con, name, seconds, tokens, drafts=None, accepted=0, steps=None):
    """Counters of one request that ended."""
    drafting = {"drafts": drafts, "accepted_tokens": accepted} if drafts else {}
    counted = {f"spec_decode_num_{key}_total": value for key, value in drafting.items()}
    if steps:
        counted["iteration_tokens_total_count"] = steps
    times = {"request_decode_time_seconds_sum": seconds, "request_decode_time_seconds_count": 1}
    count(con, name, generation_tokens_total=tokens, **times, **counted)


def step(con, number, dur, kind="decode"):
    times = {"start_ns": us(number), "dur_ns": us(dur), "busy_ns": 0, "idle_ns": 0}
    add(con, "step", "r", rank=0, step=number, kind=kind, **times)


def found(con, *columns):
    query = f"SELECT {', '.join(columns)} FROM windows ORDER BY window_name"
    return con.sql(query).fetchall()


def test_the_log_times_decode_steps_and_counts_all_that_work(db):
    window(db, "w")
    log(db, "w", 10, 20, 90)
    log(db, "w", 1_000, n_prefill_reqs=1)
    log(db, "w", 5_000, n_decode_reqs=0, is_dummy=True)
    columns = "source", "n_steps", "n_decode_steps", "step_ns_p50"
    assert found(db, *columns) == [("iteration_log", 4, 3, us(20))]


def test_lines_outside_of_windows_count_in_none(db):
    window(db, "w")
    log(db, None, 10)
    assert found(db, "source", "n_steps", "step_ns_p50") == [(None, None, None)]


def test_without_a_log_the_trace_times_the_profiled_window_only(db):
    window(db, "a")
    window(db, "b", is_profiled=True)
    for number, dur in enumerate((10, 30, 50)):
        step(db, number, dur)
    step(db, 3, 900, kind="prefill")
    step(db, 4, 1, kind="idle")
    assert found(db, "source", "n_steps", "step_ns_p50") == [
        (None, None, None),
        ("trace", 4, us(30)),
    ]


def test_counters_give_means(db):
    window(db, "w")
    # Two requests decode for 3 s in all: 20 tokens less the two first, 8 of them accepted drafts.
    counters = {"generation_tokens_total": 20, "iteration_tokens_total_count": 12}
    times = {"request_decode_time_seconds_sum": 3, "request_decode_time_seconds_count": 2}
    count(db, "w", **counters, **times, spec_decode_num_accepted_tokens_total=8)
    assert found(db, "source", "n_steps", "n_emitted_tokens", "step_ns_p50", "ns_per_token") == [
        ("counters", 12, 20, 3e9 / 10, 3e9 / 18)
    ]


def test_counters_that_fell_tell_nothing(db):
    window(db, "w")
    count(db, "w", generation_tokens_total=-20, iteration_tokens_total_count=12)
    assert found(db, "source", "n_emitted_tokens") == [(None, None)]


def test_tokens_of_the_clients_stand_in_for_counters_where_all_are_known(db):
    window(db, "a")
    window(db, "b")
    for name, tokens in (("a", 7), ("a", 8), ("b", 7), ("b", None)):
        add(db, "request", "r", request=0, window_name=name, n_tokens=tokens, start_ns=0, dur_ns=1)
    assert found(db, "n_emitted_tokens", "n_requests") == [(15, 2), (None, 2)]


def test_what_profiling_cost_compares_logs(db):
    window(db, "unprofiled")
    window(db, "profiled", is_profiled=True, stop_profile_ns=us(7))
    log(db, "unprofiled", 10, 10, 10)
    log(db, "profiled", 15, 15)
    (row,) = dicts(db, "profiling_cost", run="r")
    assert row["source"] == "iteration_log"
    assert (row["n_unprofiled_steps"], row["n_profiled_steps"]) == (3, 2)
    assert (row["unprofiled_step_ns"], row["profiled_step_ns"]) == (us(10), us(15))
    assert row["unprofiled_tokens_per_step"] is None
    assert row["slowdown"] == 1.5
    assert row["stop_profile_ns"] == us(7)


def test_what_profiling_cost_compares_counters_where_a_log_is_missing(db):
    window(db, "unprofiled")
    window(db, "profiled", is_profiled=True)
    log(db, "profiled", 15, 15)
    for name, seconds in (("unprofiled", 1), ("profiled", 3)):
        decoded(db, name, seconds=seconds, tokens=5)
    (row,) = dicts(db, "profiling_cost", run="r")
    assert (row["source"], row["slowdown"]) == ("counters", 3)
    assert row["unprofiled_step_ns"] == row["unprofiled_ns_per_token"] == 1e9 / 4
    assert row["unprofiled_elapsed_ns"] is None


def test_a_step_is_told_by_counters_which_hold_the_time_between_steps(db):
    window(db, "unprofiled")
    window(db, "profiled", is_profiled=True)
    for name, seconds in (("unprofiled", 1), ("profiled", 3)):
        log(db, name, 10, 15)
        decoded(db, name, seconds=seconds, tokens=5)
    (row,) = dicts(db, "profiling_cost", run="r")
    assert (row["source"], row["profiled_step_ns"]) == ("counters", 3e9 / 4)
    assert (row["unprofiled_elapsed_ns"], row["n_profiled_steps"]) == (us(12.5), 2)


def test_windows_that_accept_other_drafts_are_compared_by_step(db):
    window(db, "unprofiled")
    window(db, "profiled", is_profiled=True)
    # 24 tokens of one request in 1 s each: in 20 steps of which 3 are accepted, and in 6 steps.
    decoded(db, "unprofiled", seconds=1, tokens=24, drafts=20, accepted=3)
    decoded(db, "profiled", seconds=1, tokens=24, drafts=6, accepted=18)
    (row,) = dicts(db, "profiling_cost", run="r")
    assert (row["unprofiled_step_ns"], row["slowdown"]) == (1e9 / 20, pytest.approx(20 / 6))
    assert row["unprofiled_tokens_per_step"] == pytest.approx(23 / 20)
    assert row["profiled_tokens_per_step"] == pytest.approx(23 / 6)
    assert row["unprofiled_ns_per_token"] == row["profiled_ns_per_token"]


def test_a_run_among_others_has_the_speed_without_the_profiler(db):
    window(db, "unprofiled")
    window(db, "profiled", is_profiled=True)
    decoded(db, "unprofiled", seconds=1, tokens=24, drafts=20, accepted=3)
    decoded(db, "profiled", seconds=2, tokens=24, drafts=20, accepted=3)
    add(db, "step", "r", rank=0, step=0, kind="decode", dur_ns=us(9), busy_ns=us(8), idle_ns=us(1))
    (row,) = dicts(db, "run_headline", run="r")
    assert (row["ns_per_token"], row["is_unprofiled"]) == (pytest.approx(1e9 / 23), True)


def test_a_log_that_has_all_steps_counts_those_without_drafts(db):
    window(db, "w")
    # A prefill, 3 steps with a draft (4 tokens accepted, 1 of them cut off), one without.
    log(db, "w", 9, n_prefill_reqs=1, n_decode_reqs=0)
    log(db, "w", 1, 1, 1, 1)
    decoded(db, "w", seconds=1, tokens=7, drafts=3, accepted=4, steps=5)
    assert found(db, "ns_per_step", "tokens_per_step") == [(1e9 / 4, pytest.approx(6 / 4))]
    db.execute("DELETE FROM iteration WHERE dur_ns = ?", [us(9)])
    assert found(db, "ns_per_step", "tokens_per_step") == [(1e9 / 3, pytest.approx(6 / 3))]


@pytest.mark.parametrize(
    ("concurrency", "steps", "n_decode_steps"), [(1, 5, 4), (2, 5, 3), (1, 20, 3)]
)
def test_of_one_stream_without_a_log_its_steps_tell_what_its_end_cut_off(
    db, concurrency, steps, n_decode_steps
):
    """As above. Of several streams, or of a prompt in pieces, no step is one of a request."""
    window(db, "w", concurrency=concurrency)
    decoded(db, "w", seconds=1, tokens=7, drafts=3, accepted=4, steps=steps)
    count(db, "w", time_to_first_token_seconds_count=1, spec_decode_num_draft_tokens_total=9)
    ((tokens_per_step,),) = found(db, "tokens_per_step")
    assert tokens_per_step == pytest.approx(6 / n_decode_steps)


def test_a_profiler_that_ended_before_the_load_is_told(db):
    window(db, "unprofiled")
    window(db, "profiled", is_profiled=True)
    for name in ("unprofiled", "profiled"):
        log(db, name, *[10] * 8)
    for number in range(2):
        step(db, number, 10)
    (row,) = dicts(db, "profiling_cost", run="r")
    assert row["profiled_share"] == 2 / 8


@pytest.mark.parametrize(
    ("seconds", "quoted"), [((3,), "w0"), ((1, 3), "w1"), ((3, 9, 1), "w0"), ((4, 1, 2, 3), "w3")]
)
def test_of_several_windows_the_middle_one_is_quoted(db, seconds, quoted):
    for number, time in enumerate(seconds):
        window(db, f"w{number}", start_ns=number)
        decoded(db, f"w{number}", seconds=time, tokens=5)
    window(db, "untimed")
    window(db, "profiled", is_profiled=True)
    decoded(db, "profiled", seconds=2, tokens=5)
    query = "SELECT window_name FROM windows WHERE is_quoted"
    assert db.sql(query).fetchall() == [(quoted,)]
    (row,) = dicts(db, "profiling_cost", run="r")
    assert row["unprofiled_step_ns"] == seconds[int(quoted[1:])] * 1e9 / 4


def traced(con, *durations):
    for number, dur in enumerate(durations):
        step(con, number, dur)


def test_a_trace_of_the_whole_window_is_scaled_by_what_counters_saw_of_both(db):
    window(db, "unprofiled")
    window(db, "profiled", is_profiled=True)
    decoded(db, "unprofiled", seconds=1, tokens=3, steps=2)
    decoded(db, "profiled", seconds=4, tokens=3, steps=2)
    traced(db, 10, 20)
    assert found(db, "trace_factor") == [(None,), (1 / 4,)]


def test_a_trace_of_the_beginning_is_scaled_by_its_own_steps(db):
    """The counters of that window hold steps that were not profiled, and the traces' writing."""
    window(db, "unprofiled")
    window(db, "profiled", is_profiled=True)
    decoded(db, "unprofiled", seconds=80e-6, tokens=9, steps=8)
    decoded(db, "profiled", seconds=40, tokens=9, steps=8)
    traced(db, 15, 25)
    assert found(db, "trace_factor") == [(None,), (pytest.approx(10 / 20),)]


def test_a_trace_is_never_compared_with_a_log(db):
    window(db, "unprofiled")
    window(db, "profiled", is_profiled=True)
    log(db, "unprofiled", 10)
    step(db, 0, 30)
    assert dicts(db, "profiling_cost", run="r") == []


def test_acceptance_is_of_the_profiled_window(db):
    for name, accepted in (("profiled", 1), ("unprofiled", 4)):
        window(db, name, is_profiled=name == "profiled")
        prefix = "spec_decode_num_"
        drafted = {f"{prefix}drafts_total": 4, f"{prefix}draft_tokens_total": 4}
        count(db, name, **drafted, **{f"{prefix}accepted_tokens_total": accepted})
    query = "SELECT drafts, accepted FROM spec_decode WHERE position IS NULL"
    assert db.sql(query).fetchall() == [(4, 1)]
    db.execute("DELETE FROM counter WHERE window_name = 'profiled' AND moment = 'after'")
    assert db.sql(query).fetchall() == [(4, 4)]


@pytest.mark.parametrize(
    ("mask", "reasons", "is_throttled"),
    [
        (None, None, None),
        (0, "", False),
        (1, "gpu_idle", False),
        (0x44, "sw_power_cap, hw_thermal_slowdown", True),
        (0x200, "reason unknown", False),
    ],
)
def test_throttle_reasons_are_words(db, mask, reasons, is_throttled):
    add(db, "gpu_sample", "r", gpu=0, throttle_mask=mask)
    query = "SELECT throttle_reasons, is_throttled FROM gpu_samples"
    assert db.sql(query).fetchall() == [(reasons, is_throttled)]
