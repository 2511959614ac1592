"""Comparisons of two runs: figures, intervals and verdicts."""

import json
import random
from itertools import accumulate
from types import SimpleNamespace

import pytest
from comparing import add_run
from database import add, dicts, us

from tracekit import queries

# Ten steps around 10 ms, whose order has no pattern.
NOISE = [0, 70, -60, 20, -90, 50, 90, -30, -70, 20]
STEADY = [10_000 + noise for noise in NOISE]


def compare(con, base="base", other="other", **params):
    (row,) = dicts(con, "compare_headline", base=base, other=other, **params)
    return SimpleNamespace(**row)


def test_time_per_token_is_that_of_all_steps_over_all_tokens(empty):
    add_run(empty, "base", STEADY)
    add_run(empty, "other", [16_000, 12_000] * 5, [3, 1] * 5)
    row = compare(empty)
    assert (row.base_ns_per_token, row.other_ns_per_token) == (us(10_000), us(7_000))
    assert (row.base_tokens_per_step, row.other_tokens_per_step) == (1, 2)
    assert row.base_tokens_per_s == pytest.approx(100)
    assert row.ratio == pytest.approx(0.7)
    assert row.speedup == pytest.approx(1 / 0.7)
    assert row.step_ratio == pytest.approx(14_000 / 10_010)
    assert row.break_even_tokens_per_step == pytest.approx(1.4)
    assert (row.unit, row.basis, row.base_token_source) == ("step", "token", "trace")


def test_steps_that_never_vary_leave_no_doubt(empty):
    add_run(empty, "base", [10_000] * 9)
    add_run(empty, "other", [10_001] * 9)
    row = compare(empty)
    assert row.verdict == "slower"
    assert row.ratio_low == pytest.approx(row.ratio_high) == pytest.approx(1.0001)


def test_a_clear_difference_is_told_and_its_interval_holds_it(empty):
    add_run(empty, "base", STEADY)
    add_run(empty, "other", [1.05 * time for time in STEADY])
    row = compare(empty)
    assert row.verdict == "slower"
    assert 1.03 < row.ratio_low < 1.05 < row.ratio_high < 1.07
    assert row.step_ratio_low < 1.05 < row.step_ratio_high
    assert (row.base_more, row.other_more) == (None, None)
    assert compare(empty, "other", "base").verdict == "faster"


def test_both_directions_say_the_same(empty):
    add_run(empty, "base", STEADY)
    add_run(empty, "other", [1.01 * time for time in reversed(STEADY)])
    one, two = compare(empty), compare(empty, "other", "base")
    assert one.ratio * two.ratio == pytest.approx(1)
    assert one.ratio_low * two.ratio_high == pytest.approx(1, abs=0.001)


def test_what_may_be_chance_is_not_called_a_difference(empty):
    add_run(empty, "base", STEADY)
    add_run(empty, "other", [1.003 * time for time in STEADY])
    row = compare(empty)
    assert row.verdict == "cannot tell"
    assert row.ratio_low < 1 < row.ratio_high
    # Half of the interval is `half` wide: it takes (half / 0.003) ** 2 times the steps.
    times = (1.003 / row.ratio_low - 1) / 0.003
    assert row.base_more == row.other_more == pytest.approx(10 * (times**2 - 1), rel=0.05)


def test_no_number_of_steps_is_named_for_runs_that_are_alike(empty):
    add_run(empty, "base", STEADY)
    add_run(empty, "other", STEADY)
    row = compare(empty)
    assert (row.ratio, row.verdict, row.base_more) == (1, "cannot tell", None)


def test_fewer_than_eight_steps_have_no_interval(empty):
    add_run(empty, "base", STEADY)
    add_run(empty, "other", [20_000] * 7)
    row = compare(empty)
    assert (row.verdict, row.ratio_low, row.base_more) == ("cannot tell", None, None)
    assert row.ratio == pytest.approx(2)


# Four steps of fifty that take five times as long, among 1 % of noise.
SPIKED = [50_000 if step % 12 == 5 else time for step, time in enumerate(STEADY * 5)]


def test_stalled_steps_make_no_verdict(empty):
    add_run(empty, "base", STEADY * 5)
    add_run(empty, "other", SPIKED)
    row = compare(empty)
    assert row.ratio_low > 1
    assert (row.verdict, row.is_decided_by_stalls, row.base_more) == ("cannot tell", True, None)
    assert (row.base_stalled, row.other_stalled, row.other_stalled_max_ns) == (0, 4, us(50_000))
    assert row.base_stalled_max_ns is None
    assert row.steady_ratio_low < 1 < row.steady_ratio_high < 1.01
    assert row.steady_speedup == pytest.approx(1 / row.steady_ratio)


