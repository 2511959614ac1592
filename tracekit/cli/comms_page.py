"""Collectives by signature, as `tracekit comms` shows them."""

from itertools import zip_longest
from types import SimpleNamespace

from tracekit import units
from tracekit.cli import output, page, table
from tracekit.cli.waiting import MOST, last

TOP = 12
"""Signatures on the page unless all are asked for."""

INDENT = " " * 8

LEGEND = {
    "ms": "ms: in a step",
    "us": "us, p95: transfer of a call, that is, its time on the rank that is done first, "
    "median and 95th percentile",
    "wait%": "wait%: the rest of the calls' time",
    "busbw": "busbw in GB/s",
}
"""What columns mean, by the column without which it is left out."""


def lines(
    rows: list[SimpleNamespace], run: SimpleNamespace, show_all: bool, width: int
) -> list[str]:
    """The table, each row followed by its class and what that stands on."""
    shown = rows if show_all else rows[:TOP]
    heading, *cells = table.of(shown, COLUMNS, width)
    found = [output.strong(heading)]
    for row, line in zip(shown, cells, strict=True):
        found += [line, *_evidence(row, run, width)]
    more = len(rows) - len(shown)
    folded = [f"{more} more: --all"] if more else []
    legend = "; ".join(meaning for column, meaning in LEGEND.items() if column in heading.split())
    return [*found, *folded, *(output.faint(line) for line in table.wrapped(legend, width))]


def topics(rows: list[SimpleNamespace], width: int) -> list[str]:
    """Facts of the report `comm_topology`, each beside what it is about."""
    column = max(len(row.topic) for row in rows) + 2
    found = []
    for row in rows:
        first, *more = table.wrapped(table.visible(row.words), width - column) or [""]
        found.append(f"{row.topic:{column}}{first}")
        found += [f"{' ' * column}{line}" for line in more]
    return found


def warning(row: SimpleNamespace, width: int) -> list[str]:
    """A warning of NCCL, what it means and what to do."""
    place = f" ({row.place})" if row.place else ""
    told = _told(f"NCCL warns {row.n:,}x{place}: {row.example}", width)
    return [*told, *_advice("; ".join(filter(None, (row.meaning, row.advice))), width)]


def issues(rows: list[SimpleNamespace], width: int) -> list[str]:
    """What is doubtful, and below it what to do; once where several are to be met by the same."""
    found = []
    for row, following in zip_longest(rows, rows[1:]):
        found += _told(f"{row.text[0].upper()}{row.text[1:]}.", width)
        if following is None or following.advice != row.advice:
            found += _advice(row.advice, width)
    return found


def _told(text: str, width: int) -> list[str]:
    return [output.warning(line) for line in table.wrapped(table.visible(text), width)]


def _advice(text: str | None, width: int) -> list[str]:
    return [f"  {line}" for line in table.wrapped(text or "", width - 2)]


def _name(row: SimpleNamespace) -> str:
    return " ".join(filter(None, (row.category, row.impl)))


COLUMNS = [
    (table.label("phase"), lambda row: row.phase),
    (table.name("collective", minimum=12), _name),
    (table.Column("message"), lambda row: page.message(row.bytes, row.dtype)),
    (table.Column("calls"), lambda row: page.calls(row.calls)),
    (table.Column("ms"), lambda row: units.ms(row.sum_ns)),
    (table.Column("us"), lambda row: units.us(row.transfer_p50_ns)),
    (table.Column("p95"), lambda row: units.us(row.transfer_p95_ns)),
    (table.Column("wait%"), lambda row: units.percent(row.wait_share)),
    (table.Column("busbw"), lambda row: units.gb_per_s(row.busbw_gb_per_s)),
]


def _evidence(row: SimpleNamespace, run: SimpleNamespace, width: int) -> list[str]:
    times = [_matched(row), _skew(row, run), _bound(row), _below(row)]
    told = [row.missing, *times, _choice(row), _bytes(row)]
    text = f"{vars(row)['class']}: {'; '.join(filter(None, told))}"
    return [f"{INDENT}{line}" for line in table.wrapped(text, width - len(INDENT))]


def _matched(row: SimpleNamespace) -> str:
    if row.n_matched == 0:
        median, high = units.duration(row.dur_p50_ns), units.duration(row.dur_p95_ns)
        return f"a call takes {median} (p95 {high}), waiting and all"
    if row.matched_share < 1 and not row.missing:
        return f"{page.per_cent(row.matched_share)} of its calls are matched"
    return ""


def _skew(row: SimpleNamespace, run: SimpleNamespace) -> str:
    if row.arrival_p50_ns is None:
        return ""
    apart, at_most = units.duration(row.arrival_p50_ns), units.duration(row.arrival_p95_ns)
    told = f"ranks arrive {apart} apart (p95 {at_most})"
    if vars(row)["class"] not in ("skew", "mixed"):  # who is last by so little is chance
        return told
    return ", ".join(filter(None, (told, last(row, run), _delay(row))))


def _delay(row: SimpleNamespace) -> str:
    if row.host_share is None or max(row.host_share, row.device_share) < MOST:
        return ""
    is_host = row.host_share >= row.device_share
    share = units.percent(row.host_share if is_host else row.device_share, 0)
    return f"{share} % of the waiting for {'late hosts' if is_host else 'longer work'}"


def _bound(row: SimpleNamespace) -> str:
    time = row.transfer_p50_ns
    bounds = (("the calibration", row.measured_ns), ("NCCL's model, a lower bound", row.model_ns))
    return "; ".join(_against(time, bound, name) for name, bound in bounds if bound)


def _against(time: float | None, bound: float, name: str) -> str:
    ratio = f"{time / bound:.1f}x " if time else ""
    return f"{ratio}{name} ({units.duration(bound)})"


def _below(row: SimpleNamespace) -> str:
    return "below it: size or model is wrong" if row.is_below_model else ""


def _choice(row: SimpleNamespace) -> str:
    channels = page.counted(row.channels, "channel") if row.channels else ""
    return " ".join(filter(None, (row.algorithm, row.protocol, channels)))


def _bytes(row: SimpleNamespace) -> str:
    fused = "fused with other work: bandwidth is a lower bound" if row.is_fused else ""
    computed = "size computed from the model" if row.bytes_source == "model" else ""
    return "; ".join(filter(None, (fused, computed)))
