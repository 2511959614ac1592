"""Generated pairs of runs: what is measured is the truth's, predictions come near the others."""

import csv
from itertools import permutations

import pytest
from database import write_joined

import tracekit
from tracekit.whatif import predict

PAIR = [f"pair_eagle3_k{k}" for k in range(1, 6)]
RUNS = (
    *("pair_baseline", *PAIR, "losing_baseline", "losing_eagle3"),
    *("bound_baseline", "bound_eagle3"),
)
PAIRS = [(calibrated, k) for calibrated, k in permutations(range(1, 6), 2) if calibrated > 1]
TIMES = ("step_ns", "idle_ns", "pass_ns", "draft_ns", "sample_ns")


@pytest.fixture(scope="module")
def folder(tmp_path_factory, generated):
    out = tmp_path_factory.mktemp("pairs")
    for run in RUNS:
        (out / run).symlink_to(generated.written(run) / run)
    write_joined(out / "runs.duckdb", {run: generated.ingested(run)[1] for run in RUNS})
    return out


@pytest.fixture(scope="module")
def db(folder):
    return tracekit.open(folder / "runs.duckdb")


def table(path):
    return list(csv.DictReader(path.read_text().splitlines()))


def truth(folder, run):
    """Means of its decode steps, and accepted of drafts by position."""
    (decode,) = table(folder / run / "truth" / "decode.csv")
    positions = folder / run / "truth" / "spec.csv"
    rows = table(positions) if positions.exists() else []
    rates = [int(row["accepted"]) / int(row["drafts"]) for row in rows if row["position"]]
    return {name: int(value) for name, value in decode.items()}, rates


def predicted(db, run, calibrate, k, **given):
    rows = predict(db, run, calibrate, ks=f"{k}", concurrencies="1", **given).rows.records()
    return rows[-1]


def predicted_of_pair(db, folder, calibrated, k):
    """What a run of the pair says of K drafted tokens, and the truth."""
    means, rates = truth(folder, PAIR[k - 1])
    given = ",".join(map(str, rates))
    row = predicted(db, "pair_baseline", PAIR[calibrated - 1], k, acceptance=given)
    assert row.tokens_per_step == pytest.approx(1 + sum(rates))
    return row, means


@pytest.mark.parametrize("run", RUNS)
def test_what_is_measured_is_the_truth(db, folder, run):
    means, _ = truth(folder, run)
    (row,) = db.sql("FROM decode_costs WHERE run = $run", {"run": run}).records()
    assert row.n_steps == means["n_steps"]
    assert {name: round(getattr(row, name)) for name in TIMES} == {n: means[n] for n in TIMES}


@pytest.mark.parametrize("base", ["pair", "losing", "bound"])
def test_the_runs_it_is_calibrated_by_are_met_exactly(db, folder, base):
    run, k = {"pair": (PAIR[2], 3), "losing": ("losing_eagle3", 5), "bound": ("bound_eagle3", 3)}[
        base
    ]
    row = predicted(db, f"{base}_baseline", run, k)
    means, rates = truth(folder, run)
    assert row.step_ns == pytest.approx(means["step_ns"], abs=2)
    assert row.tokens_per_step == pytest.approx(1 + sum(rates))
    assert row.base_ns_per_token == pytest.approx(
        truth(folder, f"{base}_baseline")[0]["step_ns"], abs=2
    )
    assert {row.verify_kind, row.draft_kind, row.tokens_kind} == {"measured"}


@pytest.mark.parametrize(("calibrated", "k"), PAIRS)
def test_other_numbers_of_drafts_come_out_within_two_per_cent(db, folder, calibrated, k):
    row, means = predicted_of_pair(db, folder, calibrated, k)
    assert row.verify_ns == pytest.approx(means["pass_ns"], rel=0.02)
    assert row.draft_ns == pytest.approx(means["draft_ns"], rel=0.02)
    assert row.step_ns == pytest.approx(means["step_ns"], rel=0.02)
    assert row.verify_kind == row.draft_kind == "modelled"


@pytest.mark.parametrize("k", [2, 3, 4, 5])
def test_of_a_single_drafted_token_nothing_tells_what_comes_once(db, folder, k):
    """That is said, and the range holds the truth."""
    row, means = predicted_of_pair(db, folder, 1, k)
    assert row.draft_kind == "assumed"
    assert row.verify_ns == pytest.approx(means["pass_ns"], rel=0.02)
    assert abs(row.step_ns - means["step_ns"]) < row.step_error_ns


def test_from_the_baseline_alone_where_bytes_alone_take_time(db, folder):
    """Experts touched and NCCL's model of PCIe 5 are then all there is to a pass."""
    means, rates = truth(folder, "bound_eagle3")
    given = {"acceptance": ",".join(map(str, rates)), "draft_ns": float(means["draft_ns"])}
    row = predicted(db, "bound_baseline", None, 3, **given)
    assert row.verify_ns == pytest.approx(means["pass_ns"], rel=0.02)
    assert row.ns_per_token == pytest.approx(means["step_ns"] / (1 + sum(rates)), rel=0.02)


def test_where_drafts_pay_and_where_not(db):
    wins = predict(db, "pair_baseline", PAIR[2], concurrencies="1").rows.records()
    assert [row.k for row in wins if row.is_best] == [3]
    assert wins[3].speedup_low > 1
    loses = predict(db, "losing_baseline", "losing_eagle3", concurrencies="1").rows.records()
    assert [row.k for row in loses if row.is_best] == [0]
    assert loses[5].speedup_high < 1
    assert loses[5].break_even_acceptance > 0.6 > loses[1].break_even_acceptance