def test_a_difference_that_stands_without_stalled_steps_is_told(empty):
    add_run(empty, "base", STEADY * 5)
    add_run(empty, "other", [2 * time for time in SPIKED])
    row = compare(empty)
    assert (row.verdict, row.is_decided_by_stalls) == ("slower", False)
    assert row.steady_ratio == pytest.approx(2, rel=0.01)
    assert row.steady_other_ns_per_token_low < us(20_000) < row.steady_other_ns_per_token_high


def test_without_stalled_steps_there_is_one_interval(empty):
    add_run(empty, "base", STEADY)
    add_run(empty, "other", [2.9 * time for time in STEADY])
    row = compare(empty)
    assert (row.verdict, row.other_stalled, row.steady_ratio) == ("slower", 0, None)


def test_a_slow_run_among_repeats_is_not_stalled(empty):
    for name, factor in (("base0", 1), ("base1", 4), ("other0", 1), ("other1", 1)):
        add_run(empty, name, [factor * time for time in STEADY])
    row = compare(empty, ["base0", "base1"], ["other0", "other1"])
    assert (row.unit, row.base_stalled, row.steady_ratio) == ("run", 0, None)


def test_the_same_steps_have_the_same_interval_each_time(empty):
    add_run(empty, "base", STEADY)
    add_run(empty, "other", STEADY[::-1])
    first, again = compare(empty), compare(empty, ["base"], ["other"])
    assert first.ratio_low < 1
    for end in ("ratio_low", "ratio_high", "step_ratio_low", "step_ratio_high"):
        assert getattr(first, end) == pytest.approx(getattr(again, end), rel=1e-12)


def test_steps_that_follow_one_another_count_for_less(empty):
    chance = random.Random(3)
    drift = list(accumulate((chance.gauss(0, 50) for _ in range(80)), lambda x, e: 0.8 * x + e))
    mixed = chance.sample(drift, 80)
    add_run(empty, "base", [10_000] * 80)
    add_run(empty, "drift", [10_000 + off for off in drift])
    add_run(empty, "mixed", [10_000 + off for off in mixed])
    slow, quick = compare(empty, other="drift"), compare(empty, other="mixed")
    assert slow.other_autocorrelation > 0.6 > 0.2 > quick.other_autocorrelation
    assert slow.other_block > 2 * quick.other_block
    assert slow.ratio_high - slow.ratio_low > 2 * (quick.ratio_high - quick.ratio_low)


def test_where_both_sides_have_repeats_a_run_is_one_sample(empty):
    for number, offset in enumerate((0, 400, -400)):
        add_run(empty, f"base{number}", [time + offset for time in STEADY])
        add_run(empty, f"other{number}", [1.02 * time + offset for time in STEADY])
    one = compare(empty, "base0", "other0")
    both = compare(empty, ["base0", "base1", "base2"], ["other0", "other1", "other2"])
    assert (one.unit, both.unit, both.base_block) == ("step", "run", None)
    assert (both.base_runs, both.base_steps) == (3, 30)
    assert one.verdict == "slower"
    assert both.verdict == "cannot tell"
    assert both.base_more < 100  # runs, not steps


def test_repeats_on_one_side_leave_the_step_the_sample(empty):
    for name in ("base0", "base1", "other"):
        add_run(empty, name, STEADY)
    row = compare(empty, ["base0", "base1"])
    assert (row.unit, row.base_runs, row.base_steps, row.other_runs) == ("step", 2, 20, 1)


def test_batch_sizes_are_compared_apart(empty):
    for name, factor in (("base", 1), ("other", 2)):
        add_run(empty, name, STEADY)
        for step, n_reqs in enumerate([4] * 12 + [7 + factor] * 20, start=10):
            times = {"dur_ns": us(20_000 * factor), "busy_ns": us(1), "idle_ns": us(1)}
            load = {"n_prefill_reqs": 0, "n_decode_reqs": n_reqs, "n_emitted_tokens": n_reqs}
            add(empty, "step", name, rank=0, step=step, kind="decode", **times, **load)
    rows = dicts(empty, "compare_headline", base="base", other="other")
    assert [(row["batch"], row["is_main"]) for row in rows] == [(1, False), (4, True)]
    assert [row["ratio"] for row in rows] == [pytest.approx(1), pytest.approx(2)]
    assert compare(empty, batch=4).base_ns_per_token == us(20_000)
    bars = dicts(empty, "compare_waterfall", base="base", other="other")
    assert bars[0]["to_ns"] == us(20_000)


