"""Predictions beyond what was measured: nothing is negative, the range says what is not known."""

from types import SimpleNamespace

import pytest
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
    rows_of,
)

from tracekit.cli import whatif_page

BUSY = BASELINE | {"requests": 16, "tokens": 16, "gemm_ns": 9e6, "step_ns": 19e6}
FEW = SPECULATIVE | {"requests": 1, "tokens": 4}


def test_below_the_smaller_pass_no_part_shrinks_faster_than_its_tokens(empty):
    """GEMMs take 2 ms at 4 tokens and 9 at 16: on their line 0.25 ms at 1 token, so 2 / 4."""
    runs = [*known("baseline", BUSY), *known("speculative", FEW)]
    found = rows_of(empty, runs, known("model", DRAFTS), rates(0.8), concurrencies="1,4,8")
    assert found[1, 0]["gemm_ns"] == pytest.approx(2e6 / 4)
    assert found[4, 0]["gemm_ns"] == pytest.approx(2e6)
    assert found[8, 0]["gemm_ns"] == pytest.approx(2e6 + 7e6 * 4 / 12)
    assert found[16, 0]["step_ns"] == pytest.approx(19e6)
    assert [found[load, 0]["is_beyond"] for load in (1, 4, 8, 16)] == [True, False, False, False]
    assert found[16, 4]["is_beyond"]


def test_the_range_grows_with_what_was_extrapolated(empty):
    runs = [*known("baseline", BUSY), *known("speculative", FEW)]
    found = rows_of(empty, runs, known("model", DRAFTS), rates(0.8), concurrencies="1,4,8")
    errors = [found[load, 0]["step_error_ns"] / found[load, 0]["step_ns"] for load in (1, 4, 8, 16)]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] == 0 < errors[2]


SIZES = curve((14_336, 1_000), (57_344, 200_000))  # below 14,120 bytes its line is under 0
OVERLAPPING = {"rest_ns": -7e6}


@pytest.mark.parametrize("added", [{}, OVERLAPPING], ids=["apart", "overlapping"])
@pytest.mark.parametrize(("load", "drafted"), [(1, 1), (16, 5), (5, 16), (400, 1), (1, 400)])
def test_nothing_is_ever_negative_and_no_range_inverted(empty, added, load, drafted):
    steep = {"gemm_ns": 2e6 * load, "attention_ns": 3e6 * load, "waiting_ns": 5e6}
    base = BASELINE | added | steep | {"requests": load, "tokens": load}
    tokens = {"requests": drafted, "tokens": 4 * drafted}
    spec = SPECULATIVE | added | tokens | {"gemm_ns": 2e6 * drafted**2}
    sides = (known("baseline", base), known("speculative", spec))
    for runs in (sides[0], sides[1], [*sides[0], *sides[1]]):
        model = known("model", DRAFTS | EXPERTS)
        found = rows_of(empty, runs, model, SIZES, rates(0.8), concurrencies="1,4,64,2000")
        for row in found.values():
            assert min(row[part] for part in PARTS if part != "rest_ns") >= 0
            assert min(row["verify_ns"], row["idle_ns"], row["draft_ns"]) >= 0
            for name in ("ns_per_token", "tokens_per_s", "speedup"):
                assert 0 < row[f"{name}_low"] <= row[name] <= row[f"{name}_high"]


def test_the_range_of_an_assumed_acceptance_is_wide(empty):
    """0.7 stands for anything from 0.3 to 0.9 at each position."""
    ends = {"acceptance_low": 0.3, "acceptance_high": 0.9, "acceptance_beyond": 0.7}
    model = known("model", ends, "assumed")
    found = by_k(empty, known("baseline", BASELINE), model, rates(0.7), ks="1,3,20")
    for k in (1, 3, 20):
        low, high = (1 + sum(rate**n for n in range(1, k + 1)) for rate in (0.3, 0.9))
        tokens = found[k]["tokens_per_step"]
        factor = 1 + found[k]["tokens_error"] / tokens
        assert tokens / factor <= low * 1.000001
        assert tokens * factor >= high * 0.999999
        assert found[k]["assumed"] == "acceptance"


def test_an_assumed_draft_takes_from_nothing_to_twice_as_long(empty):
    plain = BASELINE | {"moe_gemm_ns": 0, "step_ns": 10e6}
    draft = known("model", {"draft_fraction": 0.1}, "assumed")
    found = by_k(empty, known("baseline", plain), draft, rates(0.8, 0.6))
    assert found[2]["step_error_ns"] == pytest.approx(found[2]["draft_ns"])
    assert found[2]["assumed"] == "draft time"
    given = by_k(empty, known("baseline", plain), known("model", {"draft_fraction": 0.1}, "given"))
    assert given[2]["step_error_ns"] == 0
    assert given[2]["assumed"] is None


def test_what_is_assumed_in_part_is_named(empty):
    split = known("model", {"draft_step_ns": 0, "draft_token_ns": 0.3e6}, "assumed")
    one = known("speculative", SPECULATIVE | {"k": 1, "tokens": 2, "draft_ns": 0.3e6})
    runs = [*known("baseline", BASELINE), *one]
    found = by_k(empty, runs, split, rates(0.8, beyond=0.8), ks="1,3")
    assert found[1]["assumed"] is None
    beyond = "acceptance beyond the positions counted and how drafting grows with K"
    assert found[3]["assumed"] == beyond


def test_the_row_of_the_own_load_is_of_its_mean(empty):
    """23 steps of one request and 22 of four."""
    mean = (23 + 22 * 4) / 45
    base = BASELINE | {"requests": mean, "tokens": mean, "steps": 45}
    found = rows_of(empty, known("baseline", base), rates(0.8), ks="1", concurrencies="1,4")
    assert [found[2, k]["requests"] for k in (0, 1)] == [pytest.approx(mean)] * 2
    assert found[2, 0]["step_ns"] == pytest.approx(12e6)
    assert found[2, 0]["tokens_per_s"] == pytest.approx(mean * 1e9 / 12e6)
    assert found[2, 0]["n_steps"] == 45
    assert whatif_page.load(SimpleNamespace(**found[2, 0])) == "a mean of 2.5 requests"
    assert whatif_page.load(SimpleNamespace(**found[1, 0])) == "1 request"


@pytest.mark.parametrize(("steps", "said"), [(1, "; of 1 step alone this cannot"), (8, "")])
def test_the_answer_of_few_steps_says_so(empty, steps, said):
    runs = [
        *known("baseline", BASELINE | {"steps": 30}),
        *known("speculative", SPECULATIVE | {"steps": steps}),
    ]
    found = rows_of(empty, runs, known("model", DRAFTS), rates(0.9, 0.8, 0.7), ks="3")
    answer = whatif_page.answer([SimpleNamespace(**row) for row in found.values()])
    assert said in answer
    assert ("alone" in answer) == bool(said)
