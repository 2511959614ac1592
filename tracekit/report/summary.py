"""What a reader should know first: key figures, and findings with the rows that prove them."""

from collections.abc import Callable, Collection
from types import SimpleNamespace

from tracekit import units
from tracekit.cli import page
from tracekit.cli.comms_ranks import stands_out
from tracekit.cli.headline import profiling, speed, traced
from tracekit.cli.waiting import MOST
from tracekit.report import tables
from tracekit.report.document import TOPICS, Figure, Finding, Topic, table
from tracekit.report.measured import Measured

LATE = 0.05
"""Part of a step in which the device has nothing queued, from which the host is called late."""

UNKNOWN = 0.01
"""Part of busy time in kernels of no known class, from which it is told as a finding."""

PROOF = 5
"""Rows of a proof that could have many."""

GEMMS = ("gemm", "moe_gemm")
"""Categories of matrix multiplications: each asked by itself, which reads no other kernel."""

WIDE = 10_000
"""Columns of a page whose sentences are to stay whole."""


ONE_RUN = "Whether that pays, only a run without drafts can tell."
"""What a finding about drafts says of a run by itself: beside another run leave it out."""


Teller = Callable[[Measured, SimpleNamespace, SimpleNamespace], list[Finding]]
"""What is found of one topic, given the row of `breakdown_headline` and that of `run_list`."""


def key_figures(measured: Measured, run: SimpleNamespace) -> tuple[Figure, ...]:
    """The figures of the headline; none where the run has no step with device work."""
    return tuple(
        figure
        for row in measured.ask("breakdown_headline", run=run.run)
        for figure in (*_speed(row, _cost(measured, row, run)), *_shares(measured, row, run))
    )


def findings(
    measured: Measured, run: SimpleNamespace, topics: Collection[Topic] = TOPICS
) -> tuple[Finding, ...]:
    """Findings about the topics, what takes most time first."""
    tellers: dict[Topic, Teller] = {
        "all_reduce": _all_reduce,
        "ranks": _straggler,
        "gemm": _gemm,
        "host": _host,
        "drafts": _drafts,
        "unknown": _unknown,
    }
    return tuple(
        finding
        for row in measured.ask("breakdown_headline", run=run.run)
        for topic, teller in tellers.items()
        if topic in topics
        for finding in teller(measured, row, run)
    )


def device(run: SimpleNamespace) -> str:
    """What does the work, as pages call it."""
    return str(run.backend).upper()


def _cost(measured: Measured, row: SimpleNamespace, run: SimpleNamespace) -> list[SimpleNamespace]:
    return measured.ask("profiling_cost", run=run.run) if row.kind == "decode" else []


def _speed(row: SimpleNamespace, cost: list[SimpleNamespace]) -> list[Figure]:
    ns_per_token, tokens, is_unprofiled = speed(row, cost)
    window = "without the profiler" if is_unprofiled else "profiled"
    each = "" if row.reqs_max == 1 else "each request, "
    counted = f"{page.counted(row.n_steps, 'step')}, profiled"
    middle = [f"p10-p90 {page.spread(row.step_p10_ns, row.step_p90_ns)}"] if row.step_p10_ns else []
    step = Figure(
        f"{row.kind} step, median", units.ms(row.step_p50_ns), "ms", ", ".join([*middle, counted])
    )
    if ns_per_token is None:
        return [step]
    figures = [
        Figure("per token", units.ms(ns_per_token), "ms", window),
        Figure("speed", f"{1e9 / ns_per_token:,.1f}", "tok/s", f"{each}{window}"),
        step,
    ]
    if row.is_verify and tokens is not None:
        figures.append(Figure("tokens per step", f"{tokens:.2f}", "", window))
    return figures


def _shares(measured: Measured, row: SimpleNamespace, run: SimpleNamespace) -> list[Figure]:
    found = [Figure(f"{device(run)} busy", units.percent(row.busy_share), "%", "of the step")]
    if row.all_reduce_share_of_step:
        share = units.percent(row.all_reduce_share_of_step)
        waits = [
            f", {units.percent(part.waiting_share, 0)} % of it waiting"
            for part in _waiting(measured, row, run)
            if part.phase is None
        ]
        found.append(Figure("AllReduce", share, "%", f"of the step{''.join(waits)}"))
    for total in measured.ask("spec_totals", run=run.run):
        if total.acceptance_rate is not None:
            accepted = units.percent(total.acceptance_rate)
            found.append(Figure("drafts accepted", accepted, "%", f"of {_drafted(total)}"))
    return found


def _waiting(
    measured: Measured, row: SimpleNamespace, run: SimpleNamespace
) -> list[SimpleNamespace]:
    found = measured.ask("comm_waiting", run=run.run, kind=row.kind)
    return [part for part in found if part.category == "all_reduce"]


def _all_reduce(measured: Measured, row: SimpleNamespace, run: SimpleNamespace) -> list[Finding]:
    if not row.all_reduce_share_of_step:
        return []
    title = (
        f"AllReduce is {page.per_cent(row.all_reduce_share_of_step)} of a {row.kind} step "
        f"and {page.per_cent(row.all_reduce_share_of_busy)} of its busy time."
    )
    parts = _waiting(measured, row, run)
    text = "".join(
        f"{units.percent(part.waiting_share, 0)} % of it is waiting for the slowest rank, which "
        "faster links would not help; the rest is transfer."
        for part in parts
        if part.phase is None
    )
    rows = measured.ask("breakdown", run=run.run, kind=row.kind)
    work = [work for work in rows if work.category == "all_reduce"]
    proof = table("AllReduce by phase", work, tables.BREAKDOWN)
    if parts:
        proof = table("AllReduce by phase", parts, tables.waiting(run), lambda part: not part.phase)
    return [Finding(title, text, proof, "all_reduce")]


