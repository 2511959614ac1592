"""tracekit ingest: traces into the database."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING

import click

from tracekit.cli import options, output, page, table

if TYPE_CHECKING:
    from rich.progress import TaskID

    from tracekit.api import IngestSummary
    from tracekit.api import Progress as ProgressOfIngest

SHOWN = 12
"""Lines of losses, and names of unknown files."""

LOSSES = [
    (table.Column("events"), lambda row: f"{row.skipped:,}" if row.skipped else "kept"),
    (table.name("file"), lambda row: row.file),
    (table.label("reason"), lambda row: row.reason),
    (table.name("example"), lambda row: row.example or ""),
]


@click.command("ingest")
@click.argument("paths", metavar="PATH...", nargs=-1, required=True)
@click.option("--run", metavar="NAME", help="Name of the run [default: of the folder or file].")
@click.option("--rank", type=int, metavar="N", help="Rank of a single trace that tells none.")
@click.option("--replace", is_flag=True, help="Replace a run of the same name.")
@click.option("--each", is_flag=True, help="Make one run of each folder with traces in it.")
@click.option("--taxonomy", metavar="FILE", help="TOML file of kernel rules to try first.")
@click.option("--memory", default="500MB", show_default=True, help="Limit for DuckDB.")
@options.db()
def command(
    paths: tuple[str, ...],
    run: str | None,
    rank: int | None,
    replace: bool,
    each: bool,
    taxonomy: str | None,
    memory: str,
    db: str | None,
) -> None:
    """Read traces into the database.

    PATH is a trace file (.json, .json.gz, .json.zst) of torch.profiler, a folder with those of all
    ranks, or a run folder; metrics, logs and run.json beside the traces are taken along.
    """
    from tracekit import api

    with _progress() as progress:
        summaries = api.ingest(
            paths,
            run=run,
            db=db,
            rank=rank,
            replace=replace,
            each=each,
            taxonomy=taxonomy,
            memory=memory,
            progress=progress,
        )
    for summary in summaries:
        output.write_lines(_report(summary, db))


def _report(summary: "IngestSummary", db: str | None) -> list[str]:
    from tracekit.database import reading

    with reading(db) as database:
        losses = database.report("losses", run=summary.run).records()
        unread = database.report("unread", run=summary.run).records()
    first = (
        f"{table.visible(summary.run)}: {page.counted(summary.n_ranks, 'rank')}, "
        f"{summary.n_activities:,} activities, {page.counted(summary.n_steps, 'step')} "
        f"in {summary.seconds:.1f} s -> {summary.db}"
    )
    return [
        first,
        *_losses(losses),
        *_unread(unread),
        f"Next: {output.to_paste(db, 'breakdown', summary.run)}",
    ]


def _losses(rows: list[SimpleNamespace]) -> list[str]:
    if not rows:
        return []
    heading, *lines = table.of(rows[:SHOWN], LOSSES, output.page_width())
    more = [f"... {len(rows) - SHOWN:,} more"] if len(rows) > SHOWN else []
    return [output.warning("not read, or doubtful:"), output.strong(heading), *lines, *more]


def _unread(rows: list[SimpleNamespace]) -> list[str]:
    if not rows:
        return []
    names = [table.visible(row.path) for row in rows[:SHOWN]]
    more = [f"and {len(rows) - SHOWN:,} more"] if len(rows) > SHOWN else []
    text = f"files of no known kind: {', '.join([*names, *more])}"
    return table.wrapped(text, output.page_width())


@contextmanager
def _progress() -> Iterator["ProgressOfIngest | None"]:
    """A bar per run on a terminal's stderr; nothing in a pipe."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.fields[run]}", markup=False),
        BarColumn(),
        DownloadColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        tasks: dict[str, TaskID] = {}

        def advance(run: str, done: int, total: int) -> None:
            if run not in tasks:
                tasks[run] = bars.add_task("", total=total, run=table.visible(run))
            bars.update(tasks[run], completed=done, total=total)

        yield advance
