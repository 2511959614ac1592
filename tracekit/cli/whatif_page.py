"""A prediction as `tracekit whatif` shows it: the answer, K, the load, what it stands on."""

from types import SimpleNamespace

from tracekit import units
from tracekit.cli import output, page, table, whatif_inputs

Rows = list[SimpleNamespace]

LEGEND = (
    "tokens: a stream gets of a step; other: sampling, host, idle; gain: time per token without "
    "drafts / with them; even at: rate of acceptance at each position, given the one before, at "
    "which gain is 1"
)


def lines(rows: Rows, inputs: Rows, width: int) -> list[str]:
    """The page, best answer first."""
    own = [row for row in rows if row.is_own]
    tried = [row for row in own if row.k > 0]
    best = next(row for row in own if row.is_best)
    return [
        *table.wrapped(answer(own), width),
        *_by_k(tried, width),
        *table.wrapped(_growth(own[0], best if best.k else tried[-1]), width),
        *_by_load(rows, width),
        *whatif_inputs.lines(inputs, own[0], width),
        *(output.faint(line) for line in table.wrapped(LEGEND, width)),
    ]


def _by_k(tried: Rows, width: int) -> list[str]:
    """A line for each K; one for all, where they are the same."""
    if len(tried) == 1 or _differ(tried):
        return _table(tried, BY_K, width)
    return _table(tried[:1], [(table.Column("K"), lambda row: "any"), *BY_K[1:]], width)


PARTS = {
    "moe_gemm_ns": "MoE GEMM",
    "gemm_ns": "GEMM",
    "all_reduce_ns": "AllReduce",
    "attention_ns": "attention",
    "rest_ns": "rest",
}


def _growth(base: SimpleNamespace, row: SimpleNamespace) -> str:
    """What the pass consists of without drafts and with K, in ms."""
    if row.rest_ns is None or base.rest_ns is None:
        return ""
    told = ((name, getattr(base, part), getattr(row, part)) for part, name in PARTS.items())
    grown = [f"{name} {units.ms(old)} -> {units.ms(new)}" for name, old, new in told if new]
    return f"pass without drafts -> with K={row.k}, ms: {', '.join(grown)}"


def answer(own: Rows) -> str:
    """The best K at the run's own load, of the rows of that load, and how sure that is."""
    tried = [row for row in own if row.k > 0]
    best = next(row for row in own if row.is_best)
    if best.k == 0:
        return _losing(tried)
    told = _load(best)
    doubt = "; the range holds 1: it cannot be told whether it pays" if best.speedup_low < 1 else ""
    doubt += "; that hangs on what is assumed: measure or give it" if best.assumed else ""
    doubt += _few(best) + _extrapolated(best)
    which = f"K={best.k} is best {told}" if _differ(tried) else f"Whatever K, {told}"
    if len(tried) == 1:
        which = f"With K={best.k}, {told}"
    return f"{which}: {_instead(best)}, {_gain(best)}{doubt}."


def _load(row: SimpleNamespace) -> str:
    """The load of a row, and what of the row is assumed."""
    assumed = f", with {row.assumed} assumed" if row.assumed else ""
    return f"for {load(row)}{assumed}"


def load(row: SimpleNamespace) -> str:
    """Requests of a step; of a run whose steps differ, their mean."""
    if _is_mean(row):
        return f"a mean of {requests(row)} requests"
    return page.counted(row.concurrency, "request")


def _losing(tried: Rows) -> str:
    """That no K asked for pays, or that this cannot be told of all."""
    least = max(tried, key=lambda row: row.speedup)
    which = f"K={least.k}" if len(tried) == 1 else "any K"
    said = f"K={least.k} does not pay" if len(tried) == 1 else "No K pays"
    if any(row.speedup_high > 1 for row in tried):
        said = f"It cannot be told whether {which} pays"
    nearest = f"K={least.k} comes nearest with " if len(tried) > 1 else ""
    doubt = f"{_condition(least)}{_few(least)}{_extrapolated(least)}"
    return f"{said} {_load(least)}: {nearest}{_gain(least)}, {_instead(least)}{doubt}."


def _few(row: SimpleNamespace) -> str:
    """That the steps measured are too few to be sure."""
    if row.n_steps is None or row.n_steps >= ENOUGH_STEPS:
        return ""
    return f"; of {page.counted(row.n_steps, 'step')} alone this cannot be told surely"


ENOUGH_STEPS = 8
"""Steps on a side from which an answer is given without a word on their number."""


def _extrapolated(row: SimpleNamespace) -> str:
    said = "no measured pass has so few or so many tokens: this is extrapolated"
    return f"; {said}" if row.is_beyond else ""


