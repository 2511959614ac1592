"""What a report says of two runs: which is faster, why, and whether they can be compared."""

from types import SimpleNamespace

from tracekit import units
from tracekit.cli import certainty, page, waterfall
from tracekit.report import pictures
from tracekit.report.document import Column, Figure, Finding, Section, table
from tracekit.report.measured import Measured
from tracekit.report.tables import text

FOLD = 0.01
"""Share of the base under which changes are one row."""

TOP = 15
"""Kernels that are listed."""


def key_figures(measured: Measured, base: str, other: str) -> tuple[Figure, ...]:
    """How much faster the other run is; none where nothing can be compared."""
    return tuple(
        Figure(f"{other} against {base}", f"{row.speedup:.2f}", "x as fast", _certainty(row))
        for row in _main(measured, base, other)
        if not row.has_unknown_tokens
    )


def findings(measured: Measured, base: str, other: str) -> tuple[Finding, ...]:
    """Which run is faster, and what makes most of the difference."""
    context = measured.ask("compare_context", base=base, other=other)
    refused = [row for row in context if row.verdict == "differs" and row.effect == "refused"]
    if refused:
        names = ", ".join(row.fact for row in refused)
        proof = table("What forbids it", refused, CONTEXT)
        differ = "differs" if len(refused) == 1 else "differ"
        return (Finding(f"{base} and {other} cannot be compared: {names} {differ}.", "", proof),)
    rows = measured.ask("compare_headline", base=base, other=other)
    if not rows:
        proof = table("What they are", context, CONTEXT)
        return (Finding(f"{base} and {other} have no steps of one load in common.", "", proof),)
    (main,) = _main(measured, base, other)
    certain = " ".join(filter(None, (_samples(main), certainty.stalled(main, (base, other)))))
    return (Finding(_sentence(main, base, other), certain, table("Runs", rows, HEADLINE)),)


def sections(measured: Measured, base: str, other: str) -> tuple[Section, ...]:
    """The waterfall from one to the other, kernels that changed, and what the runs were."""
    context = measured.ask("compare_context", base=base, other=other)
    same = Section("What is the same, and what differs", tables=(table("Facts", context, CONTEXT),))
    found = [
        section
        for row in _main(measured, base, other)
        for section in _of_steps(measured, base, other, row)
    ]
    return (*found, same)


def _main(measured: Measured, base: str, other: str) -> list[SimpleNamespace]:
    context = measured.ask("compare_context", base=base, other=other)
    if any(row.verdict == "differs" and row.effect == "refused" for row in context):
        return []
    rows = measured.ask("compare_headline", base=base, other=other)
    return [row for row in rows if row.is_main]


def _of_steps(
    measured: Measured, base: str, other: str, row: SimpleNamespace
) -> tuple[Section, ...]:
    runs = {"base": base, "other": other, "batch": row.batch}
    bars = measured.ask("compare_waterfall", **runs, fold=FOLD)
    kernels = measured.ask("compare_kernels", **runs, top=TOP)
    words = (
        f"Milliseconds of {'a token' if row.basis == 'token' else 'a step'}, from {base} to "
        f"{other}: the changes add up to the difference exactly. Fewer passes is what {base} would "
        "save if its own step gave as many tokens."
    )
    total = table(
        "What changes", bars, _waterfall(row), lambda bar: bar.row_kind in ("base", "other")
    )
    shown = table("Kernels that change most, per step", kernels, KERNELS)
    chart = pictures.waterfall(bars, base, other)
    return (
        Section(f"From {base} to {other}", (words,), (chart,), (total,)),
        Section("Kernels that changed", (), (), (shown,)),
    )


def _sentence(row: SimpleNamespace, base: str, other: str) -> str:
    what = "an emitted token" if row.basis == "token" else "a step"
    if row.verdict == "faster":
        return f"{other} is {row.speedup:.2f}x faster than {base}, for {what}."
    if row.verdict == "slower":
        return f"{other} is {row.ratio:.2f}x slower than {base}, for {what}."
    told = f"Which of {base} and {other} is faster, for {what}, cannot be told"
    why = certainty.why_not(row)
    return f"{told}: {why}." if why else f"{told}."


