"""Columns of the report's tables, for each query that they show."""

from types import SimpleNamespace

from tracekit import units
from tracekit.cli import page
from tracekit.cli.waiting import last
from tracekit.report.document import Column


def text(value: object) -> str:
    """A name or number as it is; nothing for NULL."""
    return "" if value is None else str(value)


def percent(ratio: float | None) -> str:
    """Per cent for a column headed so; nothing for NULL."""
    return "" if ratio is None else units.percent(ratio)


def _ms(ns: float | None) -> str:
    return "" if ns is None else units.ms(ns)


def _us(ns: float | None) -> str:
    return "" if ns is None else units.us(ns)


def _count(number: int | None) -> str:
    return "" if number is None else f"{number:,}"


def _gb_per_s(value: float | None) -> str:
    return "" if value is None else units.gb_per_s(value)


def _what(row: SimpleNamespace) -> str:
    if row.n_folded:
        return f"{row.n_folded} more"
    if row.row_kind != "work":
        return str(page.CLOSING.get(row.row_kind, row.row_kind))
    return " ".join(filter(None, (row.category, row.impl)))


BREAKDOWN: list[Column] = [
    ("phase", lambda row: text(row.phase)),
    ("category", _what),
    (">ms", lambda row: _ms(row.busy_ns)),
    (">% of step", lambda row: percent(row.share_of_step)),
    (">% of busy", lambda row: percent(row.share_of_busy)),
    (">exposed ms", lambda row: _ms(row.exposed_ns)),
    (">calls", lambda row: page.calls(row.calls)),
    (">us/call", lambda row: _us(row.ns_per_call)),
    (">p10-p90 ms", lambda row: page.spread(row.p10_ns, row.p90_ns)),
]


def waiting(run: SimpleNamespace) -> list[Column]:
    """Of the report `comm_waiting`."""
    return [
        ("phase", lambda row: row.phase or "all"),
        ("collective", lambda row: row.category),
        (">ms", lambda row: _ms(row.busy_ns)),
        (">waiting ms", lambda row: _ms(row.waiting_ns)),
        (">transfer ms", lambda row: _ms(row.transfer_ns)),
        (">unmatched ms", lambda row: _ms(row.unmatched_ns or None)),
        (">waiting %", lambda row: percent(row.waiting_share)),
        ("most of the time", lambda row: _message(row)),
        ("comes last", lambda row: last(row, run)),
    ]


def _message(row: SimpleNamespace) -> str:
    return ", ".join(filter(None, (page.message(row.bytes, row.dtype), row.impl)))


COMMS: list[Column] = [
    ("phase", lambda row: row.phase),
    ("collective", lambda row: " ".join(filter(None, (row.category, row.impl)))),
    ("message", lambda row: page.message(row.bytes, row.dtype)),
    (">calls", lambda row: page.calls(row.calls)),
    (">ms of a step", lambda row: _ms(row.sum_ns)),
    (">transfer us", lambda row: _us(row.transfer_p50_ns)),
    (">p95 us", lambda row: _us(row.transfer_p95_ns)),
    (">waiting %", lambda row: percent(row.wait_share)),
    (">busbw GB/s", lambda row: _gb_per_s(row.busbw_gb_per_s)),
    ("class", lambda row: vars(row)["class"]),
]


def ranks(run: SimpleNamespace) -> list[Column]:
    """Of the report `comm_ranks`."""
    return [
        (">rank", lambda row: page.rank(row.dp, row.rank, run)),
        (">last in % of calls", lambda row: percent(row.last_share)),
        (">late us", lambda row: _us(row.lateness_ns)),
        (">waits us", lambda row: _us(row.wait_ns)),
        (">costs others ms of a step", lambda row: _ms(row.cost_ns)),
        (">% of all waiting", lambda row: percent(row.cost_share)),
        (">for its host %", lambda row: percent(row.host_share)),
        (">for longer work %", lambda row: percent(row.device_share)),
    ]


PHASES: list[Column] = [
    ("phase", lambda row: row.phase or page.CLOSING.get(row.row_kind, row.row_kind)),
    (">ms of a step", lambda row: _ms(row.busy_ns)),
    (">% of step", lambda row: percent(row.share_of_step)),
    (">ms per token", lambda row: _ms(row.ns_per_token)),
    (">AllReduce ms", lambda row: _ms(row.all_reduce_ns)),
    (">AllReduce calls", lambda row: page.calls(row.all_reduce_calls)),
    (">p10-p90 ms", lambda row: page.spread(row.p10_ns, row.p90_ns)),
    ("told by", lambda row: text(row.phase_sources)),
]
POSITIONS: list[Column] = [
    (">position", lambda row: text(row.position)),
    (">drafts", lambda row: _count(row.drafts)),
    (">accepted", lambda row: _count(row.accepted)),
    (">% of drafts", lambda row: percent(row.acceptance_rate)),
    (">% given the one before", lambda row: percent(row.conditional_rate)),
]
KERNELS: list[Column] = [
    ("kernel", lambda row: f"{row.n_folded:,} more names" if row.n_folded else row.name),
    ("category", lambda row: " ".join(filter(None, (row.category, row.impl)))),
    (">ms", lambda row: _ms(row.sum_ns)),
    (">% of all", lambda row: percent(row.share)),
    (">calls", lambda row: f"{row.n:,}"),
    (">us/call", lambda row: _us(row.ns_per_call)),
]
STALLS: list[Column] = [
    (">step", lambda row: f"{row.dp}.{row.step}" if row.dp else f"{row.step}"),
    (">stalled ms", lambda row: _ms(row.stall_ns)),
    ("where", lambda row: "in the step" if row.is_in_step else "before its work began"),
    (">step without it ms", lambda row: _ms(row.rest_ns)),
    (">rank", lambda row: text(row.rank)),
    ("host sat in", lambda row: text(row.host_call)),
]
HOST: list[Column] = [
    (">starved ms of a step", lambda row: _ms(row.starved_ns)),
    (">% of step", lambda row: percent(row.starved_share)),
    ("launch to start", lambda row: units.duration(row.launch_delay_ns)),
]
SPANS: list[Column] = [
    (">from ms", lambda row: _ms(row.low_ns)),
    (">to ms", lambda row: _ms(row.high_ns) or "and more"),
    (">steps", lambda row: f"{row.n:,}"),
]
LOSSES: list[Column] = [
    ("file", lambda row: row.file),
    ("reason", lambda row: row.reason),
    (">skipped", lambda row: f"{row.skipped:,}"),
    (">of events", lambda row: "" if row.events is None else f"{row.events:,}"),
]
UNREAD: list[Column] = [
    ("file not read", lambda row: row.path),
    (">size", lambda row: units.size(row.bytes)),
]
ISSUES: list[Column] = [
    ("what is doubtful", lambda row: row.text),
    ("what to do", lambda row: text(row.advice)),
]
WARNINGS: list[Column] = [
    ("NCCL warns", lambda row: row.example),
    (">times", lambda row: f"{row.n:,}"),
    ("meaning", lambda row: text(row.meaning)),
    ("what to do", lambda row: text(row.advice)),
]
