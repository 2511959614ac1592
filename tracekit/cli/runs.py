"""tracekit runs: what is in the database."""

from types import SimpleNamespace

import click

from tracekit import units
from tracekit.cli import options, output, page, table


def _model(run: SimpleNamespace) -> str:
    """Last part of the model's path or name: the rest is mostly the same for all runs."""
    name = (run.model or "").rstrip("/").rpartition("/")[2]
    return (
        name.removesuffix("(synthetic)").rstrip() if run.is_synthetic else name
    ) or units.MISSING


def _origin(run: SimpleNamespace) -> str:
    """What a reader of its times must know."""
    marks = ("CPU" if run.backend == "cpu" else "", "synthetic" if run.is_synthetic else "")
    return ", ".join(filter(None, marks)) or units.MISSING


MODEL = (table.name("model", yields=2), _model)

COLUMNS: list[table.Spec] = [
    (table.name("run", minimum=20), lambda run: run.run),
    (table.name("engine", minimum=6, yields=1), lambda run: page.engine(run) or units.MISSING),
    MODEL,
    (table.label("traces"), _origin),
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
            heading, *lines = _lines(found.records(), output.page_width())
            output.write_lines([output.strong(heading), *lines])
        else:
            output.write_data(found, form)


def _lines(runs: list[SimpleNamespace], width: int) -> list[str]:
    """The table; without models where they would cost the names of runs."""
    lines = table.of(runs, COLUMNS, width)
    if all(table.visible(run.run) in line for run, line in zip(runs, lines[1:], strict=True)):
        return lines
    return table.of(runs, [column for column in COLUMNS if column is not MODEL], width)
