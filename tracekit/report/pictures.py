"""The report's charts: rows of its queries as bars."""

from types import SimpleNamespace

from tracekit import units
from tracekit.cli import page
from tracekit.colors import group_of, groups
from tracekit.report.charts import Bar, Chart, Part, bars
from tracekit.report.charts import histogram as upright

NS_PER_MS = 1e6
NS_PER_US = 1e3
FOLDED = "folded"
IDLE = {"idle": "idle", "wait_for_work": "wait"}


def style(category: str | None) -> str:
    """Name of a category's colour in the style sheet."""
    return FOLDED if category is None else f"c{groups().index(group_of(category))}"


def breakdown(rows: list[SimpleNamespace], figures: SimpleNamespace) -> Chart:
    """Time of a step: a bar for each phase, its categories beside each other."""
    work = [row for row in rows if row.row_kind == "work"]
    phases = list(dict.fromkeys(row.phase for row in work))
    shown = [_stacked(phase, [row for row in work if row.phase == phase]) for phase in phases]
    rest = [row for row in rows if row.row_kind in IDLE and row.busy_ns > 0]
    shown.append(Bar("idle", _beside([(row, IDLE[row.row_kind]) for row in rest])))
    used = {row.category for row in work if row.category}
    legend = [(style(g.categories[0]), g.name) for g in groups() if used & set(g.categories)]
    more = [(FOLDED, "small rows")] if any(row.n_folded for row in work) else []
    alt = (
        f"Milliseconds of a {figures.kind} step of {units.ms(figures.step_ns)} ms, by phase and "
        "kernel category; the table below has the numbers."
    )
    legend += [*more, ("idle", "idle"), *([("wait", "no request")] if len(rest) > 1 else [])]
    return bars("Step time by phase and category", alt, shown, "ms", legend)


def _stacked(phase: str, rows: list[SimpleNamespace]) -> Bar:
    return Bar(phase, _beside([(row, style(row.category)) for row in rows]))


def _beside(rows: list[tuple[SimpleNamespace, str]]) -> tuple[Part, ...]:
    parts, at = [], 0.0
    for row, colour in rows:
        end = at + row.busy_ns / NS_PER_MS
        name = row.category or (
            f"{row.n_folded} more" if row.n_folded else page.CLOSING.get(row.row_kind, row.row_kind)
        )
        share = page.per_cent(row.share_of_step)
        parts.append(Part(at, end, colour, f"{name}: {units.ms(row.busy_ns)} ms, {share}", name))
        at = end
    return tuple(parts)


def histogram(spans: list[SimpleNamespace], figures: SimpleNamespace) -> Chart:
    """Steps by duration, the median marked."""
    width = spans[0].high_ns or 2 * spans[0].low_ns
    last_ns = spans[-1].low_ns + (width - spans[0].low_ns)
    drawn = [
        (
            span.low_ns / NS_PER_MS,
            (span.high_ns or last_ns) / NS_PER_MS,
            span.n,
            f"{page.counted(span.n, 'step')} from {units.ms(span.low_ns)} ms",
        )
        for span in spans
    ]
    marks = [(figures.step_p50_ns / NS_PER_MS, f"median {units.ms(figures.step_p50_ns)} ms")]
    open_end = "; the last bar holds all that are longer" if spans[-1].high_ns is None else ""
    alt = f"How many of {page.counted(figures.n_steps, 'step')} take how long{open_end}."
    return upright("Steps by duration", alt, drawn, marks, "ms")


def waiting(parts: list[SimpleNamespace]) -> Chart:
    """Waiting and transfer of each collective in a step."""
    rows = [part for part in parts if part.phase is not None]
    shown = [
        Bar(
            f"{row.phase} {row.category}",
            _split(row),
            note=f"{units.percent(row.waiting_share, 0)} % waiting",
        )
        for row in rows
    ]
    legend = [("waiting", "waiting for the slowest rank"), ("transfer", "transfer")]
    if any(row.unmatched_ns for row in rows):
        legend.append(("idle", "calls not matched"))
    alt = "Milliseconds of a step in each collective, waiting and transfer apart."
    return bars("Waiting and transfer", alt, shown, "ms", legend)


