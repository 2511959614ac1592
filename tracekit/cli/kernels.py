"""tracekit kernels: kernel names by time, and why each counts as what it counts as."""

from types import SimpleNamespace

import click

from tracekit import units
from tracekit.cli import choice, names, options, output, page, table

TOP = 30
"""Names on the page unless all are asked for."""


@click.command("kernels")
@options.run_name()
@click.option("--category", metavar="NAME", help="Only names of this category.")
@click.option("--unknown", is_flag=True, help="Only names that no rule knows.")
@click.option(
    "--why", metavar="NAME", help="Tell which rule gave NAME, or names with it in, a class."
)
@click.option("--all", "show_all", is_flag=True, help=f"All names, not the first {TOP}.")
@options.db()
@options.output_format()
def command(
    run: str | None,
    category: str | None,
    unknown: bool,
    why: str | None,
    show_all: bool,
    db: str | None,
    form: str,
) -> None:
    """List kernels by time, with their class.

    Times are sums over all ranks and steps.
    """
    from tracekit.database import reading

    if unknown and category:
        raise click.UsageError("--unknown is a category of its own: leave out --category")
    with reading(db) as database:
        chosen = database.run_name(run)
        choice.check_category(database, chosen, category)
        category = "unknown" if unknown else category
        top = None if show_all or form != "table" else TOP
        found = (
            database.report("kernel_why", run=chosen, name=why)
            if why is not None
            else database.report("kernels", run=chosen, category=category, top=top)
        )
        if form != "table":
            output.write_data(found, form)
        elif why is not None:
            _write_reasons(found.records(), chosen, why)
        else:
            (facts,) = database.report("run_list", run=chosen).records()
            output.write_lines(_page(facts, found.records(), unknown, db))


def _page(
    run: SimpleNamespace, rows: list[SimpleNamespace], unknown: bool, db: str | None
) -> list[str]:
    width = output.page_width()
    title = page.title(run, run.n_ranks, width)
    if not rows:
        none = (
            "every name is known: a rule gives each its class" if unknown else "no such name in it"
        )
        return [*title, none]
    heading, *lines = table.of(rows, COLUMNS, width)
    after = page.next_commands(_next(rows, run.run, db))
    return [*title, "", output.strong(heading), *lines, *after]


def _next(rows: list[SimpleNamespace], run: str, db: str | None) -> list[tuple[str, str]]:
    folded = (
        [(output.to_paste(db, "kernels", run, "--all"), "")] if rows and rows[-1].n_folded else []
    )
    why = (output.to_paste(db, "kernels", run, "--why", "NAME"), "which rule gave a name its class")
    return [*folded, why]


def _class(row: SimpleNamespace) -> str:
    return " ".join(filter(None, (row.category, row.impl)))


def _name(row: SimpleNamespace) -> str:
    return names.of_kernel(row.name, row) if row.name is not None else f"{row.n_folded:,} more"


COLUMNS = [
    (table.Column("ms"), lambda row: units.ms(row.sum_ns)),
    (table.Column("%sum"), lambda row: units.percent(row.share)),
    (table.Column("calls"), lambda row: f"{row.n:,}"),
    (table.Column("us/call"), lambda row: units.us(row.ns_per_call)),
    (table.name("category impl", minimum=24), _class),
    (table.name("name"), _name),
]


def _write_reasons(rows: list[SimpleNamespace], run: str, name: str) -> None:
    for row in rows:
        output.write_lines(_reason(row))
    if not rows:
        output.note(f"{run}: no name with {name!r} in it; `tracekit kernels` lists them")


def _reason(row: SimpleNamespace) -> list[str]:
    from tracekit.rules import find_rule

    rule = find_rule(row.rule) if row.rule else None
    facts = {
        "class": _class(row),
        "rule": row.rule or "none matches; give one with tracekit ingest --taxonomy FILE",
        "source": rule.source if rule else None,
        "Marlin": names.marlin(row) if row.weight_type else None,
        "time": f"{units.ms(row.sum_ns)} ms in {page.counted(row.n, 'call')}",
    }
    lines = [f"  {label:8}{table.visible(text)}" for label, text in facts.items() if text]
    return [output.strong(table.visible(row.name)), *lines]
