"""What keeps a comparison from a verdict: steps that stalled, tokens nobody knows, too few runs.

Rows are of the report `compare_headline`.
"""

from types import SimpleNamespace

from tracekit import units
from tracekit.cli import page

ENOUGH = 3
"""Runs a side from which their spread tells something: two have one degree of freedom."""


def why_not(row: SimpleNamespace) -> str:
    """Why there is no verdict, where more than the interval says so; else empty."""
    if row.has_unknown_tokens:
        return "tokens of a step are not known, and drafts are verified"
    if row.is_decided_by_stalls:
        return "stalled steps decide it"
    fewest = min(row.base_runs, row.other_runs)
    is_few = row.unit == "run" and fewest < ENOUGH and row.base_more is None
    return f"too few runs: {fewest} on a side, take {ENOUGH} or more" if is_few else ""


def stalled(row: SimpleNamespace, sides: tuple[str, str]) -> str:
    """How many steps stalled, and what the comparison is without them; empty where none did."""
    words = zip(("base", "other"), sides, strict=True)
    told = [_of_side(row, side, name) for side, name in words if getattr(row, f"{side}_stalled")]
    if not told:
        return ""
    return f"{' and '.join(told)}; without stalled steps {_steady(row, sides[1])}."


def _of_side(row: SimpleNamespace, side: str, name: str) -> str:
    steps = page.counted(getattr(row, f"{side}_stalled"), "step")
    longest = units.ms(getattr(row, f"{side}_stalled_max_ns"))
    median = units.ms(getattr(row, f"{side}_step_p50_ns"))
    return f"{steps} of {name} stalled (up to {longest} ms, median {median} ms)"


def _steady(row: SimpleNamespace, other: str) -> str:
    low, high = row.steady_ratio_low, row.steady_ratio_high
    what = "emitted token" if row.basis == "token" else "step"
    interval = "too few steps for an interval" if low is None else f"{low:.3f} to {high:.3f}"
    return f"{other} takes {row.steady_ratio:.3f}x as long per {what} ({interval})"
