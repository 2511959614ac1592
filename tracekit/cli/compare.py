"""tracekit compare: whether one run is faster than another, why, and how certain that is."""

from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import click

from tracekit.cli import choice, compare_page, gate, options, output
from tracekit.cli.compare_page import Steps
from tracekit.cli.gate import Gate, Judgement
from tracekit.cli.table import visible
from tracekit.errors import GateError, QueryError

if TYPE_CHECKING:
    from tracekit.database import Database

REPORTS = ("compare_headline", "compare_waterfall", "compare_kernels", "compare_context")


class _GateType(click.ParamType[Gate]):
    name = "gate"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> Gate:
        try:
            return gate.parse(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


@click.command("compare")
@click.argument("base")
@click.argument("other")
@options.kind()
@click.option("--batch", type=click.IntRange(1), metavar="N", help="Only steps of N requests.")
@options.dp()
@click.option(
    "--gate",
    "gates",
    type=_GateType(),
    multiple=True,
    metavar="EXPR",
    help="Exit with 3 unless it holds: 'ms_per_token<=+3%', 'tokens_per_s>=-2%', 'step_ms<=12.5'.",
)
@click.option("--strict", is_flag=True, help="A gate fails too where nobody can tell.")
@click.option("--anyway", is_flag=True, help="Compare runs of different models or machines.")
@options.db()
@options.output_format()
def command(
    base: str,
    other: str,
    kind: str | None,
    batch: int | None,
    dp: int | None,
    gates: tuple[Gate, ...],
    strict: bool,
    anyway: bool,
    db: str | None,
    form: str,
) -> None:
    """Show whether run OTHER is faster than run BASE, and what makes the difference.

    Each is a run, or repeats of one setting: names with commas between them, or a pattern such as
    'eagle3-r*'. json gives everything, csv the figures for each batch size.
    """
    from tracekit.database import reading

    with reading(db) as database:
        bases, others = _sides(database, base, other)
        for run in (*bases, *others):
            choice.check_steps(database, run, dp=dp)
        steps: Steps = {"base": bases, "other": others, "kind": kind, "batch": batch, "dp": dp}
        context = database.report("compare_context", base=bases, other=others).records()
        _check_context(context, steps, anyway)
        rows = _headline(database, steps)
        judged = [gate.judge(each, row) for each in gates for row in rows if row.is_main]
        if form == "table":
            output.write_lines(compare_page.page_of(database, steps, rows, context, judged, db))
        elif form == "csv":
            output.write_data(database.report("compare_headline", **steps), form)
        else:
            output.write_object(_everything(database, steps, judged))
    _check_gates(judged, strict)


def _sides(database: "Database", base: str, other: str) -> tuple[list[str], list[str]]:
    sides = database.run_names(base), database.run_names(other)
    for run in sides[0]:
        if run in sides[1]:
            raise QueryError(f"{visible(run)}: it is on both sides; compare it with another run")
    return sides


def _check_context(context: list[SimpleNamespace], steps: Steps, anyway: bool) -> None:
    forbids = [row for row in context if row.effect == "refused" and row.verdict == "differs"]
    if forbids and not anyway:
        told = ", ".join(compare_page.difference(row) for row in forbids)
        raise QueryError(
            f"{_names(steps)}: not comparable: {told}; --anyway compares them all the same"
        )


def _headline(database: "Database", steps: Steps) -> list[SimpleNamespace]:
    rows = database.report("compare_headline", **steps).records()
    if rows:
        return rows
    kind = f"{steps['kind']} step" if steps["kind"] else "step"
    size = "" if steps["batch"] is None else f" of {steps['batch']} requests"
    raise QueryError(
        f"{_names(steps)}: no {kind}{size} that both have, by the number of requests in it; "
        "`tracekit steps RUN` lists those of each"
    )


def _names(sides: Steps) -> str:
    runs = [run for name in ("base", "other") for run in cast("list[str]", sides[name])]
    return ", ".join(map(visible, runs))


def _everything(database: "Database", steps: Steps, judged: list[Judgement]) -> dict[str, object]:
    found: dict[str, object] = {}
    for name in REPORTS:
        taken = compare_page.parameters(name, steps)
        rows = database.report(name, **taken).records()
        found[name.removeprefix("compare_")] = [vars(row) for row in rows]
    return {**found, "gates": [each.as_dict() for each in judged]}


def _check_gates(judged: list[Judgement], strict: bool) -> None:
    for each in judged:
        if each.verdict == "cannot tell" and not strict:
            why = (
                "stalled steps decide it; measure again"
                if each.is_decided_by_stalls
                else "take more steps"
            )
            output.note(f"{each.gate}: cannot tell; {why}, or --strict to fail")
    failed = [each for each in judged if each.verdict == "fails"]
    unsure = [each for each in judged if strict and each.verdict == "cannot tell"]
    if failed or unsure:
        told = ", ".join(gate.words(each) for each in (*failed, *unsure))
        raise GateError(f"{told}; see what changed in the page without --gate")
