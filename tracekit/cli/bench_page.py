"""What `tracekit bench` prints at its end."""

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from tracekit import units
from tracekit.cli import output, page, table

if TYPE_CHECKING:
    from tracekit.collectors.bench.plan import Delay, Plan

COLUMNS: list[table.Spec] = [
    (table.label("mode"), lambda row: row.mode),
    (table.Column("message"), lambda row: units.size(row.bytes)),
    (table.Column("calls"), lambda row: units.MISSING if row.n is None else f"{row.n:,}"),
    (table.Column("us/call"), lambda row: units.us(row.time_ns)),
    (table.Column("p95"), lambda row: units.us(row.p95_ns)),
    (table.Column("algbw GB/s"), lambda row: _bandwidth(row, row.algbw_gb_per_s)),
    (table.Column("busbw GB/s"), lambda row: _bandwidth(row, row.busbw_gb_per_s)),
]


SHOWN_SIZES = 4


def show(
    plan: "Plan", found: Mapping[str, Any], shared_cores: int | None, db: str | None, form: str
) -> None:
    """The curve, the burst and how to go on; csv and json have the curve alone.

    `found` is what calibration.json says. `shared_cores` are those that more ranks take turns on.
    """
    from tracekit.database import reading

    run = plan.folder.name
    with reading(db) as database:
        curve = database.report("bench_curve", run=run)
        if form != "table":
            output.write_data(curve, form)
            return
        rows = curve.records()
        (facts,) = database.report("run_list", run=run).records()
    width = output.page_width()
    output.write_lines(
        [
            *_title(plan, facts, width),
            *curve_lines(rows, width),
            *(line for burst in found["bursts"] for line in _burst(plan, burst, width)),
            *(_delay(plan.delay, found["points"], width) if plan.delay else ()),
            *(_turns(shared_cores, width) if shared_cores else ()),
            *page.next_commands([(output.to_paste(db, "comms", run), "the recorded calls")]),
        ]
    )


def of_run(run: str, rows: list[SimpleNamespace], width: int) -> list[str]:
    """What a run of nothing but measured times has."""
    of = {row.n_ranks for row in rows} - {None}
    n_ranks = [page.counted(max(of), "rank")] if len(of) == 1 else []
    first, *more = table.flow([table.visible(run), "measured times", *n_ranks], width)
    return [output.strong(first), *more, *curve_lines(rows, width)]


def curve_lines(rows: list[SimpleNamespace], width: int) -> list[str]:
    """The table of what was measured, of rows of the report `bench_curve`."""
    heading, *lines = table.of(rows, COLUMNS, width)
    return [output.strong(heading), *lines]


def _title(plan: "Plan", facts: SimpleNamespace, width: int) -> list[str]:
    parts = [
        table.visible(plan.folder.name),
        f"all-reduce of {plan.dtype}, in place",
        f"{plan.backend}, {page.counted(plan.n_ranks, 'rank')}",
        table.visible(page.engine(facts)),
        table.visible(facts.gpu or "on CPU"),
    ]
    first, *more = table.flow(parts, width)
    return [output.strong(first), *more]


def _burst(plan: "Plan", burst: Mapping[str, Any], width: int) -> list[str]:
    source = f" of {plan.like['run']}, step {plan.like['step']}" if plan.like else ""
    n_calls, total = burst["n_calls"], burst["p50_ns"]
    return table.wrapped(
        f"burst{table.visible(source)}: {page.counted(n_calls, 'call')}, "
        f"{units.size(burst['bytes'])}, {burst['mode']}: {units.duration(total)} "
        f"(p95 {units.duration(burst['p95_ns'])}), {units.duration(total / n_calls)} a call",
        width,
    )


def _delay(delay: "Delay", points: Sequence[Mapping[str, Any]], width: int) -> list[str]:
    """That the times hold it, and what a call takes without the wait."""
    of_burst = [point for point in points if point["mode"] == "burst"]
    each = [
        f"{units.duration(point['transfer_p50_ns'])} at {units.size(point['bytes'])}"
        for point in of_burst[:SHOWN_SIZES]
    ]
    more = ", ..." if len(of_burst) > SHOWN_SIZES else ""
    return table.wrapped(
        f"rank {delay.rank} is delayed by {units.duration(delay.ns)} before each call of the "
        f"burst, and the others wait: of the ranks the quickest takes {', '.join(each)}{more}",
        width,
    )


def _turns(n_cores: int, width: int) -> list[str]:
    cores = page.counted(n_cores, "core")
    text = f"ranks take turns on {cores}: each time holds that, and none is a transfer alone"
    return table.wrapped(text, width)


def _bandwidth(row: SimpleNamespace, gb_per_s: float | None) -> str:
    return units.gb_per_s(gb_per_s if row.delay_ns is None else None)
