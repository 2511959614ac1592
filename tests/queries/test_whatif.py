"""Predictions: each formula by hand, their limits, and which input takes the place of which."""

import math

import pytest
from database import dicts
from predicting import (
    BASELINE,
    DRAFTS,
    EXPERTS,
    PARTS,
    SPECULATIVE,
    by_k,
    curve,
    known,
    rates,
    row,
    rows_of,
)


def told(con, **given):
    """Rows by K from the parameters of whatif_inputs."""
    inputs = dicts(con, "whatif_inputs", **given)
    return by_k(con, inputs)


STORY = {"baseline_ns": 12.1e6, "verify_ns": 12e6, "draft_ns": 1e6, "tokens_per_step": 3}


def test_the_sum_of_the_story_needs_no_run(empty):
    found = told(empty, **STORY)
    assert sorted(found) == [0, 2, 3, 4]  # of one drafted token come two tokens at most
    row = found[3]
    assert row["step_ns"] == pytest.approx(13e6)
    assert row["ns_per_token"] == pytest.approx(13e6 / 3)  # 4.33 ms
    assert row["speedup"] == pytest.approx(12.1 * 3 / 13)
    assert row["speedup_low"] == row["speedup"] == row["speedup_high"]
    kinds = {row[f"{part}_kind"] for part in ("tokens", "verify", "draft")}
    assert kinds == {"given"}


def test_one_rate_holds_at_each_position_given_the_one_before(empty):
    given = {key: STORY[key] for key in ("baseline_ns", "verify_ns", "draft_ns")}
    found = told(empty, acceptance="0.7", **given)
    assert found[3]["tokens_per_step"] == pytest.approx(1 + 0.7 + 0.49 + 0.343)
    assert found[3]["tokens_kind"] == "given"


def test_beyond_the_known_positions_the_last_rate_goes_on(empty):
    found = told(empty, acceptance="0.8,0.6", **{k: STORY[k] for k in list(STORY)[:3]})
    assert found[2]["tokens_per_step"] == pytest.approx(2.4)
    assert found[4]["tokens_per_step"] == pytest.approx(2.4 + 0.6 * 0.75 + 0.6 * 0.75**2)
    assert [found[k]["tokens_kind"] for k in (2, 3)] == ["given", "assumed"]
    assert found[2]["tokens_error"] == 0
    assert found[3]["tokens_error"] == pytest.approx(0.6 * 0.75 / 2)


def test_totals_alone_are_spread_evenly_over_the_positions(empty):
    accepted = 0.6 + 0.6**2 + 0.6**3
    totals = known("model", {"accepted_per_draft": accepted, "drafts": 100, **DRAFTS})
    runs = [*known("baseline", BASELINE), *known("speculative", SPECULATIVE)]
    found = by_k(empty, runs, totals)
    assert found[3]["tokens_per_step"] == pytest.approx(1 + accepted)
    assert found[1]["tokens_per_step"] == pytest.approx(1.6)


def test_the_error_of_tokens_is_that_of_counted_drafts(empty):
    """Accepted tokens of a draft: 2 of half of them, 1 of a quarter, none of a quarter."""
    found = by_k(empty, known("baseline", BASELINE), rates(0.75, 0.5, drafts=100), ks="2")
    variance = (0.5 * 4 + 0.25) - 1.25**2
    assert found[2]["tokens_error"] == pytest.approx(1.96 * math.sqrt(variance / 100), rel=0.1)


@pytest.mark.parametrize(("rate", "low", "high"), [(1.0, 0.79, 0.85), (0.0, 0.79, 0.85)])
def test_a_single_draft_tells_little_whatever_it_gave(empty, rate, low, high):
    """Wilson's interval of 1 of 1 is 0.21 to 1."""
    found = by_k(empty, known("baseline", BASELINE), rates(rate, drafts=1), ks="1")
    assert low < found[1]["tokens_error"] < high


def test_experts_are_read_as_often_as_tokens_touch_others(empty):
    found = by_k(empty, known("baseline", BASELINE), known("model", EXPERTS), rates(0.8), ks="3")
    touched = 384 * (1 - (1 - 8 / 384) ** 4)
    assert found[3]["moe_gemm_ns"] == pytest.approx(2e6 * touched / 8)
    assert found[0]["moe_gemm_ns"] == pytest.approx(2e6)


def test_many_tokens_touch_all_experts_and_no_more(empty):
    inputs = (known("baseline", BASELINE), known("model", EXPERTS), rates(0.8))
    found = rows_of(empty, *inputs, ks="1", concurrencies="500,2000")
    assert found[500, 1]["moe_gemm_ns"] == pytest.approx(2e6 * 48)
    assert found[2000, 1]["moe_gemm_ns"] == pytest.approx(2e6 * 48)


