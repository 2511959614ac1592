"""tracekit steps: every step of a run on a line."""

from types import SimpleNamespace

import click

from tracekit import units
from tracekit.cli import choice, options, output, page, table
from tracekit.cli.headline import profiling

SHOWN = 60
"""Steps on the page unless all are asked for."""


@click.command("steps")
@options.run_name()
@options.kind()
@options.dp()
@options.rank()
@click.option("--all", "show_all", is_flag=True, help=f"All steps, not the first {SHOWN}.")
@options.db()
@options.output_format()
def command(
    run: str | None,
    kind: str | None,
    dp: int | None,
    rank: int | None,
    show_all: bool,
    db: str | None,
    form: str,
) -> None:
    """List the steps of a run: load, time, phases.

    Times are in milliseconds, means over ranks.
    """
    from tracekit.database import reading

    with reading(db) as database:
        chosen = database.run_name(run)
        choice.check_steps(database, chosen, dp=dp, rank=rank)
        found = database.report("step_list", run=chosen, kind=kind, dp=dp, rank=rank)
        if form == "table":
            (facts,) = database.report("run_list", run=chosen).records()
            cost = database.report("profiling_cost", run=chosen).records()
            output.write_lines(_page(facts, found.records(), cost, show_all, db))
        else:
            output.write_data(found, form)


def _page(
    run: SimpleNamespace,
    steps: list[SimpleNamespace],
    cost: list[SimpleNamespace],
    show_all: bool,
    db: str | None,
) -> list[str]:
    width = output.page_width()
    title = [*page.title(run, run.n_ranks, width), *profiling(cost, width)]
    if not steps:
        return [*title, "no such step in it"]
    shown = steps if show_all else steps[:SHOWN]
    heading, *lines = table.of(shown, _spec(shown, run.n_engines > 1), width)
    more = [f"{len(steps) - len(shown):,} more: --all"] if len(shown) < len(steps) else []
    longest = max(steps, key=lambda step: step.dur_ns or 0)
    engine = ("--dp", str(longest.dp)) if run.n_engines > 1 else ()
    look = output.to_paste(db, "breakdown", run.run, *engine, "--step", str(longest.step))
    legend = ["step is engine.step: the data-parallel engine, and its step"] if engine else []
    if any(step.n_accepted is not None for step in shown):
        legend.append("drafts is accepted/checked, where the trace tells")
    after = page.next_commands([(look, "the longest of them")])
    return [*title, "", output.strong(heading), *lines, *more, *legend, *after]


def _kind(step: SimpleNamespace) -> str:
    return f"{step.kind}" if step.is_complete else f"{step.kind}, cut"


def _drafts(step: SimpleNamespace) -> str:
    if step.is_verify and step.n_draft_tokens is None:
        return "yes"
    if step.n_accepted is not None:
        return f"{step.n_accepted:,}/{step.n_draft_tokens:,}"
    return _number(step.n_draft_tokens if step.is_verify else None)


def _number(value: int | None) -> str:
    return units.MISSING if value is None else f"{value:,}"


def _spec(steps: list[SimpleNamespace], is_parallel: bool) -> list[table.Spec]:
    target = "verify" if all(step.is_verify for step in steps) else "forward"
    return [
        (table.Column("step"), lambda s: f"{s.dp}.{s.step}" if is_parallel else f"{s.step}"),
        (table.label("kind"), _kind),
        (table.Column("req"), lambda step: _number(step.n_reqs)),
        (table.Column("tok"), lambda step: _number(step.n_tokens)),
        (table.Column("drafts"), _drafts),
        (table.Column("ms"), lambda step: units.ms(step.dur_ns)),
        (table.Column("busy%"), lambda step: units.percent(step.busy_share)),
        (table.Column("idle"), lambda step: units.ms(step.idle_ns)),
        (table.Column("prep"), lambda step: units.ms(step.prepare_ns)),
        (table.Column(target), lambda step: units.ms(step.forward_ns)),
        (table.Column("sample"), lambda step: units.ms(step.sample_ns)),
        (table.Column("draft"), lambda step: units.ms(step.draft_ns)),
        (table.Column("other"), lambda step: units.ms(step.other_ns)),
    ]
