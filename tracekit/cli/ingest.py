"""tracekit ingest: traces into the database."""

import posixpath
import sys
from collections import Counter
from types import SimpleNamespace
from typing import TYPE_CHECKING

import click

from tracekit.cli import options, output, page, table
from tracekit.limits import DEFAULT_MEMORY

if TYPE_CHECKING:
    from rich.progress import Progress

    from tracekit.api import IngestSummary

SHOWN = 12
"""Lines of losses, and names of unknown files."""

RANK = click.IntRange(0, 2**31 - 1)

FOLDED = 3
"""Unknown files of one folder that are still named one by one."""

LOSSES = [
    (table.Column("events"), lambda row: f"{row.skipped:,} lost" if row.skipped else "all kept"),
    (table.name("file"), lambda row: row.file),
    (table.label("reason"), lambda row: row.reason),
    (table.name("example"), lambda row: row.example or ""),
]


@click.command("ingest")
@click.argument("paths", metavar="PATH...", nargs=-1, required=True)
@click.option("--run", metavar="NAME", help="Name of the run [default: of the folder or file].")
@click.option("--rank", type=RANK, metavar="N", help="Rank of a single trace that tells none.")
@click.option("--replace", is_flag=True, help="Replace a run of the same name.")
@click.option("--each", is_flag=True, help="Make one run of each folder with traces in it.")
@click.option("--taxonomy", metavar="FILE", help="TOML file of kernel rules to try first.")
@click.option("--memory", default=DEFAULT_MEMORY, show_default=True, help="Limit for DuckDB.")
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

    bar = _Bar()

    def report(summary: "IngestSummary") -> None:
        bar.close()
        output.write_lines(_report(summary, db))

    try:
        runs = api.ingest(
            paths,
            run=run,
            db=db,
            rank=rank,
            replace=replace,
            each=each,
            taxonomy=taxonomy,
            memory=memory,
            progress=bar.advance if sys.stderr.isatty() else None,
            done=report,
        )
    finally:
        bar.close()
    output.write_lines([f"Next: {_next(runs, db)}"])


def _next(runs: "list[IngestSummary]", db: str | None) -> str:
    if len(runs) > 1 or not runs[0].n_ranks:  # without: measured sizes, or a capture that failed
        return output.to_paste(db, "runs")
    run = runs[0].run
    if not run.startswith("-"):
        return output.to_paste(db, "breakdown", run)
    database = ["--db", db] if db else []
    return output.to_paste(None, "breakdown", *database, "--", run)


def _report(summary: "IngestSummary", db: str | None) -> list[str]:
    from tracekit.database import reading

    with reading(db) as database:
        losses = database.report("losses", run=summary.run).records()
        unread = database.report("unread", run=summary.run).records()
    first = (
        f"{table.visible(summary.run)}: {page.counted(summary.n_ranks, 'rank')}, "
        f"{summary.n_activities:,} activities, {page.counted(summary.n_steps, 'step')} "
        f"in {summary.seconds:.1f} s -> {table.visible(str(summary.db))}"
    )
    return [first, *_losses(losses), *_unread(unread)]


def _losses(rows: list[SimpleNamespace]) -> list[str]:
    if not rows:
        return []
    heading, *lines = table.of(rows[:SHOWN], LOSSES, output.page_width())
    more = [f"... {len(rows) - SHOWN:,} more"] if len(rows) > SHOWN else []
    return [output.warning("not read, or doubtful:"), output.strong(heading), *lines, *more]


def _unread(rows: list[SimpleNamespace]) -> list[str]:
    if not rows:
        return []
    folders = Counter(posixpath.dirname(row.path) for row in rows)
    folded = {folder: n for folder, n in folders.items() if n > FOLDED}
    found = [f"{n:,} under {table.visible(folder or '.')}/" for folder, n in folded.items()]
    found += [table.visible(r.path) for r in rows if posixpath.dirname(r.path) not in folded]
    names = found[:SHOWN]
    more = [f"and {len(found) - SHOWN:,} more"] if len(found) > SHOWN else []
    text = f"files of no known kind: {', '.join([*names, *more])}"
    return table.wrapped(text, output.page_width())


class _Bar:
    """A bar on stderr for the run being read; stdout stays as it is."""

    def __init__(self) -> None:
        self._bars: Progress | None = None

    def advance(self, run: str, done: int, total: int) -> None:
        if self._bars is None:
            self._bars = _bars()
            self._bars.start()
            self._bars.add_task("", total=total, run=table.visible(run))
        self._bars.update(self._bars.task_ids[0], completed=done, total=total)

    def close(self) -> None:
        if self._bars is not None:
            self._bars.stop()
            self._bars = None


def _bars() -> "Progress":
    from rich import progress
    from rich.console import Console

    return progress.Progress(
        progress.TextColumn("{task.fields[run]}", markup=False),
        progress.BarColumn(),
        progress.DownloadColumn(),
        progress.TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )
