"""tracekit report: a run in one file, to send to others."""

from importlib.util import find_spec
from pathlib import Path

import click

from tracekit.cli import options, output
from tracekit.cli.table import visible
from tracekit.errors import QueryError, StoreError

FORMS = {".html": "html", ".htm": "html", ".md": "markdown"}
"""What is written, by how the file's name ends."""


@click.command("report")
@options.run_name()
@click.argument("other", required=False)
@click.option(
    "-o",
    "--out",
    "target",
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    metavar="FILE",
    help="File to write: .html or .md.",
)
@options.db()
def command(run: str | None, other: str | None, target: Path, db: str | None) -> None:
    """Write a report of a run to send to others: findings, charts and tables.

    With OTHER, that run against RUN, and both. One file that needs no network. HTML has charts;
    Markdown has the same tables.
    """
    from tracekit.database import reading

    if target.suffix.lower() not in FORMS:
        raise click.UsageError(f"-o {target}: no such kind of file; end its name in .html or .md")
    _check_extra()
    from tracekit import report

    with reading(db) as database:
        name = database.run_name(run)
        if other is None:
            document = report.make(database, name)
        else:
            document = report.compare(database, *_two(name, database.run_name(other)))
    write = report.html if FORMS[target.suffix.lower()] == "html" else report.markdown
    _write(target, write(document))
    output.note(f"{document.run} -> {target}")


def _two(run: str, other: str) -> tuple[str, str]:
    if run == other:
        raise QueryError(f"{visible(run)}: it is named twice; name another run to compare it with")
    return run, other


def _check_extra() -> None:
    if find_spec("jinja2") is None:
        raise QueryError(
            "report: jinja2 is not installed, which writes it; pip install 'tracekit-llm[report]'"
        )


def _write(target: Path, text: str) -> None:
    try:
        target.write_text(text, encoding="utf-8")
    except OSError as error:
        raise StoreError(
            f"{target}: cannot be written ({error.strerror}); choose another with -o"
        ) from error
