"""Where the difference of two runs comes from: bars per token, and kernels that changed."""

import pytest
from comparing import add_run, add_work
from database import add, dicts, us


@pytest.fixture
def pair(empty):
    """8 steps of 10 ms with 1 token against 8 of 16 ms with 2, and what they spend it on."""
    add_run(empty, "base", [10_000] * 8)
    add_run(empty, "other", [16_000] * 8, 2, speculative_method="eagle3", num_speculative_tokens=1)
    for step in range(8):
        add_work(empty, "base", step, "forward", moe_gemm=4_000, all_reduce=5_000, norm=500)
        add_work(empty, "base", step, "sample", sampling=300)
        add_work(empty, "other", step, "verify", moe_gemm=7_000, all_reduce=5_200, norm=501)
        add_work(empty, "other", step, "draft", gemm=2_000)
        add_work(empty, "other", step, "sample", sampling=600)
    return empty


def bars(con, **params):
    return {
        (row["row_kind"], row["category"] or row["phase"]): row
        for row in dicts(con, "compare_waterfall", base="base", other="other", **params)
    }


def test_bars_say_what_each_part_adds_to_a_token(pair):
    found = {key: row["change_ns"] for key, row in bars(pair).items()}
    assert found == {
        ("base", None): us(10_000),
        ("tokens", None): us(-5_000),
        ("part", "moe_gemm"): us(1_500),
        ("part", "draft"): us(1_000),
        ("part", "sample"): us(150),
        ("part", "all_reduce"): us(100),
        ("part", "norm"): us(0.5),
        ("overlap", None): us(249.5),
        ("idle", None): 0,
        ("other", None): us(8_000),
    }


def test_bars_meet_and_add_up(pair):
    _, *between, last = rows = list(bars(pair).values())
    for before, after in zip(rows, rows[1:-1], strict=False):
        assert after["from_ns"] == before["to_ns"]
    assert rows[0]["to_ns"] + sum(row["change_ns"] for row in between) == last["to_ns"]


def test_small_parts_fold_into_one_row_but_named_ones_never(pair):
    found = bars(pair, fold=0.5)
    assert ("part", "norm") not in found
    assert found["part", None]["n_folded"] == 1
    assert found["part", None]["change_ns"] == us(0.5)
    assert {("part", "all_reduce"), ("part", "draft")} <= found.keys()


@pytest.mark.parametrize(("base", "other"), [("baseline", "eagle3"), ("eagle3", "baseline")])
def test_bars_of_runs_made_by_hand_add_up_exactly(con, base, other):
    first, *between, last = dicts(con, "compare_waterfall", base=base, other=other)
    (row,) = dicts(con, "compare_headline", base=base, other=other)
    assert first["change_ns"] == round(row["base_ns_per_token"])
    assert last["change_ns"] == round(row["other_ns_per_token"])
    assert sum(bar["change_ns"] for bar in between) == last["change_ns"] - first["change_ns"]


def add_kernel(con, run, name, durs, phase="forward", category="gemm"):
    for step, dur in enumerate(durs):
        row = {"rank": 0, "step": step, "phase": phase, "category": category, "name": name}
        add(con, "activity", run, activity_id=step, start_ns=us(step), dur_ns=us(dur), **row)


def test_kernels_that_are_new_gone_and_changed(empty):
    add_run(empty, "base", [10_000] * 2)
    add_run(empty, "other", [16_000] * 2)
    add_kernel(empty, "base", "kept", [100, 100])
    add_kernel(empty, "other", "kept", [100, 101], "verify")
    add_kernel(empty, "other", "kept", [40], "draft")
    add_kernel(empty, "base", "slow", [100, 100])
    add_kernel(empty, "other", "slow", [150, 150], "verify")
    add_kernel(empty, "base", "old", [30, 30])
    rows = dicts(empty, "compare_kernels", base="base", other="other")
    assert [(row["change"], row["phase"], row["name"], row["change_ns"]) for row in rows] == [
        ("slower", "forward", "slow", us(50)),
        ("gone", "forward", "old", us(-30)),
        ("new", "draft", "kept", us(20)),
        ("same", "forward", "kept", us(0.5)),
    ]
    assert (rows[2]["base_calls"], rows[2]["other_calls"]) == (None, 0.5)
    top = dicts(empty, "compare_kernels", base="base", other="other", top=2)
    assert [row["n_folded"] for row in top] == [None, None, 2]
    assert top[2]["change_ns"] == us(20.5)
