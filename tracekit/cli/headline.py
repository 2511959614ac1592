"""The lines above a table of steps: how long a step takes, and what the reader must know of it."""

from types import SimpleNamespace
from typing import NamedTuple

from tracekit import units
from tracekit.cli import output, page, table
from tracekit.cli.choice import spans

TOLD = 3
"""Stalls told one by one."""

SAME = 0.05
"""What two windows may differ by in tokens per step, and a window from its trace in steps."""


class Speed(NamedTuple):
    """What a stream waits for a token, and the tokens it gets of a step, both of one window."""

    ns_per_token: float | None
    tokens_per_step: float | None
    is_unprofiled: bool


def speed(figures: SimpleNamespace, cost: list[SimpleNamespace]) -> Speed:
    """That of the whole window without the profiler, where it was counted; else of the trace."""
    for row in cost:
        if row.unprofiled_ns_per_token is not None:
            return Speed(row.unprofiled_ns_per_token, row.unprofiled_tokens_per_step, True)
    return Speed(figures.ns_per_token, figures.tokens_per_step, False)


def traced(figures: SimpleNamespace, cost: list[SimpleNamespace]) -> str:
    """Which steps a table is of, where the headline is of others; `cost` as in headline()."""
    if not cost:
        return ""
    of = f"The table is of the {page.counted(figures.n_steps, 'step')} traced, with the profiler"
    quoted, own = speed(figures, cost), figures.tokens_per_step
    if not quoted.is_unprofiled or quoted.tokens_per_step is None or own is None:
        return f"{of}."
    whole = f"all of the window without it: {quoted.tokens_per_step:.2f}"
    return f"{of}: {own:.2f} tokens/step ({whole})."


def headline(
    figures: SimpleNamespace,
    gaps: list[SimpleNamespace],
    cost: list[SimpleNamespace],
    waiting: list[SimpleNamespace],
    run: SimpleNamespace,
    width: int,
) -> list[str]:
    """Steps and their time, time per token, shares, and waiting for the host.

    `cost` is the report `profiling_cost`: where there is one, speed is that of the other window.
    `waiting` is the report `comm_waiting`.
    """
    device = run.backend.upper()
    cost = cost if figures.kind == "decode" else []
    tokens = _tokens(figures, gaps, cost)
    is_profiled = bool(tokens) and not speed(figures, cost).is_unprofiled
    idle = "(waiting for work left out)" if is_profiled and figures.wait_for_work_ns > 0 else ""
    return [
        *table.flow([_steps(figures, run), _time(figures, gaps, cost)], width),
        *table.flow([tokens, idle, f"{device} busy {page.per_cent(figures.busy_share)}"], width),
        *profiling(cost, width),
        *_all_reduce(figures, waiting, width),
        *_host(figures, device),
    ]


def profiling(cost: list[SimpleNamespace], width: int) -> list[str]:
    """What profiling cost, of the report `profiling_cost`; nothing where there is none."""
    told = [tell(row) for row in cost for tell in (_cost, _elapsed, _difference, _part)]
    return [line for sentence in told if sentence for line in table.wrapped(sentence, width)]


def _cost(row: SimpleNamespace) -> str:
    is_counted = row.source == "counters"
    return (
        f"Without the profiler a decode step takes {units.ms(row.unprofiled_step_ns)} ms, with it "
        f"{units.ms(row.profiled_step_ns)} ms ({page.change(row.slowdown)}; "
        f"{'means, /metrics' if is_counted else _log(row)})."
    )


def _log(row: SimpleNamespace) -> str:
    counts = f"{row.n_unprofiled_steps:,} and {row.n_profiled_steps:,}"
    return f"medians of {counts} by the engine's log, without the time between steps"


def _elapsed(row: SimpleNamespace) -> str:
    """The log's times, where they stand beside others that hold more."""
    if row.source != "counters" or row.unprofiled_elapsed_ns is None:
        return ""
    plain, profiled = units.ms(row.unprofiled_elapsed_ns), units.ms(row.profiled_elapsed_ns)
    return f"The engine's own elapsed time is {plain} and {profiled} ms ({_log(row)})."


def _difference(row: SimpleNamespace) -> str:
    """That a step of one window is worth other tokens than a step of the other."""
    plain, profiled = row.unprofiled_tokens_per_step, row.profiled_tokens_per_step
    if plain is None or profiled is None or abs(profiled / plain - 1) <= SAME:
        return ""
    return (
        f"More drafts are accepted {'with' if profiled > plain else 'without'} it: {plain:.2f} "
        f"tokens/step without, {profiled:.2f} with the profiler; compare steps, not tokens."
    )


def _part(row: SimpleNamespace) -> str:
    """That the profiler ended before the load did."""
    if row.profiled_share is None or row.profiled_share >= 1 - SAME:
        return ""
    share = page.per_cent(row.profiled_share)
    if row.source == "counters":
        return f"The profiler ended before the load: with it are the {share} of steps traced."
    return (
        f"The profiler ended before the load: it ran in {share} of those steps, and cost them more "
        "than this tells."
    )