def _instead(row: SimpleNamespace) -> str:
    return f"{units.ms(row.ns_per_token)} ms/token instead of {units.ms(row.base_ns_per_token)}"


def _condition(row: SimpleNamespace) -> str:
    rate = row.break_even_acceptance
    return "" if rate is None else f"; it would pay from {page.per_cent(rate)} acceptance on"


def _differ(rows: Rows) -> bool:
    return len({(row.tokens_per_step, row.step_ns) for row in rows}) > 1


def _gain(row: SimpleNamespace) -> str:
    sides = "" if row.speedup_low == row.speedup_high else f" ({span(row)})"
    return f"{row.speedup:.2f}x{sides}"


def span(row: SimpleNamespace) -> str:
    """Range of the speed-up; an end that only rounds to 1 says on which side it is."""
    return f"{_end(row.speedup_low)}-{_end(row.speedup_high)}"


def _end(speedup: float) -> str:
    text = f"{speedup:.2f}"
    side = "" if speedup == 1 else "<" if speedup < 1 else ">"
    return f"{side}{text}" if text == "1.00" else text


def _table(rows: Rows, columns: list[table.Spec], width: int) -> list[str]:
    heading, *cells = table.of(rows, columns, width)
    marked = [
        output.strong(line) if row.is_best else line for row, line in zip(rows, cells, strict=True)
    ]
    return ["", output.strong(heading), *marked]


def _by_load(rows: Rows, width: int) -> list[str]:
    """The best K of each load, where there are several."""
    best = [row for row in rows if row.is_best]
    if len(best) == 1:
        return []
    notes = (_untold(rows), _beyond(rows))
    return [
        *_table(best, BY_LOAD, width),
        *(line for note in notes for line in table.wrapped(note, width)),
    ]


def _untold(rows: Rows) -> str:
    """The loads at which a range holds 1: of the best K, or of any where none is."""
    pays = {row.concurrency: row.k > 0 for row in rows if row.is_best}
    shown = (row for row in rows if row.k > 0 and row.speedup_low < 1 < row.speedup_high)
    loads = dict.fromkeys(
        requests(row) for row in shown if row.is_best or not pays[row.concurrency]
    )
    said = "The range holds 1, so it cannot be told whether it pays: requests"
    return f"{said} {', '.join(loads)}." if loads else ""


def _beyond(rows: Rows) -> str:
    """The loads that the measured runs do not span, without drafts or with the best K."""
    shown = (row for row in rows if row.is_beyond and (row.is_best or row.k == 0))
    loads = dict.fromkeys(requests(row) for row in shown)
    said = "Extrapolated, as no measured pass has so few or so many tokens: requests"
    return f"{said} {', '.join(loads)}." if loads else ""


def requests(row: SimpleNamespace) -> str:
    """Requests of a step as a number: a mean has a digit more."""
    return f"{row.requests:,.1f}" if _is_mean(row) else f"{row.concurrency:,}"


def _is_mean(row: SimpleNamespace) -> bool:
    return bool(abs(row.requests - row.concurrency) >= 0.05)


def _even_at(row: SimpleNamespace) -> str:
    if row.k == 0:
        return ""
    return "never" if row.break_even_acceptance is None else _percent(row.break_even_acceptance)


def _percent(rate: float) -> str:
    return f"{units.percent(rate)} %"


def _rate(row: SimpleNamespace) -> str:
    return f"{row.tokens_per_s:,.0f}"


def _ms(ns: float | None) -> str:
    return units.ms(ns, 2 if ns is None or ns < 100e6 else 1)


COMMON: list[table.Spec] = [
    (table.Column("ms/tok"), lambda row: _ms(row.ns_per_token)),
    (table.Column("tok/s"), _rate),
    (table.Column("gain"), lambda row: f"{row.speedup:.2f}x"),
    (table.Column("range"), span),
    (table.Column("even at"), _even_at),
]
BY_K: list[table.Spec] = [
    (table.Column("K"), lambda row: f"{row.k}"),
    (table.Column("tokens"), lambda row: f"{row.tokens_per_step:.2f}"),
    (table.Column("verify"), lambda row: _ms(row.verify_ns)),
    (table.Column("draft"), lambda row: _ms(row.draft_ns)),
    (table.Column("other"), lambda row: _ms(row.outside_ns)),
    (table.Column("ms/step"), lambda row: _ms(row.step_ns)),
    *COMMON,
]
BY_LOAD: list[table.Spec] = [
    (table.Column("requests"), requests),
    (table.Column("no drafts"), lambda row: _ms(row.base_ns_per_token)),
    (table.Column("best K"), lambda row: f"{row.k or 'none'}"),
    (table.Column("tokens"), lambda row: f"{row.tokens_per_step:.2f}"),
    *COMMON,
]