def _split(row: SimpleNamespace) -> tuple[Part, ...]:
    kinds = {"waiting": "waiting", "transfer": "transfer", "unmatched": "idle"}
    parts, at = [], 0.0
    for kind, colour in kinds.items():
        time = getattr(row, f"{kind}_ns")
        end = at + time / NS_PER_MS
        parts.append(Part(at, end, colour, f"{kind}: {units.ms(time)} ms"))
        at = end
    return tuple(parts)


def transfers(rows: list[SimpleNamespace]) -> Chart:
    """Transfer of a call by message size: the median, with the 95th percentile."""
    shown = []
    for row in rows:
        median, high = row.transfer_p50_ns / NS_PER_US, row.transfer_p95_ns / NS_PER_US
        name = page.message(row.bytes, row.dtype) or "size not known"
        title = f"{row.category} {row.impl or ''}: {units.us(row.transfer_p50_ns)} us"
        part = Part(0.0, median, style(row.category), title)
        note = " ".join(filter(None, (row.category, row.impl)))
        shown.append(Bar(f"{row.phase}, {name}", (part,), (median, high), note))
    alt = "Microseconds that one call transfers, median; the line ends at the 95th percentile."
    return bars("Transfer of a call by message size", alt, shown, "us")


def acceptance(rows: list[SimpleNamespace]) -> Chart:
    """Accepted draft tokens of all drafts, by position."""
    shown = []
    for row in rows:
        drafts = "drafts" if row.drafts is None else f"{row.drafts:,} drafts"
        words = f"{page.per_cent(row.acceptance_rate)} of {drafts}"
        part = Part(0.0, 100 * row.acceptance_rate, "step", words)
        shown.append(Bar(f"position {row.position}", (part,), note=words))
    alt = "Per cent of drafts whose token at a position was accepted."
    return bars("Accepted by position", alt, shown, "%")


def prediction(rows: list[SimpleNamespace]) -> Chart:
    """Time of a token by drafted tokens, with the range of each."""
    shown = []
    for row in rows:
        time = row.ns_per_token / NS_PER_MS
        words = f"{units.ms(row.ns_per_token)} ms, {row.speedup:.2f}x"
        part = Part(0.0, time, "step" if row.is_best else FOLDED, words)
        ends = (row.ns_per_token_low / NS_PER_MS, row.ns_per_token_high / NS_PER_MS)
        shown.append(Bar(f"K={row.k}" if row.k else "no drafts", (part,), ends, words))
    alt = "Milliseconds of a token by drafted tokens of a step, K; the line is the range."
    legend = (("step", "the best"), (FOLDED, "the others"))
    return bars("Time of a token by drafted tokens", alt, shown, "ms", legend)


def waterfall(rows: list[SimpleNamespace], base: str, other: str) -> Chart:
    """From the time of a token in one run to that in another, change by change."""
    shown = []
    for row in rows:
        low, high = sorted((row.from_ns / NS_PER_MS, row.to_ns / NS_PER_MS))
        is_whole = row.row_kind in ("base", "other")
        colour = "step" if is_whole else "more" if row.change_ns > 0 else "less"
        words = units.ms(row.change_ns) if is_whole else units.ms_change(row.change_ns)
        name = bar_name(row, base, other)
        shown.append(Bar(name, (Part(low, high, colour, f"{name}: {words} ms"),), note=words))
    alt = f"Milliseconds of a token from {base} to {other}: what each change adds or saves."
    legend = (("more", "takes longer"), ("less", "is saved"))
    return bars("Why they differ", alt, shown, "ms", legend)


def bar_name(row: SimpleNamespace, base: str, other: str) -> str:
    """What a row of the report `compare_waterfall` is about."""
    if row.n_folded:
        return f"{row.n_folded} more"
    names = {"base": base, "other": other, "tokens": "fewer passes"}
    if row.row_kind != "part":
        return str(names.get(row.row_kind, row.row_kind))
    phase = None if row.category else row.phase
    return " ".join(filter(None, (phase, row.category, row.part)))