def test_where_batch_sizes_are_not_known_all_steps_are_compared(empty):
    add_run(empty, "base", STEADY)
    add_run(empty, "other", STEADY, n_reqs=None)
    row = compare(empty)
    assert (row.batch, row.base_steps, row.basis) == (None, 10, "token")


def test_without_tokens_steps_are_compared(empty):
    add_run(empty, "base", STEADY)
    add_run(empty, "other", [2 * time for time in STEADY], tokens=None)
    row = compare(empty)
    assert (row.basis, row.base_ns_per_token, row.other_tokens_per_s) == ("step", None, None)
    assert row.ratio == pytest.approx(2)
    assert (row.has_unknown_tokens, row.verdict, row.speedup) == (True, "cannot tell", None)
    bars = dicts(empty, "compare_waterfall", base="base", other="other")
    assert [bar["row_kind"] for bar in bars] == ["base", "overlap", "idle", "other"]


def add_counters(con, name, drafts, *accepted):
    """Counters of a window with `drafts` drafts, of which `accepted` are by position."""
    rows = [
        ("num_drafts", {}, drafts),
        ("num_draft_tokens", {}, drafts * len(accepted)),
        ("num_accepted_tokens", {}, sum(accepted)),
        *(
            ("num_accepted_tokens_per_pos", {"position": f"{place}"}, number)
            for place, number in enumerate(accepted)
        ),
    ]
    for metric, labels, value in rows:
        row = {"name": f"vllm:spec_decode_{metric}_total", "labels": json.dumps(labels)}
        add(con, "counter", name, moment="before", value=0, **row)
        add(con, "counter", name, moment="after", value=value, **row)


@pytest.mark.parametrize("drafts", [100, 10_000])
def test_counters_add_what_acceptance_varies_by_chance(empty, drafts):
    add_run(empty, "base", [10_000] * 40)
    add_run(empty, "other", [20_000] * 40, tokens=None)
    add_counters(empty, "other", drafts, drafts // 2, drafts // 2)
    row = compare(empty)
    # Both drafts accepted or none: 2 tokens a step, give or take 1 / sqrt(drafts).
    assert (row.other_token_source, row.other_tokens_per_step) == ("counters", 2)
    width = (row.ratio_high - row.ratio_low) / row.ratio
    assert width == pytest.approx(2 * 2.02 / 2 / drafts**0.5, rel=0.06)


def test_waiting_for_work_is_no_time_of_a_token(empty):
    add_run(empty, "base", STEADY)
    add_run(empty, "other", STEADY)
    empty.execute(
        "UPDATE step SET dur_ns = dur_ns * 9, wait_for_work_ns = dur_ns * 8 WHERE run = 'other'"
    )
    assert compare(empty).ratio == 1


def test_samples_of_the_bootstrap_are_as_random_as_they_must_be(empty):
    """What the hash of one number gives: draws of a replicate add up like independent ones."""
    text = queries.load("compare_headline").sql
    assert "hash(key + draw) / 2.0 ** 64" in text
    (variance,) = empty.execute(
        """
        SELECT 12 * 200 * var_pop(mean)
        FROM (
            SELECT replicate, avg(hash(1000000 * replicate + draw) / 2.0 ** 64) AS mean
            FROM range(2000) AS a (replicate), range(1, 201) AS b (draw)
            GROUP BY replicate
        )
        """
    ).fetchone()
    assert variance == pytest.approx(1, abs=0.1)


def test_tokens_that_a_log_told_are_said_to_be_of_the_log(empty):
    add_run(empty, "base", STEADY)
    add_run(empty, "other", STEADY, tokens=None)
    row = {"n_drafted": 8, "n_accepted": 4, "acceptance_rate": 0.5, "mean_acceptance_length": 2}
    add(empty, "spec_sample", "other", **row)
    found = compare(empty)
    assert (found.base_token_source, found.other_token_source) == ("trace", "log")
    assert found.other_tokens_per_step == 2
    (headline,) = dicts(empty, "breakdown_headline", run="other")
    assert headline["token_source"] == "log"


def test_of_several_sources_the_least_certain_is_told(empty):
    add_run(empty, "base", STEADY)
    add_run(empty, "counted", STEADY, tokens=None)
    add_counters(empty, "counted", 100, 50, 50)
    add_run(empty, "told", STEADY)
    assert compare(empty, other=["counted", "told"]).other_token_source == "counters"
