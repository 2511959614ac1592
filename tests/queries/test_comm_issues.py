"""What is doubtful about collectives, or not known: report `comm_issues`."""

import pytest
from comm_runs import FAST, UNNAMED, calls, database, signatures
from database import add, add_call, dicts, us


def issues(con):
    return {row["issue"]: row for row in dicts(con, "comm_issues", run="r")}


def test_nothing_doubtful():
    con = database()
    add_call(con, "r", 0, (0, 0), (20, 20), step=0, **FAST)
    assert issues(con) == {}


def test_what_is_doubtful_is_counted():
    con = database(world_size=4)
    fast = FAST | {"comm": UNNAMED}
    add_call(con, "r", 0, (0, 0), (20, 20), step=0, is_fused=True, **fast)
    facts = fast | {"bytes": None, "bytes_source": None}
    unmatched = {"wait_ns": None, "transfer_ns": None, "match": "none"}
    add_call(con, "r", 1, (0,), (20,), **facts, **unmatched)
    add_call(con, "r", 2, (0, 0), (20, 20), step=0, **(fast | {"bytes_source": "model"}))
    found = issues(con)
    counted = {issue: (row["place"], row["n"], row["of_n"]) for issue, row in found.items()}
    assert counted == {
        "missing_ranks": (None, 2, 4),
        "unmatched": ("all_reduce", 1, 5),
        "not_whole": ("all_reduce", 4, 5),
        "no_step": ("all_reduce", 1, 5),
        "no_bytes": ("all_reduce", 1, 5),
        "model_bytes": ("all_reduce", 2, 5),
        "fused": ("all_reduce", 2, 5),
    }
    assert "1 of 5 all_reduce calls are not matched" in found["unmatched"]["text"]


@pytest.mark.parametrize(
    ("hosts", "told"),
    [
        (("a", "a"), ["clocks of 2 of 2 ranks were corrected, by up to 25.0 us"]),
        (("a", "b"), ["ranks on 2 hosts"]),
    ],
    ids=str,
)
def test_clocks_that_needed_correction_are_told(hosts, told):
    con = database()
    add_call(con, "r", 0, (0, 0), (20, 20), step=0, **FAST)
    for rank, offset in ((0, 25), (1, -25)):
        early = {"n_early_before": 9, "n_early_after": 3 * rank, "is_applied": True}
        clock = {"offset_ns": us(offset), "host_name": hosts[rank]}
        add(con, "clock_offset", "r", rank=rank, **clock, **early)
    texts = [row["text"] for row in dicts(con, "comm_issues", run="r")]
    told.append(
        "3 of 2 calls end before another rank has begun, even on corrected clocks: rank 1 (3)"
    )
    assert len(texts) == 2
    assert all(any(part in text for text in texts) for part in told)


def test_where_clocks_cannot_be_compared_no_correction_is_told():
    con = database()
    add_call(con, "r", 0, (0, 900), (50, 20), step=0, wait_ns=None, **FAST)
    for rank in (0, 1):
        early = {"n_early_before": 9, "n_early_after": 1, "is_applied": rank == 1}
        add(con, "clock_offset", "r", rank=rank, offset_ns=us(rank), **early)
    found = issues(con)
    assert set(found) == {"early_end", "no_clock"}
    assert found["early_end"]["text"].endswith("corrected clocks: rank 0 (1), rank 1 (1)")
    assert found["no_clock"]["text"] == (
        "2 of 2 matched all_reduce calls are of ranks whose clocks cannot be compared: "
        "who comes last is told by durations"
    )


def test_of_many_ranks_that_end_early_the_first_are_named():
    con = database(n_ranks=10)
    add_call(con, "r", 0, (0,) * 10, (20,) * 10, step=0, **FAST)
    for rank in range(10):
        add(con, "clock_offset", "r", rank=rank, n_early_before=1, n_early_after=1)
    text = issues(con)["early_end"]["text"]
    assert text.startswith("10 of 10 calls end before another rank has begun: rank 0 (1), rank 1")
    assert text.endswith("rank 7 (1) and 2 more")


def test_a_drift_that_was_corrected_is_told():
    con = database()
    add_call(con, "r", 0, (100, 100), (20, 20), step=0, **FAST)
    clock = {"is_applied": True, "offset_ns": 4_000, "drift_ppm": 20, "origin_ns": -us(50_000)}
    early = {"n_early_before": 9, "n_early_after": 0}
    add(con, "clock_offset", "r", rank=1, host_name="a", **clock, **early)
    assert (
        "corrected, by up to 5.0 us and for a drift of up to 20.0 ppm"
        in (issues(con)["clock"]["text"])
    )


def test_a_transfer_that_is_faster_than_the_model_is_told():
    con = database()
    for number, model in enumerate((19, 25, 20.5, None)):
        told = FAST | {"model_ns": model and us(model)}
        add_call(con, "r", number, (0, 0), (20, 20), step=0, **told)
    row = issues(con)["below_model"]
    assert (row["n"], row["of_n"]) == (2, 8)
    assert row["text"] == (
        "2 of 8 all_reduce calls (decode steps, 13.6 KiB) transfer faster, by up to 20 %, than "
        "a model of NCCL's constants and of the links in its log allows: "
        "message size or model is wrong"
    )
    (shown,) = signatures(con)
    assert (shown["model_ns"], shown["is_below_model"]) == (us(20.5), False)


def test_kernels_that_do_not_tell_what_they_are():
    con = database()
    add_call(con, "r", 0, (0, 0), (20, 20), step=0, category="collective_other", **FAST)
    assert issues(con)["unknown_type"]["n"] == 2


def test_the_ledger_is_told_where_it_is_about_collectives():
    con = database()
    add_call(con, "r", 0, (0, 0), (20, 20), step=0, **FAST)
    reason = "collectives that are not found on every rank (kept, unmatched)"
    for rank in (0, 1):
        add(con, "ledger", "r", file_id=rank, reason=reason, skipped=0, example=f"{rank} calls")
    add(con, "ledger", "r", file_id=0, reason="negative duration", skipped=2)
    (row,) = dicts(con, "comm_issues", run="r")
    assert row["text"] == f"{reason} in 2 files: 0 calls"


def test_between_clocks_that_cannot_be_compared_the_shortest_call_came_last():
    con = database()
    add_call(con, "r", 0, (0, 900), (50, 20), step=0, wait_ns=None, **FAST)
    (call,) = calls(con)
    assert (call["is_whole"], call["last_rank"], call["others_wait_ns"]) == (True, 1, us(30))
    assert (call["wait_ns"], call["arrival_spread_ns"], call["completion_spread_ns"]) == (
        None,
        None,
        None,
    )