def stalls(gaps: list[SimpleNamespace], run: SimpleNamespace, width: int) -> list[str]:
    """The stalls of the host in words, longest first."""
    told = [
        output.warning(line)
        for gap in gaps[:TOLD]
        for line in table.wrapped(_stall(gap, run.n_engines > 1), width)
    ]
    more = len(gaps) - TOLD
    return [
        *told,
        *([output.warning(f"... and in {page.counted(more, 'more step')}")] if more > 0 else []),
    ]


def _steps(figures: SimpleNamespace, run: SimpleNamespace) -> str:
    kind = "" if figures.kind == "unknown" else f"{figures.kind} "
    cut = f", {page.counted(figures.n_cut, 'cut step')} left out" if figures.n_cut else ""
    only = " (cut by the profiling window)" if figures.is_cut else ""
    load = f"{_load(figures)}{_engines(figures, run)}"
    return f"{page.counted(figures.n_steps, f'{kind}step')}{load}{only}{cut}"


def _engines(figures: SimpleNamespace, run: SimpleNamespace) -> str:
    if run.n_engines < 2:
        return ""
    return f" on {page.plural(len(figures.engines), 'engine')} {spans(figures.engines)}"


def _load(figures: SimpleNamespace) -> str:
    low, high = figures.reqs_min, figures.reqs_max
    if low is None:
        return ""
    return f" of {page.counted(high, 'request')}" if low == high else f" of {low}-{high} requests"


def _time(
    figures: SimpleNamespace, gaps: list[SimpleNamespace], cost: list[SimpleNamespace]
) -> str:
    window = "profiled, " if cost else ""
    if figures.n_steps > 1:
        median = units.ms(figures.step_p50_ns)
        return f"step {units.ms(figures.step_ns)} ms ({window}median {median})"
    if _is_one_stall(figures, gaps):
        rest, stall = units.duration(gaps[0].rest_ns), units.duration(gaps[0].stall_ns)
        return f"step {rest} and {stall} of a stalled host"
    return f"step {units.ms(figures.step_ns)} ms"


def _is_one_stall(figures: SimpleNamespace, gaps: list[SimpleNamespace]) -> bool:
    """Whether the only step is mostly stall: its time then says nothing of decode."""
    return bool(figures.n_steps == 1 and gaps and gaps[0].is_in_step)


def _tokens(
    figures: SimpleNamespace, gaps: list[SimpleNamespace], cost: list[SimpleNamespace]
) -> str:
    quoted = speed(figures, cost)
    ns_per_token, tokens = quoted.ns_per_token, quoted.tokens_per_step
    if ns_per_token is None or (_is_one_stall(figures, gaps) and not quoted.is_unprofiled):
        return ""
    each = "" if figures.reqs_max == 1 else " each"
    window = "unprofiled" if quoted.is_unprofiled else "profiled"
    rate = f"{1e9 / ns_per_token:,.1f} tok/s{each} ({window})"
    per_token = f"{units.ms(ns_per_token)} ms/token, {rate}"
    if not figures.is_verify or tokens is None:
        return per_token
    return f"{tokens:.2f} tokens/step   {per_token}"


def _all_reduce(figures: SimpleNamespace, waiting: list[SimpleNamespace], width: int) -> list[str]:
    if not figures.all_reduce_share_of_step:
        return []
    of_step = page.per_cent(figures.all_reduce_share_of_step)
    of_busy = page.per_cent(figures.all_reduce_share_of_busy)
    shares = f"AllReduce is {of_step} of the step, {of_busy} of busy time"
    for row in waiting:
        if row.phase is None and row.category == "all_reduce":
            shares += f"; {units.percent(row.waiting_share, 0)} % of it is waiting"
    return table.wrapped(shares, width)


def _host(figures: SimpleNamespace, device: str) -> list[str]:
    if figures.starved_ns is None:
        return []
    share, time = page.per_cent(figures.starved_share), units.ms(figures.starved_ns)
    delay = units.duration(figures.launch_delay_ns)
    return [f"{device} waits for the host {share} of the step ({time} ms); launch to start {delay}"]


def _stall(gap: SimpleNamespace, is_parallel: bool) -> str:
    time = units.duration(gap.stall_ns)
    step = f"{gap.dp}.{gap.step}" if is_parallel else f"{gap.step}"
    where = f"in step {step}" if gap.is_in_step else f"before the work of step {step} began"
    call = f", in {table.visible(gap.host_call)}" if gap.host_call else ""
    rest = f"without that it takes {units.ms(gap.rest_ns)} ms"
    if not gap.is_in_step:
        rest = f"not in its {units.ms(gap.dur_ns)} ms"
    return f"The host stalled for {time} {where}{call}: {rest}."
