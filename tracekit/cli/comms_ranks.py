"""Who waits for whom, as `tracekit comms --ranks` shows it."""

from types import SimpleNamespace

from tracekit import units
from tracekit.cli import output, page, table
from tracekit.cli.waiting import MOST

STANDS_OUT = 1.5
"""Times its even share of the waiting that has to be for a rank to call it the straggler."""

LEGEND = (
    "us per call: late = after the first rank; waits = for the last one, by the clocks; by dur = "
    "the same without clocks; others = what the others wait where it is last, and ms/step in a "
    "step; host%, device% = why it is late; steps = those in which half of the waiting is for it"
)


def lines(
    rows: list[SimpleNamespace], skew: SimpleNamespace, run: SimpleNamespace, width: int
) -> list[str]:
    """What the figures say, then the table of ranks."""
    heading, *cells = table.of(rows, _columns(run), width)
    return [
        *(line for text in sentences(rows, skew, run) for line in table.wrapped(text, width)),
        "",
        output.strong(heading),
        *cells,
        *(output.faint(line) for line in table.wrapped(LEGEND, width)),
    ]


def sentences(
    rows: list[SimpleNamespace], skew: SimpleNamespace, run: SimpleNamespace
) -> list[str]:
    """Who is waited for and why, how far apart ranks arrive, and whether clocks agree.

    `rows` are those of `comm_ranks`, at least one, `skew` that of `comm_skew`.
    """
    told = [*_straggler(rows, run), _spread(skew), _clocks(skew)]
    return [sentence for sentence in told if sentence]


def _columns(run: SimpleNamespace) -> list[table.Spec]:
    return [
        (table.Column("rank"), lambda row: page.rank(row.dp, row.rank, run)),
        (table.Column("last%"), lambda row: units.percent(row.last_share)),
        (table.Column("late"), lambda row: units.us(row.lateness_ns)),
        (table.Column("waits"), lambda row: units.us(row.wait_ns)),
        (table.Column("by dur"), lambda row: units.us(row.waiting_ns)),
        (table.Column("others"), lambda row: units.us(row.others_wait_ns)),
        (table.Column("ms/step"), lambda row: units.ms(row.cost_ns)),
        (table.Column("host%"), lambda row: units.percent(row.host_share, 0)),
        (table.Column("device%"), lambda row: units.percent(row.device_share, 0)),
        (table.Column("clock"), lambda row: units.duration(row.offset_ns) if row.offset_ns else ""),
        (table.label("steps"), _habit),
    ]


def _habit(row: SimpleNamespace) -> str:
    if not row.n_habit_steps:
        return ""
    return f"{_span(row)} ({row.n_habit_steps} of {row.n_steps})"


def stands_out(rows: list[SimpleNamespace]) -> bool:
    """Whether the first of all rows of `comm_ranks` is the straggler of the run."""
    return bool(rows) and (rows[0].cost_share or 0) * len(rows) >= STANDS_OUT


def _straggler(rows: list[SimpleNamespace], run: SimpleNamespace) -> list[str]:
    first = rows[0]
    if first.cost_share is None:
        return ["No rank waits for another."]
    name, times = page.rank(first.dp, first.rank, run), page.counted(first.n_calls, "call")
    share = units.percent(first.cost_share, 0)
    if not stands_out(rows):
        return [f"No rank stands out: {share} % of the waiting is for rank {name}, at most."]
    return [
        f"{share} % of the waiting is for rank {name}, last in "
        f"{units.percent(first.last_share, 0)} % of {times}: the others then wait "
        f"{units.duration(first.others_wait_ns)}, {units.ms(first.cost_ns)} ms of a step."
        f"{_since(first)}",
        _why(first),
        _others(rows[1:], run),
    ]


def _since(row: SimpleNamespace) -> str:
    if not row.n_habit_steps:
        return " In no step is half of the waiting for it."
    if row.n_habit_steps == row.n_steps:
        return " So in every step." if row.n_steps > 1 else ""
    steps = page.counted(row.n_steps, "step")
    return f" It is the straggler of {row.n_habit_steps} of {steps}: {_span(row)}."


def _others(rows: list[SimpleNamespace], run: SimpleNamespace) -> str:
    """Stragglers of other steps."""
    told = [
        f"rank {page.rank(row.dp, row.rank, run)} ({_span(row)})"
        for row in rows
        if row.n_habit_steps
    ]
    return f"In other steps it is another: {', '.join(told)}." if told else ""


def _span(row: SimpleNamespace) -> str:
    first, last = row.first_habit_step, row.last_habit_step
    return f"{first}" if first == last else f"{first}-{last}"


def _why(row: SimpleNamespace) -> str:
    if row.host_share is None:
        return "Why is not told: the trace has no launches."
    host, device = units.percent(row.host_share, 0), units.percent(row.device_share, 0)
    if max(row.host_share, row.device_share) < MOST:
        return f"Why is open: its host explains {host} % of that time, its own work {device} %."
    if row.host_share >= row.device_share:
        return (
            f"Its host is late: in {host} % of that time nothing was queued on it for "
            f"{units.duration(row.late_starved_ns)} longer than on the others; it was launched "
            f"{units.duration(row.late_launch_ns)} later."
        )
    return (
        f"Its device is slower: in {device} % of that time it worked "
        f"{units.duration(row.late_work_ns)} longer than the others since the collective before."
    )


def _spread(skew: SimpleNamespace) -> str:
    arrival, completion = skew.arrival_p50_ns, skew.completion_p50_ns
    if arrival is None:
        return (
            f"Waiting is {units.ms(skew.waiting_ns)} ms of a step by durations, of "
            f"{units.ms(skew.sum_ns)} ms in these collectives."
        )
    return (
        f"Arrivals are {units.duration(arrival)} apart (median; p95 "
        f"{units.duration(skew.arrival_p95_ns)}), ends {units.duration(completion)}. Waiting is "
        f"{units.ms(skew.waiting_ns)} ms of a step by durations, {units.ms(skew.wait_ns)} ms by "
        f"the clocks, of {units.ms(skew.sum_ns)} ms in these collectives."
    )


def _clocks(skew: SimpleNamespace) -> str:
    if skew.arrival_p50_ns is None:
        return "Clocks of these ranks cannot be compared: who is last is told by durations."
    if not skew.n_clocks:
        return "Clocks were not checked: too few collectives."
    spread = units.duration(skew.clock_spread_ns)
    if skew.n_hosts > 1:
        found = f"on {skew.n_hosts} hosts were set by the ends of collectives, within {spread}"
    elif skew.n_corrected:
        found = f"were corrected by the ends of collectives, within {spread}"
    else:
        found = "need no correction"
    early = (
        f"even so, ranks end {page.counted(skew.n_early, 'call')} before the last has begun"
        if skew.n_early
        else "no rank ends a call before the last has begun"
    )
    return f"Clocks of {page.counted(skew.n_clocks, 'rank')} {found}; {early}."