def test_a_dense_gemm_is_flat_until_arithmetic_binds_it(empty):
    inputs = (known("baseline", BASELINE), rates(0.8))
    found = rows_of(empty, *inputs, ks="1,3", concurrencies="1,64,128")
    assert found[1, 3]["gemm_ns"] == found[64, 3]["gemm_ns"] == pytest.approx(2e6)
    assert found[128, 3]["gemm_ns"] == pytest.approx(4e6)


def test_all_reduces_grow_as_the_curve_says(empty):
    """100 calls; a token adds 14,336 bytes, and 3 us by the curve."""
    sizes = curve((14_336, 30_000), (28_672, 33_000), (57_344, 39_000))
    found = by_k(empty, known("baseline", BASELINE), sizes, rates(0.8), ks="1,2,7")
    assert found[1]["all_reduce_ns"] == pytest.approx(6e6 + 100 * 3_000)
    assert found[2]["all_reduce_ns"] == pytest.approx(6e6 + 100 * 6_000)
    assert found[7]["all_reduce_ns"] == pytest.approx(6e6 + 100 * 21_000)  # its line goes on


def test_without_a_curve_all_reduces_stay_as_measured(empty):
    found = by_k(empty, known("baseline", BASELINE), rates(0.8))
    assert found[4]["all_reduce_ns"] == pytest.approx(6e6)


def test_ranks_wait_longer_where_they_work_longer(empty):
    waiting = known("baseline", BASELINE | {"waiting_ns": 1.5e6, "moe_gemm_ns": 1e6})
    work = 4e6 + (384 * (1 - (1 - 8 / 384) ** 4) / 8 - 1) * 1e6
    found = by_k(empty, waiting, known("model", EXPERTS), rates(0.8), ks="3")
    assert found[3]["all_reduce_ns"] == pytest.approx(6e6 + 1.5e6 * (work / 4e6 - 1))


def test_two_runs_are_met_exactly_and_joined_by_a_line(empty):
    runs = [*known("baseline", BASELINE), *known("speculative", SPECULATIVE)]
    sizes = curve((14_336, 30_000), (57_344, 39_000))
    model = known("model", EXPERTS | DRAFTS)
    found = by_k(empty, runs, model, sizes, rates(0.9, 0.8, 0.7, beyond=0.9))
    for k, of in ((0, BASELINE), (3, SPECULATIVE)):
        assert found[k]["step_ns"] == pytest.approx(of["step_ns"])
        assert {part: found[k][part] for part in PARTS} == pytest.approx({p: of[p] for p in PARTS})
    assert found[1]["attention_ns"] == pytest.approx(1.1e6)
    assert found[1]["all_reduce_ns"] == pytest.approx(6.2e6)
    touched = [384 * (1 - (1 - 8 / 384) ** tokens) for tokens in (1, 2, 4)]
    part = (touched[1] - touched[0]) / (touched[2] - touched[0])
    assert found[1]["moe_gemm_ns"] == pytest.approx(2e6 + 3e6 * part)
    assert [found[k]["verify_kind"] for k in (0, 1, 3)] == ["measured", "modelled", "measured"]


def test_what_shrank_by_noise_is_taken_as_flat(empty):
    shrunk = {**SPECULATIVE, "attention_ns": 0.9e6}
    runs = [*known("baseline", BASELINE), *known("speculative", shrunk)]
    found = by_k(empty, runs, known("model", DRAFTS), rates(0.8))
    assert [found[k]["attention_ns"] for k in (0, 1, 4)] == pytest.approx([1e6, 0.9e6, 0.9e6])


def test_a_run_with_drafts_alone_tells_the_step_without(empty):
    model = known("model", EXPERTS | DRAFTS)
    found = by_k(empty, known("speculative", SPECULATIVE), model, rates(0.8))
    touched = 384 * (1 - (1 - 8 / 384) ** 4)
    assert found[0]["moe_gemm_ns"] == pytest.approx(5e6 * 8 / touched)
    assert found[0]["draft_ns"] == 0
    assert found[3]["step_ns"] == pytest.approx(SPECULATIVE["step_ns"])


