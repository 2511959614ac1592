"""tracekit spec: whether speculative decoding pays."""

from types import SimpleNamespace
from typing import TYPE_CHECKING

import click

from tracekit import units
from tracekit.cli import choice, options, output, page, table
from tracekit.cli.headline import headline, stalls, traced

if TYPE_CHECKING:
    from tracekit.database import Database


def _source(row: SimpleNamespace) -> str:
    return "host" if row.row_kind == "host" else row.phase_sources or ""


def _share(ratio: float | None) -> str:
    return "" if ratio is None else units.percent(ratio)


PHASES = [
    (table.label("phase"), lambda row: row.phase or page.CLOSING.get(row.row_kind, row.row_kind)),
    (table.Column("ms/step"), lambda row: units.ms(row.busy_ns)),
    (table.Column("%step"), lambda row: units.percent(row.share_of_step)),
    (table.Column("ms/token"), lambda row: units.ms(row.ns_per_token)),
    (table.Column("AllReduce"), lambda row: units.ms(row.all_reduce_ns)),
    (table.Column("calls"), lambda row: page.calls(row.all_reduce_calls)),
    (table.Column("wait%"), lambda row: _share(row.waiting_share)),
    (table.Column("p10-p90"), lambda row: page.spread(row.p10_ns, row.p90_ns)),
    (table.name("source"), _source),
]


def _count(number: int | None) -> str:
    return "" if number is None else f"{number:,}"


POSITIONS = [
    (table.Column("position"), lambda row: f"{row.position}"),
    (table.Column("drafts"), lambda row: _count(row.drafts)),
    (table.Column("accepted"), lambda row: _count(row.accepted)),
    (table.Column("of drafts"), lambda row: page.per_cent(row.acceptance_rate)),
    (table.Column("given the one before"), lambda row: page.per_cent(row.conditional_rate)),
]


@click.command("spec")
@options.run_name()
@options.dp()
@options.rank()
@options.db()
@options.output_format()
def command(run: str | None, dp: int | None, rank: int | None, db: str | None, form: str) -> None:
    """Show what drafts cost and how many are accepted.

    Phases are means over decode steps; acceptance is from the server's counters around the
    window, else from the lines of its log, else from the steps traced. csv and json give the
    acceptance by position; phases and their cost are Database.report("spec_phases") in Python.
    """
    from tracekit.database import reading

    with reading(db) as database:
        chosen = database.run_name(run)
        choice.check_steps(database, chosen, dp=dp, rank=rank)
        if form == "table":
            _write_page(database, chosen, {"dp": dp, "rank": rank}, db)
        else:
            output.write_data(database.report("spec", run=chosen), form)


def _write_page(
    database: "Database", run: str, ranks: dict[str, int | None], db: str | None
) -> None:
    steps = {"run": run, "kind": "decode", **ranks}
    figures = database.report("breakdown_headline", **steps).records()
    totals = database.report("spec_totals", run=run).records()
    if not totals and not any(row.is_verify for row in figures):
        output.note(f"{run}: no step that checks drafts, and no counters of drafts beside it")
        return
    (facts,) = database.report("run_list", run=run).records()
    gaps = database.report("breakdown_stalls", **steps).records()
    waiting = database.report("comm_waiting", **steps).records()
    phases = database.report("spec_phases", run=run, **ranks).records()
    positions = database.report("spec", run=run).records()
    cost = database.report("profiling_cost", run=run).records()
    width = output.page_width()
    after = page.next_commands([(output.to_paste(db, "breakdown", run), "the step in full")])
    output.write_lines(
        [
            *page.title(facts, figures[0].n_ranks if figures else facts.n_ranks, width),
            *_head(figures, totals, gaps, cost, waiting, facts, width),
            *_phases(_with_waiting(phases, waiting), figures, cost, width),
            *(
                _acceptance(positions, totals, cost, width)
                if totals
                else _none(database, run, width)
            ),
            *after,
        ]
    )


