"""tracekit whatif: what other drafts or another load would give."""

from contextlib import AbstractContextManager
from types import SimpleNamespace
from typing import TYPE_CHECKING

import click

from tracekit.cli import compare_page, options, output, page, table, whatif_options, whatif_page
from tracekit.errors import QueryError

if TYPE_CHECKING:
    from tracekit.database import Database
    from tracekit.whatif import Prediction

LOADS = "1,4,16,64"


@click.command("whatif")
@options.run_name()
@whatif_options.add_options
@options.db()
@options.output_format()
def command(run: str | None, **given: object) -> None:
    """Predict whether speculation pays, by drafted tokens and load.

    From a run without drafts, better calibrated by one with drafts, or from a run with drafts
    alone. Whatever an option gives takes the place of what was measured; with --baseline-ms,
    --verify-ms, a draft's time and tokens no run is needed.
    """
    asked = SimpleNamespace(**given)
    whatif_options.check(asked)
    if asked.is_inputs and asked.form == "table":
        raise click.UsageError("--inputs does nothing without --format csv or json.")
    is_given = run is None and asked.baseline_ms is not None
    with _database(is_given, asked.db) as database:
        chosen = None if is_given else database.run_name(run)
        _check_draft_tp(database, chosen, asked.draft_tp)
        differs = _differences(database, chosen, asked.calibrate)
        if differs and not asked.anyway:
            raise QueryError(
                f"{table.visible(f'{chosen}, {asked.calibrate}')}: not comparable: {differs}; "
                "--anyway calibrates all the same"
            )
        found = _prediction(database, chosen, asked)
        if asked.form == "table":
            _write_page(database, chosen, found, asked)
        else:
            output.write_data(found.inputs if asked.is_inputs else found.rows, asked.form)


def _database(is_given: bool, db: str | None) -> "AbstractContextManager[Database]":
    from tracekit.database import reading
    from tracekit.whatif import without_runs

    return without_runs() if is_given else reading(db)


def _check_draft_tp(database: "Database", run: str | None, draft_tp: int | None) -> None:
    """A draft runs on GPUs of its target."""
    if run is None or draft_tp is None:
        return
    (facts,) = database.report("run_list", run=run).records()
    if facts.tensor_parallel and draft_tp > facts.tensor_parallel:
        of = f"the target of {table.visible(run)} has {facts.tensor_parallel}"
        raise click.UsageError(f"--draft-tp {draft_tp}: a draft runs on GPUs of its target; {of}.")


def _prediction(database: "Database", run: str | None, asked: SimpleNamespace) -> "Prediction":
    from tracekit.whatif import predict

    experts, active = asked.experts or (None, None)
    return predict(
        database,
        run,
        asked.calibrate,
        curve=asked.curve,
        ks=asked.ks,
        concurrencies=asked.concurrency or (LOADS if run else "1"),
        baseline_ns=_ns(asked.baseline_ms),
        verify_ns=_ns(asked.verify_ms),
        draft_ns=_ns(asked.draft_ms_per_step),
        draft_fraction=asked.draft_fraction,
        draft_tp=asked.draft_tp,
        all_reduces_per_draft=asked.all_reduces_per_draft,
        acceptance=asked.acceptance,
        tokens_per_step=asked.tokens_per_step,
        experts=experts,
        active_experts=active,
    )


def _ns(ms: float | None) -> float | None:
    return None if ms is None else ms * 1e6


def _write_page(
    database: "Database", run: str | None, found: "Prediction", asked: SimpleNamespace
) -> None:
    width = output.page_width()
    head = []
    if run is not None:
        facts = [
            database.report("run_list", run=name).records()[0]
            for name in (run, asked.calibrate)
            if name is not None
        ]
        differs = _differences(database, run, asked.calibrate)
        warned = [output.warning(f"Not comparable: {differs}.")] if differs else []
        head = [*page.title(facts[0], facts[0].n_ranks, width), *warned]
    rows, inputs = found.rows.records(), found.inputs.records()
    commands = _next(run, asked) if run else []
    output.write_lines(
        [
            *([*head, ""] if head else []),
            *whatif_page.lines(rows, inputs, width),
            *(page.next_commands(commands) if commands else []),
        ]
    )


def _differences(database: "Database", run: str | None, calibrate: str | None) -> str:
    """What two runs may not differ in, and do: it would count as growth."""
    if run is None or calibrate is None:
        return ""
    sides = {"base": run, "other": database.run_name(calibrate)}
    context = database.report("compare_context", **sides).records()
    refused = (row for row in context if row.effect == "refused" and row.verdict == "differs")
    return ", ".join(map(compare_page.difference, refused))


def _next(run: str, asked: SimpleNamespace) -> list[tuple[str, str]]:
    drafts = [] if asked.calibrate is None else [(asked.calibrate, "what drafts cost there")]
    return [
        *((output.to_paste(asked.db, "spec", name), shows) for name, shows in drafts),
        (output.to_paste(asked.db, "breakdown", run), "the step it starts from"),
    ]