def test_idle_time_that_drafts_add_grows_with_them(empty):
    slow = SPECULATIVE | {"idle_ns": 0.8e6}
    model = known("model", DRAFTS)
    runs = [*known("baseline", BASELINE), *known("speculative", slow)]
    both = by_k(empty, runs, model, rates(0.8))
    idle = [0.5e6, 0.6e6, 0.7e6, 0.8e6, 0.9e6]
    assert [both[k]["idle_ns"] for k in range(5)] == pytest.approx(idle)
    alone = known("speculative", slow | {"draft_idle_ns": 0.6e6})
    found = by_k(empty, alone, model, rates(0.8))
    assert [found[k]["idle_ns"] for k in (0, 3)] == pytest.approx([0.2e6, 0.8e6])


def test_a_host_that_drafts_idles_the_device_alike_for_every_number(empty):
    ngram = SPECULATIVE | {"draft_ns": 0, "idle_ns": 0.8e6}
    runs = [*known("baseline", BASELINE), *known("speculative", ngram)]
    found = by_k(empty, runs, rates(0.8))
    assert [found[k]["idle_ns"] for k in (0, 1, 4)] == pytest.approx([0.5e6, 0.8e6, 0.8e6])


def test_a_time_that_is_given_is_of_all_drafting_that_of_the_host_too(empty):
    """Drafts add 0.3 ms idle, 0.2 of it drafting: half of the 0.1 left stays, or none, or all."""
    slow = SPECULATIVE | {"idle_ns": 0.8e6, "draft_idle_ns": 0.2e6}
    runs = [*known("baseline", BASELINE), *known("speculative", slow)]
    given = known("model", {"draft_step_ns": 2e6}, kind="given")
    found = by_k(empty, runs, given, rates(0.8))
    assert [found[k]["idle_ns"] for k in (0, 1, 3)] == pytest.approx([0.5e6, 0.55e6, 0.55e6])
    assert found[3]["draft_ns"] == 2e6
    assert found[3]["step_error_ns"] == pytest.approx(0.05e6)


def test_steps_without_a_draft_give_one_token_and_drafts_may_be_short(empty):
    """Six of ten steps draft, of at most 3 tokens 1.2 on average: a pass has 2.2 tokens."""
    ngram = SPECULATIVE | {"tokens": 2.2, "filled": 0.4, "covered": 0.6}
    runs = [*known("baseline", BASELINE), *known("speculative", ngram)]
    found = by_k(empty, runs, known("model", DRAFTS), rates(0.8, 0.5, 0.2))
    assert found[3]["tokens_per_step"] == pytest.approx(1 + 0.6 * 1.5)
    assert found[3]["verify_kind"] == "measured"
    assert found[1]["attention_ns"] == pytest.approx(1e6 + 0.3e6 / 3)
    even = found[3]["break_even_acceptance"]
    again = by_k(empty, runs, known("model", DRAFTS), rates(even, beyond=even))
    assert again[3]["speedup"] == pytest.approx(1)


def test_drafting_is_once_a_step_and_for_each_token_with_its_all_reduces(empty):
    calls = {"draft_all_reduces": 2, "draft_all_reduce_ns": 50_000}
    model = known("model", DRAFTS | calls)
    found = by_k(empty, known("baseline", BASELINE), model, rates(0.8))
    assert found[4]["draft_ns"] == pytest.approx(0.3e6 + 4 * (0.3e6 + 2 * 50_000))


def test_a_draft_as_fraction_of_the_pass_without_its_all_reduces(empty):
    found = by_k(
        empty, known("baseline", BASELINE), known("model", {"draft_fraction": 0.1}), rates(0.8)
    )
    assert found[2]["draft_ns"] == pytest.approx(2 * 0.1 * 5e6)


def test_one_all_reduce_for_each_drafted_token_and_layer_eats_the_gain(empty):
    """The target's 100 all-reduces of 60 us, once more for each of 3 drafted tokens."""
    given = known("model", {"verify_ns": 12e6, "tokens_per_step": 3, "draft_step_ns": 1e6}, "given")
    calls = known("model", {"draft_all_reduces": 100, "draft_all_reduce_ns": 60_000})
    alone = by_k(empty, known("baseline", BASELINE), given)[3]
    serial = by_k(empty, known("baseline", BASELINE), given, calls)[3]
    assert alone["speedup"] == pytest.approx(12 * 3 / 14)
    assert serial["speedup"] == pytest.approx(12 * 3 / (14 + 18))


def test_at_the_break_even_rate_the_gain_is_one(empty):
    model = known("model", EXPERTS | DRAFTS)
    rate = by_k(empty, known("baseline", BASELINE), model, rates(0.8))[3]["break_even_acceptance"]
    even = rates(rate, beyond=rate)
    assert by_k(empty, known("baseline", BASELINE), model, even)[3]["speedup"] == pytest.approx(1)


