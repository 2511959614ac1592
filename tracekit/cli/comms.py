"""tracekit comms: collectives, what they transfer and who waits for whom."""

from types import SimpleNamespace
from typing import TYPE_CHECKING

import click

from tracekit.cli import bench_page, choice, comms_page, comms_ranks, options, output, page
from tracekit.cli.headline import headline, profiling, stalls
from tracekit.cli.table import visible
from tracekit.errors import QueryError

if TYPE_CHECKING:
    from tracekit.database import Database, Result

REPORTS = {"ranks": "comm_ranks", "topology": "comm_topology", "issues": "comm_issues"}
"""Report of each view of the collectives, by the option that asks for it."""

NOTHING = {
    None: "no collectives in such steps",
    "ranks": "no collective is matched over ranks; tracekit comms --issues says why",
    "topology": "no NCCL log beside its traces; record one with tracekit capture --nccl-log",
}
"""What is said where a view has nothing to show."""


@click.command("comms")
@options.run_name()
@click.option("--ranks", is_flag=True, help="Who waits for whom, and why.")
@click.option("--topology", is_flag=True, help="How the GPUs talk (NCCL's log).")
@click.option("--issues", is_flag=True, help="What is doubtful or not known.")
@options.kind()
@options.phase()
@click.option("--category", metavar="NAME", help="Only this category: all_reduce, ...")
@options.dp()
@options.rank()
@click.option("--calibration", metavar="RUN", help="Measured curve to compare with.")
@click.option("--all", "show_all", is_flag=True, help="All signatures.")
@options.db()
@options.output_format()
def command(
    run: str | None,
    ranks: bool,
    topology: bool,
    issues: bool,
    kind: str | None,
    phase: str | None,
    category: str | None,
    dp: int | None,
    rank: int | None,
    calibration: str | None,
    show_all: bool,
    db: str | None,
    form: str,
) -> None:
    """Show collectives: waiting, transfer, bandwidth.

    A row is what goes by one implementation with one message size in one phase.
    """
    from tracekit.database import reading

    view = _view(ranks=ranks, topology=topology, issues=issues)
    if view and rank is not None:
        raise click.UsageError(f"--{view} is about all ranks: leave out --rank")
    if view and calibration is not None:
        raise click.UsageError(f"--{view} compares with no curve: leave out --calibration")
    with reading(db) as database:
        chosen = database.run_name(run)
        choice.check_steps(database, chosen, dp=dp, rank=rank)
        choice.check_category(database, chosen, category)
        steps = {"run": chosen, "kind": kind, "dp": dp}
        calls = {**steps, "phase": phase, "category": category}
        if calibration is not None:
            calibration = database.run_name(calibration)
            _check_curve(database, calibration, calls)
        found = _found(database, view, calls, rank, calibration)
        if form != "table":
            output.write_data(found, form)
        else:
            _write_page(database, view, found.records(), calls, show_all, db)


def _view(**asked: bool) -> str | None:
    views = [name for name, is_asked in asked.items() if is_asked]
    if len(views) > 1:
        raise click.UsageError(f"--{' and --'.join(views)} are pages of their own: give one")
    return views[0] if views else None


def _check_curve(
    database: "Database", calibration: str, calls: dict[str, str | int | None]
) -> None:
    """Passes where the curve is of as many ranks as some of the calls, or one does not tell."""
    curve = database.report("bench_curve", run=calibration).records()
    if not curve:
        raise QueryError(
            f"{visible(calibration)}: no calibration; measure one with tracekit bench allreduce"
        )
    measured = {point.n_ranks for point in curve}
    sizes = {row.group_size for row in database.report("comms", **calls).records()}
    if sizes and None not in measured | sizes and not measured & sizes:
        wanted, there = choice.spans(sizes), choice.spans(measured)
        raise QueryError(
            f"{visible(calibration)}: no calibration of {wanted} ranks; it has {there}: "
            f"measure one with tracekit bench allreduce --ranks {max(sizes)}"
        )


def _found(
    database: "Database",
    view: str | None,
    calls: dict[str, str | int | None],
    rank: int | None,
    calibration: str | None,
) -> "Result":
    if view is None:
        return database.report("comms", **calls, rank=rank, calibration=calibration)
    given = calls if view == "ranks" else {"run": calls["run"]}
    return database.report(REPORTS[view], **given)


def _write_page(
    database: "Database",
    view: str | None,
    rows: list[SimpleNamespace],
    calls: dict[str, str | int | None],
    show_all: bool,
    db: str | None,
) -> None:
    (run,) = database.report("run_list", run=calls["run"]).records()
    width = output.page_width()
    curve = database.report("bench_curve", run=run.run).records()
    if view is None and curve and not run.n_ranks:
        output.write_lines(bench_page.of_run(run.run, curve, width))
        return
    if not rows and view != "issues":
        output.note(f"{run.run}: {NOTHING[view]}")
        return
    output.write_lines(
        [
            *page.title(run, run.n_ranks, width),
            *_body(database, view, rows, run, calls, show_all, width),
            *page.next_commands(_next(database, view, run, db)),
        ]
    )


def _body(
    database: "Database",
    view: str | None,
    rows: list[SimpleNamespace],
    run: SimpleNamespace,
    calls: dict[str, str | int | None],
    show_all: bool,
    width: int,
) -> list[str]:
    if view == "topology":
        return ["", *comms_page.topics(rows, width)]
    if view == "issues":
        return ["", *_issues(database, rows, run, width)]
    head = [*_head(database, run, calls, width), ""]
    if view == "ranks":
        (skew,) = database.report("comm_skew", **calls).records()
        return [*head, *comms_ranks.lines(rows, skew, run, width)]
    return [*head, *comms_page.lines(rows, run, show_all, width)]


def _head(
    database: "Database",
    run: SimpleNamespace,
    calls: dict[str, str | int | None],
    width: int,
) -> list[str]:
    steps = {name: calls[name] for name in ("run", "kind", "dp")}
    (figures,) = database.report("breakdown_headline", **steps).records()
    gaps = database.report("breakdown_stalls", **steps).records()
    cost = database.report("profiling_cost", run=run.run).records()
    waiting = database.report("comm_waiting", **steps).records()
    return [*headline(figures, gaps, cost, waiting, run, width), *stalls(gaps, run, width)]


def _issues(
    database: "Database", rows: list[SimpleNamespace], run: SimpleNamespace, width: int
) -> list[str]:
    cost = database.report("profiling_cost", run=run.run).records()
    warnings = database.report("comm_warnings", run=run.run).records()
    slowed = "The profiler slows the host: without it a host that is late may be less so."
    found = [
        *comms_page.issues(rows, width),
        *(line for row in warnings for line in comms_page.warning(row, width)),
        *(line for line in [*profiling(cost, width), slowed] if cost),
    ]
    return found or ["nothing is doubtful: all calls are matched, all message sizes known"]


def _next(
    database: "Database", view: str | None, run: SimpleNamespace, db: str | None
) -> list[tuple[str, str]]:
    has_log = bool(database.report("comm_topology", run=run.run).fetchall())
    n_issues = len(database.report("comm_issues", run=run.run).fetchall())
    looks = [
        (None, (), "transfer and waiting, by message size"),
        *([("ranks", ("--ranks",), "who waits for whom")] if run.n_ranks > 1 else []),
        *([("topology", ("--topology",), "how the GPUs talk")] if has_log else []),
        *([("issues", ("--issues",), f"what is doubtful: {n_issues}")] if n_issues else []),
    ]
    return [
        (output.to_paste(db, "comms", run.run, *words), shows)
        for name, words, shows in looks
        if name != view
    ]
