"""tracekit runs: what is in the database."""

from types import SimpleNamespace

import click

from tracekit import units
from tracekit.cli import options, output, page, table


def _model(run: SimpleNamespace) -> str:
    """Last part of the model's path or name: the rest is mostly the same for all runs."""
    return (run.model or "").rstrip("/").rpartition("/")[2] or units.MISSING


COLUMNS = [
    (table.name("run", minimum=34), lambda run: run.run),
    (table.name("engine"), lambda run: page.engine(run) or units.MISSING),
    (table.name("model"), _model),
    (table.Column("ranks"), lambda run: f"{run.n_ranks}/{run.world_size or '?'}"),
    (table.Column("steps"), lambda run: f"{run.n_steps:,}"),
    (table.Column("decode"), lambda run: f"{run.n_decode_steps:,}"),
    (table.Column("window"), lambda run: units.duration(run.duration_ns)),
    (table.Column("lost"), lambda run: f"{run.n_lost:,}" if run.n_lost else units.MISSING),
]


@click.command("runs")
@options.db()
@options.output_format()
def command(db: str | None, form: str) -> None:
    """List the runs of the database."""
    from tracekit.database import reading

    with reading(db) as database:
        found = database.report("run_list")
        if form == "table":
            heading, *lines = table.of(found.records(), COLUMNS, output.page_width())
            output.write_lines([output.strong(heading), *lines])
        else:
            output.write_data(found, form)
