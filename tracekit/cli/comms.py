"""tracekit comms: collectives, what they transfer and who waits for whom."""

from types import SimpleNamespace
from typing import TYPE_CHECKING

import click

from tracekit.cli import choice, comms_page, comms_ranks, options, output, page
from tracekit.cli.headline import headline, profiling, stalls

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
@click.option("--ranks", "view", flag_value="ranks", help="Who waits for whom, and why.")
@click.option("--topology", "view", flag_value="topology", help="How the GPUs talk (NCCL's log).")
@click.option("--issues", "view", flag_value="issues", help="What is doubtful or not known.")
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
    view: str | None,
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

    if view and rank is not None:
        raise click.UsageError(f"--{view} is about all ranks: leave out --rank")
    with reading(db) as database:
        chosen = database.run_name(run)
        choice.check_steps(database, chosen, dp=dp, rank=rank)
        choice.check_category(database, chosen, category)
        steps = {"run": chosen, "kind": kind, "dp": dp}
        calls = {**steps, "phase": phase, "category": category}
        if calibration is not None:
            calibration = database.run_name(calibration)
        found = _found(database, view, calls, rank, calibration)
        if form != "table":
            output.write_data(found, form)
        else:
            _write_page(database, view, found.records(), calls, show_all, db)


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
    if not rows and view != "issues":
        output.note(f"{run.run}: {NOTHING[view]}")
        return
    width = output.page_width()
    output.write_lines(
        [
            *page.title(run, run.n_ranks, width),
            *_body(database, view, rows, run, calls, show_all, width),
            *page.next_commands(_next(database, view, run.run, db)),
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
    database: "Database", view: str | None, run: str, db: str | None
) -> list[tuple[str, str]]:
    has_log = bool(database.report("comm_topology", run=run).fetchall())
    n_issues = len(database.report("comm_issues", run=run).fetchall())
    looks = [
        (None, (), "transfer and waiting, by message size"),
        ("ranks", ("--ranks",), "who waits for whom"),
        *([("topology", ("--topology",), "how the GPUs talk")] if has_log else []),
        *([("issues", ("--issues",), f"what is doubtful: {n_issues}")] if n_issues else []),
    ]
    return [
        (output.to_paste(db, "comms", run, *words), shows)
        for name, words, shows in looks
        if name != view
    ]
