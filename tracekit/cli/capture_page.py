"""What `tracekit capture` prints at its end."""

from collections.abc import Sequence
from types import SimpleNamespace

import click

from tracekit import units
from tracekit.cli import breakdown, output, page, table

COSTS = ("unprofiled_step_ns", "profiled_step_ns", "slowdown", "unprofiled_ns_per_token")
COLUMNS: list[table.Spec] = [
    (table.name("run"), lambda row: row.run),
    (table.Column("step ms"), lambda row: units.ms(row.unprofiled_step_ns)),
    (table.Column("profiled"), lambda row: units.ms(row.profiled_step_ns)),
    (table.Column("slower %"), lambda row: units.percent(row.slowdown and row.slowdown - 1)),
    (table.Column("ms/token each"), lambda row: units.ms(row.unprofiled_ns_per_token)),
]
"""Runs of one capture: a decode step in both windows, what a stream waits for a token."""


def show(ctx: click.Context, runs: Sequence[str], db: str | None) -> None:
    """The breakdown of a run; of several what a step takes in each, and how to go on."""
    if len(runs) == 1:
        ctx.invoke(breakdown.command, run=runs[0], db=db)
        return
    heading, *lines = table.of(_rows(runs, db), COLUMNS, output.page_width())
    commands = [(output.to_paste(db, "breakdown", run), "") for run in runs]
    output.write_lines([output.strong(heading), *lines, *page.next_commands(commands)])


def _rows(runs: Sequence[str], db: str | None) -> list[SimpleNamespace]:
    """What profiling cost in each run; nothing but its name where no window tells."""
    from tracekit.database import reading

    rows = []
    with reading(db) as database:
        for run in runs:
            found = database.report("profiling_cost", run=run).records()
            cost = vars(found[0]) if found else dict.fromkeys(COSTS)
            rows.append(SimpleNamespace(**cost, run=run))
    return rows