def _samples(row: SimpleNamespace) -> str:
    if row.has_unknown_tokens:
        return ""
    if row.ratio_low is None:
        return "It takes 8 steps on each side to tell what may be chance."
    more = (
        ""
        if row.base_more is None
        else f" {row.base_more:,} and {row.other_more:,} more {row.unit}s would tell."
    )
    return (
        f"The 95 % interval of the speed-up is {_interval(row)}; one sample is a {row.unit}.{more}"
    )


def _interval(row: SimpleNamespace) -> str:
    low, high = row.speedup_low, row.speedup_high
    return "" if low is None else f"{low:.2f} to {high:.2f}"


def _certainty(row: SimpleNamespace) -> str:
    interval = _interval(row)
    if not interval:
        return "too few steps for an interval"
    return f"95 %: {interval}" + ("; stalled steps decide it" if row.is_decided_by_stalls else "")


def _ms(ns: float | None) -> str:
    return "" if ns is None else units.ms(ns)


def _change(row: SimpleNamespace) -> str:
    is_whole = row.row_kind in ("base", "other")
    return units.ms(row.change_ns) if is_whole else units.ms_change(row.change_ns)


def _part(row: SimpleNamespace) -> str:
    is_step = row.row_kind in ("base", "other", "tokens")
    return pictures.bar_name(row, "base", "other") if is_step else waterfall.part(row)


def _waterfall(main: SimpleNamespace) -> list[Column]:
    """Of the report `compare_waterfall`; what fewer passes save is no time of a step."""
    unit = "token" if main.basis == "token" else "step"
    return [
        ("part", _part),
        (">base ms of a step", lambda row: _of_step(row, row.base_step_ns)),
        (">other ms of a step", lambda row: _of_step(row, row.other_step_ns)),
        (f">change, ms of a {unit}", _change),
        ("why", lambda row: _why(row, main)),
    ]


def _of_step(row: SimpleNamespace, ns: float | None) -> str:
    return "" if row.row_kind == "tokens" else _ms(ns)


def _why(row: SimpleNamespace, main: SimpleNamespace) -> str:
    if row.row_kind == "tokens":
        return f"{waterfall.tokens(main)} of a step"
    return ", ".join(waterfall.causes(row))


HEADLINE: list[Column] = [
    (">requests", lambda row: text(row.batch)),
    (">steps", lambda row: f"{row.base_steps:,}, {row.other_steps:,}"),
    (">base step, median ms", lambda row: _ms(row.base_step_p50_ns)),
    (">other", lambda row: _ms(row.other_step_p50_ns)),
    (">base ms per token", lambda row: _ms(row.base_ns_per_token)),
    (">other", lambda row: _ms(row.other_ns_per_token)),
    (">speed-up", lambda row: "" if row.speedup is None else f"{row.speedup:.2f}"),
    (">95 %", lambda row: _interval(row)),
    ("verdict", lambda row: row.verdict),
]
KERNELS: list[Column] = [
    ("", lambda row: text(row.change)),
    ("phase", lambda row: text(row.phase)),
    ("kernel", lambda row: f"{row.n_folded:,} more" if row.n_folded else row.name),
    (">base us", lambda row: "" if row.base_step_ns is None else units.us(row.base_step_ns)),
    (">other us", lambda row: "" if row.other_step_ns is None else units.us(row.other_step_ns)),
    (">base calls", lambda row: page.calls(row.base_calls)),
    (">other calls", lambda row: page.calls(row.other_calls)),
]
CONTEXT: list[Column] = [
    ("fact", lambda row: row.fact),
    ("base", lambda row: text(row.base)),
    ("other", lambda row: text(row.other)),
    ("", lambda row: row.verdict),
]
