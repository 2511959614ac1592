"""How often intervals of `tracekit compare` hold the truth, and how often it finds a difference.

Usage: python benchmarks/coverage.py [--seeds N]

Two runs of generated steps are compared by the report itself (compare_headline), once for each
seed: each seed is a batch size of its own, so that one query compares many. A step takes 12 ms,
with a coefficient of variation of 5 % on each of 8 ranks, 90 % of whose variance all ranks share.
docs/compare.md quotes the results. Needs the extra `dev`: numpy and pandas.
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass

import duckdb
import numpy as np
import pandas as pd

from tracekit import queries, schema

STEP_NS = 12e6
VARIATION = 0.05
N_RANKS = 8
SHARED = 0.9
"""Part of the variance that all ranks of a step have in common."""

SEEDS_AT_ONCE = 100
"""Seeds in one query: 100 of 200 steps take about 1 GB."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """Two runs of `n_steps`; `correlation` is that of a step with the one before (AR(1)).

    `shift` is what steps of the other run take longer. With `has_drafts` a step gives one to four
    tokens, which it tells.
    """

    n_steps: int
    correlation: float
    shift: float = 0.0
    has_drafts: bool = False


@dataclass(frozen=True, slots=True)
class Rates:
    """Shares of the seeds, and half the width of the interval of the ratio (median over seeds)."""

    covers: float
    covers_median: float
    finds: float
    half_width: float


SCENARIOS = (
    Scenario(200, 0.0),
    Scenario(200, 0.5),
    Scenario(200, 0.0, shift=0.05),
    Scenario(200, 0.5, shift=0.05),
    Scenario(200, 0.5, has_drafts=True),
    Scenario(40, 0.0),
    Scenario(40, 0.5),
    Scenario(15, 0.0),
    Scenario(15, 0.5),
)


def rates(scenario: Scenario, n_seeds: int) -> Rates:
    """What the report says of `n_seeds` pairs of runs, held against the truth."""
    found = pd.concat(_compared(scenario, n_seeds), ignore_index=True)
    truth = 1 + scenario.shift
    covers = found.ratio_low.le(truth) & found.ratio_high.ge(truth)
    covers_median = found.step_ratio_low.le(truth) & found.step_ratio_high.ge(truth)
    width = (found.ratio_high - found.ratio_low) / 2
    return Rates(
        covers=float(covers.mean()),
        covers_median=float(covers_median.mean()),
        finds=float((found.verdict != "cannot tell").mean()),
        half_width=float(width.median()),
    )


def _compared(scenario: Scenario, n_seeds: int) -> Iterator[pd.DataFrame]:
    for first in range(0, n_seeds, SEEDS_AT_ONCE):
        n = min(SEEDS_AT_ONCE, n_seeds - first)
        with duckdb.connect() as con:
            schema.apply(con)
            queries.install(con)
            _fill(con, scenario, np.random.default_rng(first), n)
            yield queries.run(con, "compare_headline", base="base", other="other").df()


def _fill(
    con: duckdb.DuckDBPyConnection, scenario: Scenario, rng: np.random.Generator, n_seeds: int
) -> None:
    for run, shift in (("base", 0.0), ("other", scenario.shift)):
        con.execute("INSERT INTO run (run, backend, is_synthetic) VALUES (?, 'gpu', true)", [run])
        times = STEP_NS * (1 + shift) * (1 + VARIATION * _noise(rng, scenario, n_seeds))
        steps = _rows(times, rng, has_drafts=scenario.has_drafts)
        con.register("steps_made", steps)
        con.execute(_INSERT, [run])
        con.unregister("steps_made")


def _noise(rng: np.random.Generator, scenario: Scenario, n_seeds: int) -> np.ndarray:
    """Noise of variance 1, by seed, rank and step."""
    shared = _correlated(rng, scenario.correlation, (n_seeds, 1, scenario.n_steps))
    own = _correlated(rng, scenario.correlation, (n_seeds, N_RANKS, scenario.n_steps))
    return np.sqrt(SHARED) * shared + np.sqrt(1 - SHARED) * own


def _correlated(rng: np.random.Generator, correlation: float, shape: tuple[int, ...]) -> np.ndarray:
    noise = rng.standard_normal(shape)
    for step in range(1, shape[-1]):
        fresh = np.sqrt(1 - correlation**2) * noise[..., step]
        noise[..., step] = correlation * noise[..., step - 1] + fresh
    return noise


def _rows(times: np.ndarray, rng: np.random.Generator, *, has_drafts: bool) -> pd.DataFrame:
    n_seeds, n_ranks, n_steps = times.shape
    seed, rank, step = (axis.ravel() for axis in np.indices(times.shape))
    accepted = rng.integers(0, 4, (n_seeds, 1, n_steps)) if has_drafts else np.zeros((1, 1, 1), int)
    tokens = np.broadcast_to((1 + accepted) * np.arange(1, n_seeds + 1)[:, None, None], times.shape)
    # Runs are one after the other: a step's number tells its seed too.
    return pd.DataFrame(
        {
            "rank": rank,
            "step": seed * n_steps + step,
            "dur_ns": np.rint(times).astype(np.int64).ravel(),
            "n_reqs": seed + 1,
            "n_emitted": tokens.ravel(),
            "is_verify": has_drafts,
        }
    )


_INSERT = """
INSERT INTO step (
    run, file_id, dp, rank, step, kind, start_ns, dur_ns, busy_ns, idle_ns, wait_for_work_ns,
    n_prefill_reqs, n_decode_reqs, is_verify, n_emitted_tokens, is_complete
)
SELECT ?, 0, 0, rank, step, 'decode', 0, dur_ns, dur_ns, 0, 0, 0, n_reqs, is_verify, n_emitted, true
FROM steps_made
"""


def main() -> None:
    """Print a row of a Markdown table for each scenario."""
    parser = argparse.ArgumentParser(description="Coverage of the intervals of tracekit compare.")
    parser.add_argument("--seeds", type=int, default=2000)
    n_seeds = parser.parse_args().seeds
    print("| steps | correlation | shift | drafts | covers | of medians | finds | half width |")
    print("|---|---|---|---|---|---|---|---|")
    for scenario in SCENARIOS:
        told = rates(scenario, n_seeds)
        print(
            f"| {scenario.n_steps} | {scenario.correlation} | {scenario.shift:.0%} |"
            f" {'yes' if scenario.has_drafts else 'no'} | {told.covers:.1%} |"
            f" {told.covers_median:.1%} | {told.finds:.1%} | {told.half_width:.2%} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
