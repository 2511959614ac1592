"""The lines above a table of steps: how long a step takes, and what the reader must know of it."""

from types import SimpleNamespace

from tracekit import units
from tracekit.cli import output, page, table
from tracekit.cli.choice import spans

TOLD = 3
"""Stalls told one by one."""


def headline(
    figures: SimpleNamespace,
    gaps: list[SimpleNamespace],
    cost: list[SimpleNamespace],
    run: SimpleNamespace,
    width: int,
) -> list[str]:
    """Steps and their time, time per token, shares, and waiting for the host.

    `cost` is the report `profiling_cost`: where there is one, speed is that of the other window.
    """
    device = run.backend.upper()
    cost = cost if figures.kind == "decode" else []
    tokens = _tokens(figures, gaps, cost)
    is_profiled = bool(tokens) and not _is_plain(cost)
    waiting = "(waiting for work left out)" if is_profiled and figures.wait_for_work_ns > 0 else ""
    return [
        *table.flow([_steps(figures, run), _time(figures, gaps)], width),
        *table.flow([tokens, waiting, f"{device} busy {page.per_cent(figures.busy_share)}"], width),
        *profiling(cost, width),
        *_all_reduce(figures),
        *_host(figures, device),
    ]


def profiling(cost: list[SimpleNamespace], width: int) -> list[str]:
    """What profiling cost, of the report `profiling_cost`; nothing where there is none."""
    return [line for row in cost for line in table.wrapped(_cost(row), width)]


def _cost(row: SimpleNamespace) -> str:
    if row.source == "iteration_log":
        what = "a decode step takes"
        plain, profiled = row.unprofiled_step_ns, row.profiled_step_ns
        basis = f"medians of {row.n_unprofiled_steps:,} and {row.n_profiled_steps:,}, engine's log"
    else:
        what = "a token takes"
        plain, profiled = row.unprofiled_ns_per_token, row.profiled_ns_per_token
        basis = "means, /metrics"
    return (
        f"Without the profiler {what} {units.ms(plain)} ms, with it {units.ms(profiled)} ms "
        f"({page.change(row.slowdown)}; {basis})."
    )


def _is_plain(cost: list[SimpleNamespace]) -> bool:
    """Whether time per token is known of a window without the profiler."""
    return any(row.unprofiled_ns_per_token is not None for row in cost)


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


def _time(figures: SimpleNamespace, gaps: list[SimpleNamespace]) -> str:
    if figures.n_steps > 1:
        return f"step {units.ms(figures.step_ns)} ms (median {units.ms(figures.step_p50_ns)})"
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
    is_plain = _is_plain(cost)
    ns_per_token = cost[0].unprofiled_ns_per_token if is_plain else figures.ns_per_token
    if ns_per_token is None or (_is_one_stall(figures, gaps) and not is_plain):
        return ""
    each = "" if figures.reqs_max == 1 else " each"
    window = "unprofiled" if is_plain else "profiled"
    rate = f"{1e9 / ns_per_token:.1f} tok/s{each} ({window})"
    per_token = f"{units.ms(ns_per_token)} ms/token, {rate}"
    if not figures.is_verify or figures.tokens_per_step is None:
        return per_token
    return f"{figures.tokens_per_step:.2f} tokens/step   {per_token}"


def _all_reduce(figures: SimpleNamespace) -> list[str]:
    if not figures.all_reduce_share_of_step:
        return []
    of_step = page.per_cent(figures.all_reduce_share_of_step)
    of_busy = page.per_cent(figures.all_reduce_share_of_busy)
    return [f"AllReduce is {of_step} of the step, {of_busy} of busy time"]


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
