"""Which rank a report calls late: by the rule of the page of collectives."""

from types import SimpleNamespace

import pytest

from tracekit.report import summary

SHARES = {"last_share": 0.5, "host_share": 0.6, "device_share": 0.2}
TIMES = {"lateness_ns": 10, "wait_ns": 10, "cost_ns": 1_000_000}


def told(*shares):
    """What is found of ranks for which those shares of the waiting are."""
    ranks = [
        SimpleNamespace(dp=0, rank=rank, cost_share=share, **SHARES, **TIMES)
        for rank, share in enumerate(shares)
    ]
    rows = {"breakdown_headline": [SimpleNamespace(kind="decode")], "comm_ranks": ranks}
    asked = SimpleNamespace(ask=lambda name, **_params: rows[name])
    run = SimpleNamespace(run="x", n_engines=1)
    return [finding.title for finding in summary.findings(asked, run, ("ranks",))]


@pytest.mark.parametrize("shares", [(), (None, None), (0.551, 0.449), (0.3, 0.25, 0.25, 0.2)])
def test_a_rank_with_about_its_even_share_is_no_finding(shares):
    assert told(*shares) == []


@pytest.mark.parametrize("shares", [(0.75, 0.25), (0.4, 0.2, 0.2, 0.2)])
def test_a_rank_with_half_as_much_again_is_one(shares):
    (title,) = told(*shares)
    assert title.startswith(f"{100 * shares[0]:.1f} % of the waiting is for rank 0")