def _straggler(measured: Measured, row: SimpleNamespace, run: SimpleNamespace) -> list[Finding]:
    ranks = measured.ask("comm_ranks", run=run.run, kind=row.kind)
    if not stands_out(ranks):
        return []
    first = ranks[0]
    name = page.rank(first.dp, first.rank, run)
    title = (
        f"{page.per_cent(first.cost_share)} of the waiting is for rank {name}, which comes last in "
        f"{page.per_cent(first.last_share)} of its collectives."
    )
    text = f"It costs the others {units.ms(first.cost_ns)} ms of a step. {_why(first)}"
    proof = table("Ranks, what they cost the others", ranks[:PROOF], tables.ranks(run))
    return [Finding(title, text, proof, "ranks")]


def _why(row: SimpleNamespace) -> str:
    if row.host_share is None:
        return "Why it is late is not told: the traces have no launches."
    if max(row.host_share, row.device_share) < MOST:
        return "Neither late launches nor longer work explain most of that."
    is_host = row.host_share >= row.device_share
    share = units.percent(row.host_share if is_host else row.device_share, 0)
    return (
        f"{share} % of that is for {'late launches' if is_host else 'longer work on its device'}."
    )


def _gemm(measured: Measured, row: SimpleNamespace, run: SimpleNamespace) -> list[Finding]:
    steps = {"run": run.run, "kind": row.kind, "by": "impl"}
    work = [
        part
        for category in GEMMS
        for part in measured.ask("breakdown", **steps, category=category)
        if part.row_kind == "work"
    ]
    if not work:
        return []
    work.sort(key=lambda part: part.busy_ns, reverse=True)
    first = work[0]
    name = " ".join(filter(None, (first.category, first.impl)))
    title = (
        f"Most time in matrix multiplications goes to {name} in {first.phase}: "
        f"{units.ms(first.busy_ns)} ms in all its calls, "
        f"{page.per_cent(first.share_of_step)} of a step."
    )
    proof = table("GEMM and MoE GEMM by implementation", work[:PROOF], tables.BREAKDOWN)
    return [Finding(title, "", proof, "gemm")]


def _host(measured: Measured, row: SimpleNamespace, run: SimpleNamespace) -> list[Finding]:
    gaps = measured.ask("breakdown_stalls", run=run.run, kind=row.kind)
    if gaps:
        title = (
            f"The host stalled in {page.counted(len(gaps), 'step')}, "
            f"for up to {units.duration(gaps[0].stall_ns)}."
        )
        text = "A stall makes the mean of a few steps meaningless: look at the median."
        return [Finding(title, text, table("Stalls", gaps[:PROOF], tables.STALLS), "host")]
    if row.starved_share is None:
        return []
    share = page.per_cent(row.starved_share)
    title = f"The {device(run)} waits for the host {share} of a step"
    is_late = row.starved_share >= LATE
    title += ": launches come too late." if is_late else ": the host keeps ahead."
    text = "The profiler slows the host: without it this is less." if is_late else ""
    return [Finding(title, text, table("Waiting for the host", [row], tables.HOST), "host")]


def _drafts(measured: Measured, row: SimpleNamespace, run: SimpleNamespace) -> list[Finding]:
    totals = measured.ask("spec_totals", run=run.run)
    if not totals and not row.is_verify:
        return []
    phases = measured.ask("spec_phases", run=run.run)
    drafting = [part for part in phases if part.phase == "draft"]
    cost = "".join(f", for {units.ms(part.busy_ns)} ms of drafting" for part in drafting)
    windows = _cost(measured, row, run)
    _, tokens, is_unprofiled = speed(row, windows)
    gain = "an unknown number of" if tokens is None else f"{tokens:.2f}"
    window = " without the profiler" if is_unprofiled else ""
    title = f"With drafts a step gives {gain} tokens{window}{cost}."
    accepted = "".join(
        f"{page.per_cent(total.acceptance_rate)} of {_drafted(total)} were accepted."
        for total in totals
        if total.acceptance_rate is not None
    )
    text = " ".join(filter(None, (accepted, traced(row, windows), ONE_RUN)))
    is_step = table(
        "Phases of a step with drafts", phases, tables.PHASES, lambda part: part.row_kind == "step"
    )
    return [Finding(title, text, is_step, "drafts")]


def _drafted(total: SimpleNamespace) -> str:
    number = "" if total.draft_tokens is None else f"{total.draft_tokens:,} "
    return f"{number}draft tokens"


def _unknown(measured: Measured, row: SimpleNamespace, run: SimpleNamespace) -> list[Finding]:
    if row.unknown_share < UNKNOWN:
        return []
    names = measured.ask("kernels", run=run.run, category="unknown", top=PROOF)
    title = f"{page.per_cent(row.unknown_share)} of busy time is in kernels of no known class."
    text = "They are in no other category; rules of your own can name them."
    proof = table("Kernels of no known class", names, tables.KERNELS)
    return [Finding(title, text, proof, "unknown")]


def cost_sentences(measured: Measured, run: SimpleNamespace) -> tuple[str, ...]:
    """What profiling cost, in the words of the pages."""
    return tuple(profiling(measured.ask("profiling_cost", run=run.run), WIDE))
