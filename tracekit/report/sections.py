"""The parts of a report below its findings: context, charts and tables, data quality."""

from types import SimpleNamespace

from tracekit import units
from tracekit.cli import page
from tracekit.report import pictures, tables
from tracekit.report.document import Section, Table, table
from tracekit.report.measured import Measured
from tracekit.report.summary import cost_sentences

FOLD = 0.01
"""Share of busy time under which categories are one row."""

TOP = 15
"""Kernels and collectives that are listed."""

SOURCES = {
    "counters": "the server's counters",
    "log": "the server's log, rounded",
    "trace": "the steps traced",
}
"""What told of drafts."""


def sections(
    measured: Measured, run: SimpleNamespace, predicted: tuple[Section, ...] = ()
) -> tuple[Section, ...]:
    """All parts that have something to show; `predicted` stands below what was measured."""
    made = [
        _context(run),
        *(
            section
            for row in measured.ask("breakdown_headline", run=run.run)
            for section in _of_steps(measured, run, row)
        ),
        *predicted,
        _kernels(measured, run),
        _quality(measured, run),
    ]
    return tuple(section for section in made if section.tables or section.words)


def _of_steps(measured: Measured, run: SimpleNamespace, row: SimpleNamespace) -> list[Section]:
    return [
        _breakdown(measured, run, row),
        _steps(measured, run, row),
        _collectives(measured, run, row),
        _speculation(measured, run),
    ]


def _context(run: SimpleNamespace) -> Section:
    drafter = run.speculative_method
    if drafter and run.num_speculative_tokens:
        drafter = f"{drafter}, {page.counted(run.num_speculative_tokens, 'token')} a step"
    facts = {
        "run": run.run,
        "engine": page.engine(run),
        "model": run.model,
        "traces": "synthetic: generated, not measured" if run.is_synthetic else "",
        "device": run.gpu or ("CPU" if run.backend == "cpu" else ""),
        "parallel": page.ranks(run, run.n_ranks),
        "drafts": drafter or "none that is known",
        "window": "" if run.duration_ns is None else units.duration(run.duration_ns),
        "steps": f"{run.n_steps:,}, of them {run.n_decode_steps:,} decode",
        "activities": f"{run.n_activities:,}",
    }
    rows = [SimpleNamespace(fact=fact, value=value) for fact, value in facts.items() if value]
    columns = [("fact", lambda row: row.fact), ("value", lambda row: row.value)]
    return Section("What was profiled", tables=(table("The run", rows, columns),))


def _breakdown(measured: Measured, run: SimpleNamespace, row: SimpleNamespace) -> Section:
    rows = measured.ask("breakdown", run=run.run, kind=row.kind, fold=FOLD)
    words = (
        f"Mean over {page.counted(row.n_steps, f'{row.kind} step')}, ranks reduced first. A row is "
        "the time in which at least one such kernel runs; overlap and idle close the rows to the "
        "step exactly.",
        f"Unknown kernels are {page.per_cent(row.unknown_share)} of busy time; "
        f"{page.sources(row.phase_sources) or 'no phase is told'}.",
    )
    shown = table("Time of a step", rows, tables.BREAKDOWN, lambda part: part.row_kind == "step")
    title = f"Where the time of a {row.kind} step goes"
    return Section(title, words, (pictures.breakdown(rows, row),), (shown,))


def _steps(measured: Measured, run: SimpleNamespace, row: SimpleNamespace) -> Section:
    spans = measured.ask("step_histogram", run=run.run, kind=row.kind)
    cut = f" {page.counted(row.n_cut, 'cut step')} left out." if row.n_cut else ""
    words = f"{page.counted(row.n_steps, 'step')}, median {units.ms(row.step_p50_ns)} ms.{cut}"
    charts = (pictures.histogram(spans, row),) if row.n_steps > 1 else ()
    filled = [span for span in spans if span.n]
    shown = table("Steps by duration", filled, tables.SPANS)
    return Section("How steps differ", (words,), charts, (shown,))


def _collectives(measured: Measured, run: SimpleNamespace, row: SimpleNamespace) -> Section:
    parts = measured.ask("comm_waiting", run=run.run, kind=row.kind)
    sizes = measured.ask("comms", run=run.run, kind=row.kind)
    ranks = measured.ask("comm_ranks", run=run.run, kind=row.kind)
    timed = [size for size in sizes[:TOP] if size.transfer_p50_ns]
    charts = [
        *([pictures.waiting(parts)] if parts else []),
        *([pictures.transfers(timed)] if timed else []),
    ]
    all_phases = table(
        "Waiting and transfer", parts, tables.waiting(run), lambda part: part.phase is None
    )
    shown = (
        all_phases,
        table("By message size", sizes[:TOP], tables.COMMS),
        table("Who waits for whom, per call", ranks[:TOP], tables.ranks(run)),
    )
    return Section("Collectives", (), tuple(charts), _filled(shown))


def _speculation(measured: Measured, run: SimpleNamespace) -> Section:
    positions = measured.ask("spec", run=run.run)
    words = tuple(map(_drafts, measured.ask("spec_totals", run=run.run)))
    counted = [row for row in positions if row.acceptance_rate is not None]
    charts = (pictures.acceptance(counted),) if counted else ()
    shown = table("Accepted by position", positions, tables.POSITIONS)
    return Section("Drafts", words, charts, _filled((shown,)))


def _drafts(total: SimpleNamespace) -> str:
    """Who counted drafts, and how many tokens a draft gives as far as that is known."""
    source = SOURCES[total.source]
    counted = "Acceptance is"
    if total.tokens is not None:
        counted = f"{total.tokens:,} tokens of {total.drafts:,} drafts"
    if total.mean_acceptance_length is None:
        return f"{counted} by {source}."
    cut = "" if total.source == "trace" else ", those that max_tokens cuts off included"
    length = f"{total.mean_acceptance_length:.2f} a draft with the bonus token"
    return f"{counted} by {source}: {length}{cut}."


def _kernels(measured: Measured, run: SimpleNamespace) -> Section:
    rows = measured.ask("kernels", run=run.run, top=TOP)
    words = "Durations added up over all ranks and steps: work, not wall time."
    shown = _filled((table("Longest kernels", rows, tables.KERNELS),))
    return Section("Kernels", (words,) if shown else (), (), shown)


def _quality(measured: Measured, run: SimpleNamespace) -> Section:
    issues = measured.ask("comm_issues", run=run.run)
    asked = (
        table("Events skipped or doubted", measured.ask("losses", run=run.run), tables.LOSSES),
        table("Files", measured.ask("unread", run=run.run), tables.UNREAD),
        table("Collectives", issues, tables.ISSUES),
        table("NCCL", measured.ask("comm_warnings", run=run.run), tables.WARNINGS),
    )
    shown = _filled(asked)
    lost = f"{run.n_lost:,} events were skipped though they are needed." if run.n_lost else ""
    clean = "" if shown else "Nothing was lost, and nothing is doubted."
    slowed = cost_sentences(measured, run)
    return Section("Data quality", (*filter(None, (lost, clean)), *slowed), (), shown)


def _filled(found: tuple[Table, ...]) -> tuple[Table, ...]:
    return tuple(shown for shown in found if shown.rows)