def test_drafts_that_cost_more_than_all_accepted_tokens_give_never_pay(empty):
    model = known("model", {"draft_step_ns": 100e6})
    found = by_k(empty, known("baseline", BASELINE), model, rates(1.0, beyond=1.0))
    assert found[3]["break_even_acceptance"] is None
    assert [k for k, row in found.items() if row["is_best"]] == [0]


def test_free_drafts_that_are_all_accepted_give_their_number_and_one(empty):
    free = {**BASELINE, "moe_gemm_ns": 0, "step_ns": 10e6}
    found = by_k(empty, known("baseline", free), rates(1.0, beyond=1.0))
    assert [found[k]["speedup"] for k in range(5)] == pytest.approx([1, 2, 3, 4, 5])
    assert [k for k, row in found.items() if row["is_best"]] == [4]
    assert found[4]["break_even_acceptance"] == 0


def test_drafts_of_which_none_is_accepted_only_cost(empty):
    found = by_k(empty, known("baseline", BASELINE), known("model", DRAFTS), rates(0.0, beyond=0.0))
    assert [found[k]["tokens_per_step"] for k in range(5)] == [1] * 5
    assert all(found[k]["speedup"] < 1 for k in range(1, 5))


def test_more_drafts_take_longer_and_give_more_tokens(empty):
    sizes = curve((14_336, 30_000), (57_344, 39_000))
    model = known("model", EXPERTS | DRAFTS)
    found = by_k(empty, known("baseline", BASELINE), model, sizes, rates(0.8, beyond=0.8))
    for name in ("step_ns", "tokens_per_step", "break_even_acceptance", "step_error_ns"):
        values = [found[k][name] for k in range(1, 5)]
        assert values == sorted(values)
        assert len(set(values)) == 4


def test_the_parts_add_up_to_the_step(empty):
    runs = [*known("baseline", BASELINE), *known("speculative", SPECULATIVE)]
    for found in by_k(empty, runs, known("model", EXPERTS | DRAFTS), rates(0.8)).values():
        assert sum(found[part] for part in PARTS) == pytest.approx(found["verify_ns"])
        parts = found["verify_ns"] + found["draft_ns"] + found["outside_ns"]
        assert parts == pytest.approx(found["step_ns"])


def test_of_one_run_the_range_holds_all_that_experts_grow(empty):
    measured = [
        row("baseline", name, value, error=0.12e6 if name == "step_ns" else None)
        for name, value in BASELINE.items()
    ]
    found = by_k(empty, measured, known("model", EXPERTS), rates(0.8), ks="3")
    assert found[0]["step_error_ns"] == pytest.approx(0.12e6)
    grown = found[3]["moe_gemm_ns"] - 2e6
    spread = 0.01 * found[3]["step_ns"]
    assert found[3]["step_error_ns"] == pytest.approx(math.hypot(spread, grown))


def test_of_one_token_to_a_draft_more_of_them_may_cost_nothing_more(empty):
    one = known("speculative", SPECULATIVE | {"k": 1, "tokens": 2, "draft_ns": 0.3e6})
    split = known("model", {"draft_step_ns": 0, "draft_token_ns": 0.3e6}, "assumed")
    runs = [*known("baseline", BASELINE | {"moe_gemm_ns": 0, "step_ns": 10e6}), *one]
    found = by_k(empty, runs, split, rates(0.8), ks="1,3")
    assert [found[k]["draft_kind"] for k in (1, 3)] == ["measured", "assumed"]
    assert found[3]["step_error_ns"] - found[1]["step_error_ns"] > 0
    assert found[3]["step_error_ns"] >= 0.6e6


def test_the_runs_own_load_is_always_there_and_marked(empty):
    two = {**BASELINE, "requests": 2, "tokens": 2}
    found = rows_of(empty, known("baseline", two), rates(0.8), ks="1", concurrencies="1,4")
    assert {load for (load, _), row in found.items() if row["is_own"]} == {2}
    assert {load for load, _ in found} == {1, 2, 4}
    assert found[4, 1]["tokens_per_s"] == pytest.approx(4e9 / found[4, 1]["ns_per_token"])


def test_a_given_baseline_holds_at_the_runs_own_load(empty):
    given = known("model", {"baseline_ns": 24e6}, "given")
    inputs = (known("baseline", BASELINE), given, known("model", EXPERTS), rates(0.8))
    found = rows_of(empty, *inputs, ks="1", concurrencies="1,4")
    plain = rows_of(empty, inputs[0], *inputs[2:], ks="1", concurrencies="1,4")
    assert found[1, 0]["step_ns"] == pytest.approx(24e6)
    assert found[4, 0]["step_ns"] == pytest.approx(2 * plain[4, 0]["step_ns"])