def _head(
    figures: list[SimpleNamespace],
    totals: list[SimpleNamespace],
    gaps: list[SimpleNamespace],
    cost: list[SimpleNamespace],
    waiting: list[SimpleNamespace],
    run: SimpleNamespace,
    width: int,
) -> list[str]:
    drafter = run.speculative_method
    if drafter and run.num_speculative_tokens:
        drafter = f"{drafter}, K={run.num_speculative_tokens}"
    accepted = [
        f"{page.per_cent(row.acceptance_rate)} of draft tokens accepted{_window(cost)}"
        for row in totals
        if row.acceptance_rate is not None
    ]
    lines = table.flow([f"drafts: {table.visible(drafter)}" if drafter else "", *accepted], width)
    for row in figures:
        lines += [*headline(row, gaps, cost, waiting, run, width), *stalls(gaps, run, width)]
    return lines


def _window(cost: list[SimpleNamespace]) -> str:
    return " (profiled)" if cost else ""


def _with_waiting(
    phases: list[SimpleNamespace], waiting: list[SimpleNamespace]
) -> list[SimpleNamespace]:
    """The phases, and the step, with the share of their AllReduce that is waiting."""
    shares = {row.phase: row.waiting_share for row in waiting if row.category == "all_reduce"}
    for row in phases:
        is_told = row.row_kind in ("phase", "step")
        row.waiting_share = shares.get(row.phase) if is_told else None
    return phases


def _phases(
    rows: list[SimpleNamespace],
    figures: list[SimpleNamespace],
    cost: list[SimpleNamespace],
    width: int,
) -> list[str]:
    if not rows:
        return []
    heading, *lines = table.of(rows, PHASES, width)
    pairs = zip(rows, lines, strict=True)
    shown = [output.strong(line) if row.row_kind == "step" else line for row, line in pairs]
    on_host = (
        "host: drafting is time of the host, not part of the sum: the device may work meanwhile"
    )
    more = table.wrapped(on_host, width) if rows[-1].row_kind == "host" else []
    window = [line for row in figures for line in table.wrapped(traced(row, cost), width) if line]
    return ["", output.strong(heading), *shown, *window, *more]


def _none(database: "Database", run: str, width: int) -> list[str]:
    (row,) = database.report("spec_untold", run=run).records()
    return ["", *table.wrapped(untold(row), width)]


def untold(row: SimpleNamespace) -> str:
    """Why no acceptance is known, of the report `spec_untold`."""
    return f"no acceptance: {row.reason}, and no log that tells of drafts"


def _acceptance(
    positions: list[SimpleNamespace],
    totals: list[SimpleNamespace],
    cost: list[SimpleNamespace],
    width: int,
) -> list[str]:
    (total,) = totals
    heading, *lines = table.of(positions, POSITIONS, width)
    shown = [output.strong(heading), *lines] if positions else []
    told = sentences(total, bool(cost))
    return ["", *shown, *(line for words in told for line in table.wrapped(words, width))]


def sentences(total: SimpleNamespace, is_profiled: bool) -> list[str]:
    """What the drafts gave and what was cut of it, of the report `spec_totals`; what tells it."""
    told = (_tokens(total), _generated(total), _source_of(total, is_profiled))
    return [words for words in told if words]


def _tokens(total: SimpleNamespace) -> str:
    """What the drafts gave; empty where their number is unknown."""
    if total.tokens is None:
        return ""
    given = f"{total.drafts:,} bonus + {total.accepted:,} accepted"
    if total.source == "trace":
        return f"{total.tokens:,} tokens in the steps that tell theirs: {given}"
    cut = "; max_tokens may have cut some"
    if total.n_cut is not None:
        cut = f", {total.n_cut:,} cut by max_tokens"
    return f"{total.tokens:,} tokens in the window: {given}{cut}"


def _generated(total: SimpleNamespace) -> str:
    """What else is in the tokens that the server counted; empty where that is unknown."""
    if total.n_cut is None:
        return ""
    cut = f" less {total.n_cut:,} cut" if total.n_cut else ""
    plain = f", {total.n_plain:,} of steps without a draft" if total.n_plain else ""
    return f"{total.n_generated:,} generated: these{cut}{plain} and {total.n_first:,} of prefill"


def _source_of(total: SimpleNamespace, is_profiled: bool) -> str:
    window = "profiled window" if is_profiled else "window"
    source = f"counters: /metrics around the {window}"
    if total.source == "trace":
        source = "trace: what each step emitted, by its detailed annotation"
    if total.source == "log":
        where = "" if total.is_whole_log else f" in the {window}"
        source = f"log: all that the engine says{where}, rounded"
    if total.mean_acceptance_length is None:
        return source
    return f"{source}; {total.mean_acceptance_length:.2f} tokens per draft"
