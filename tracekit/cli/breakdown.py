"""tracekit breakdown: what a step spends its time on."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import TYPE_CHECKING

import click

from tracekit import units
from tracekit.cli import choice, names, options, output, page, table, waiting
from tracekit.cli.headline import headline, profiling, stalls

if TYPE_CHECKING:
    from tracekit.database import Database

FOLD = 0.01
"""Share of busy time under which rows are folded on the page."""


@click.command("breakdown")
@options.run_name()
@options.kind()
@options.phase()
@options.dp()
@options.rank()
@click.option("--step", type=int, metavar="N", help="Only this step, even if it is cut.")
@click.option(
    "--by",
    type=click.Choice(["category", "impl", "kernel"]),
    default="category",
    show_default=True,
    help="What a row is.",
)
@click.option("--all", "show_all", is_flag=True, help="Do not fold rows under 1 % of busy time.")
@options.db()
@options.output_format()
def command(
    run: str | None,
    kind: str | None,
    phase: str | None,
    dp: int | None,
    rank: int | None,
    step: int | None,
    by: str,
    show_all: bool,
    db: str | None,
    form: str,
) -> None:
    """Show what a decode step spends its time on.

    Rows are means over steps (ranks reduced first) of the time in which at least one such kernel
    runs; overlap and idle close them to the step exactly.
    """
    from tracekit.database import reading

    with reading(db) as database:
        chosen = database.run_name(run)
        choice.check_steps(database, chosen, dp=dp, rank=rank, step=step)
        steps = {"run": chosen, "kind": kind, "dp": dp, "rank": rank, "step": step}
        fold = 0.0 if show_all or form != "table" else FOLD
        found = database.report("breakdown", **steps, phase=phase, by=by, fold=fold)
        if form == "table":
            output.write_lines(_page(database, found.records(), steps, phase, by, db))
        else:
            output.write_data(found, form)


def _page(
    database: "Database",
    rows: list[SimpleNamespace],
    steps: dict[str, str | int | None],
    phase: str | None,
    by: str,
    db: str | None,
) -> list[str]:
    (run,) = database.report("run_list", run=steps["run"]).records()
    width = output.page_width()
    cost = database.report("profiling_cost", run=run.run).records() if steps["step"] is None else []
    if not rows:
        told = [*page.failure(run, width), *profiling(cost, width)]
        return _nothing(run, steps, told, db)
    (figures,) = database.report("breakdown_headline", **steps).records()
    gaps = database.report("breakdown_stalls", **steps).records()
    parts = database.report("comm_waiting", **{**steps, "kind": figures.kind}).records()
    return [
        *page.title(run, figures.n_ranks, width),
        *headline(figures, gaps, cost, parts, run, width),
        *stalls(gaps, run, width),
        "",
        *_table(
            waiting.with_parts(rows, parts, run) if by == "category" else rows,
            by,
            _kernels(database, steps, by),
            width,
        ),
        *_no_work(database, rows, steps, phase, width),
        *_footer(rows, run, figures, by, parts, db, width),
    ]


def _kernels(
    database: "Database", steps: dict[str, str | int | None], by: str
) -> dict[str, SimpleNamespace]:
    """What is known of each kernel, by name; needed only where rows are kernels."""
    if by != "kernel":
        return {}
    return {row.name: row for row in database.report("kernels", run=steps["run"]).records()}


def _table(
    rows: list[SimpleNamespace], by: str, kernels: dict[str, SimpleNamespace], width: int
) -> list[str]:
    spec = [
        (table.label("phase"), _phase),
        (table.name("category" if by == "category" else by), lambda row: _name(row, by, kernels)),
        (table.Column("ms"), lambda row: units.ms(row.busy_ns)),
        (table.Column("%step"), lambda row: units.percent(row.share_of_step)),
        (table.Column("%busy"), lambda row: _blank(row.share_of_busy, units.percent)),
        (table.Column("exposed"), lambda row: _blank(row.exposed_ns, units.ms)),
        (table.Column("calls"), lambda row: _blank(row.calls, page.calls)),
        (table.Column("us/call"), lambda row: _blank(row.ns_per_call, units.us)),
        (table.Column("p10-p90"), lambda row: page.spread(row.p10_ns, row.p90_ns)),
    ]
    if by != "category":  # names need the room
        spec = [column for column in spec if column[0].title not in ("%busy", "exposed")]
    heading, *lines = table.of(rows, spec, width)
    lines = waiting.with_notes(rows, lines, width)
    return [output.strong(heading), *lines[:-1], output.strong(lines[-1])]


def _no_work(
    database: "Database",
    rows: list[SimpleNamespace],
    steps: dict[str, str | int | None],
    phase: str | None,
    width: int,
) -> list[str]:
    """Where the phase asked for has no rows: what there is in its place."""
    if phase is None or rows[0].row_kind == "work":
        return []
    found = database.report("breakdown", **steps).records()
    there = list(dict.fromkeys(row.phase for row in found if row.row_kind == "work"))
    called = {"forward": "verify", "verify": "forward"}.get(phase)
    hint = f": it is called {called} here" if called in there else ""
    with_work = ", ".join(there) or "none"
    text = f"No work in the phase {phase}{hint}. Phases with work: {with_work}."
    return [output.warning(line) for line in table.wrapped(text, width)]


def _phase(row: SimpleNamespace) -> str:
    return "step" if row.row_kind == "step" else str(row.phase or "")


def _name(row: SimpleNamespace, by: str, kernels: dict[str, SimpleNamespace]) -> str:
    if row.row_kind in waiting.PARTS:
        return f"  {row.row_kind}"
    if row.row_kind != "work":
        return "" if row.row_kind == "step" else page.CLOSING.get(row.row_kind, row.row_kind)
    if row.n_folded:
        return f"{row.n_folded} more"
    if by == "impl" and row.impl:
        return f"{row.category} {row.impl}"
    return row.category if row.name is None else names.of_kernel(row.name, kernels.get(row.name))


def _blank(value: float | None, form: Callable[[float | None], str]) -> str:
    return "" if value is None else form(value)


def _footer(
    rows: list[SimpleNamespace],
    run: SimpleNamespace,
    figures: SimpleNamespace,
    by: str,
    parts: list[SimpleNamespace],
    db: str | None,
    width: int,
) -> list[str]:
    trust = [
        f"unknown {page.per_cent(figures.unknown_share)} of busy",
        _unlinked(figures),
        page.sources(figures.phase_sources),
    ]
    look = _next(rows, run, figures, by, db)
    if parts:
        look.insert(0, (output.to_paste(db, "comms", run.run, "--ranks"), "who waits for whom"))
    return [*table.flow(trust, width, ", "), *page.next_commands(look)]


def _unlinked(figures: SimpleNamespace) -> str:
    if not figures.n_unlinked:
        return "unlinked 0"
    time = units.duration(figures.unlinked_ns)
    if not figures.n_unplaced:
        return f"unlinked {figures.n_unlinked:,} ({time})"
    is_all = figures.n_unplaced == figures.n_unlinked
    outside = "all" if is_all else f"{figures.n_unplaced:,} of them"
    return f"unlinked {figures.n_unlinked:,} ({time}, {outside} in no step)"


def _next(
    rows: list[SimpleNamespace],
    run: SimpleNamespace,
    figures: SimpleNamespace,
    by: str,
    db: str | None,
) -> list[tuple[str, str]]:
    """Where to look next: inside the longest phase, at drafts, at names no rule knows."""
    commands = []
    if by == "category" and rows[0].phase:
        phase = ("--by", "kernel", "--phase", rows[0].phase)
        commands.append((output.to_paste(db, "breakdown", run.run, *phase), "its kernels"))
    if figures.is_verify:
        commands.append((output.to_paste(db, "spec", run.run), "whether drafts pay"))
    if figures.unknown_share >= FOLD:
        commands.append(
            (output.to_paste(db, "kernels", run.run, "--unknown"), "names no rule knows")
        )
    return [*commands, (output.to_paste(db, "steps", run.run), "every step")]


def _nothing(
    run: SimpleNamespace, steps: dict[str, str | int | None], told: list[str], db: str | None
) -> list[str]:
    number = "" if steps["step"] is None else str(steps["step"])
    what = " ".join(filter(None, ("no", str(steps["kind"] or ""), "step", number)))
    what += " with device work"
    if steps["rank"] is not None:
        what += f" on rank {steps['rank']}"
    if steps["dp"] is not None:
        what += f" in engine {steps['dp']}"
    look = page.next_commands([(output.to_paste(db, "steps", run.run), "what is there")])
    return [f"{table.visible(run.run)}: {what}", *told, *look]
