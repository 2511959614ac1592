"""The exact figures of a generated rank, by plain interval arithmetic over what was emitted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from generator.rank import Rank, Row, Step

T = TypeVar("T")
Key = tuple[int, str, str]
"""(step, phase, category) of a row of step_breakdown."""


@dataclass(slots=True)
class Window:
    """A step's window on the device."""

    step: int
    start_ns: int
    end_ns: int
    wait_ns: int = 0
    busy_ns: int = 0


@dataclass(slots=True)
class Tally:
    """Count, sum and union of a set of activities."""

    n: int = 0
    sum_ns: int = 0
    busy_ns: int = 0
    exposed_ns: int = 0
    overhang_ns: int = 0


@dataclass(slots=True)
class Figures:
    """Truth of one rank."""

    windows: dict[int, Window]
    phases: dict[tuple[int, str], Tally] = field(default_factory=dict)
    breakdown: dict[Key, Tally] = field(default_factory=dict)


def figures(rank: Rank) -> Figures:
    """Windows, phases and breakdown of a rank."""
    result = Figures(windows(rank))
    for row in rank.rows:
        if row.step is not None:
            phase = result.phases.setdefault((row.step, row.phase), Tally())
            part = result.breakdown.setdefault((row.step, row.phase, row.category), Tally())
            for tally in (phase, part):
                tally.n += 1
                tally.sum_ns += row.dur_ns
    for number, step in rank.steps.items():
        for name in step.host_phases:
            result.phases.setdefault((number, name), Tally())
    _sweep(rank.rows, result)
    return result


def windows(rank: Rank) -> dict[int, Window]:
    """Windows of the steps that have device work, in order."""
    mine: dict[int, list[Row]] = {}
    for row in rank.rows:
        if row.step is not None:
            mine.setdefault(row.step, []).append(row)
    numbers = sorted(mine)
    anchors = [_anchor(mine[number]) for number in numbers]
    last_end = max(r.start_ns + r.dur_ns for r in mine[numbers[-1]])
    ends = [*anchors[1:], last_end]
    result = {n: Window(n, a, e) for n, a, e in zip(numbers, anchors, ends, strict=True)}
    for number, following in zip(numbers, numbers[1:], strict=False):
        if any(rank.steps[n].is_empty for n in range(number + 1, following)):
            end = max(r.start_ns + r.dur_ns for r in mine[number])
            result[number].wait_ns = max(0, min(r.start_ns for r in mine[following]) - end)
    return result


def _anchor(rows: list[Row]) -> int:
    time: Counter[int] = Counter()
    for row in rows:
        if row.is_kernel:
            time[row.stream] += row.dur_ns
    main = time.most_common(1)[0][0]
    return min(r.start_ns for r in rows if r.is_kernel and r.stream == main)


def _sweep(rows: list[Row], result: Figures) -> None:
    """Walk over all moments at which anything starts or ends and account each stretch."""
    categories: Counter[str] = Counter()
    parts: Counter[Key] = Counter()
    before = 0
    window: Window | None = None
    for moment, change, subject in _moments(rows, result):
        stretch = moment - before
        if categories and stretch:
            _account(stretch, categories, parts, window, result)
        before = moment
        if isinstance(subject, Window):
            window = subject if change > 0 else (None if window is subject else window)
            continue
        _shift(categories, subject.category, change)
        if subject.step is not None:
            _shift(parts, (subject.step, subject.phase, subject.category), change)


def _shift(counter: Counter[T], key: T, change: int) -> None:
    counter[key] += change
    if not counter[key]:
        del counter[key]


def _moments(rows: list[Row], result: Figures) -> Iterator[tuple[int, int, Row | Window]]:
    moments: list[tuple[int, int, Row | Window]] = []
    for row in rows:
        moments.append((row.start_ns, 1, row))
        moments.append((row.start_ns + row.dur_ns, -1, row))
    for window in result.windows.values():
        moments.append((window.start_ns, 1, window))
        moments.append((window.end_ns, -1, window))
    moments.sort(key=lambda m: (m[0], m[1]))
    return iter(moments)


def _account(
    stretch: int,
    categories: Counter[str],
    parts: Counter[Key],
    window: Window | None,
    result: Figures,
) -> None:
    if window:
        window.busy_ns += stretch
    for key in parts:
        tally = result.breakdown[key]
        tally.busy_ns += stretch
        if len(categories) == 1:
            tally.exposed_ns += stretch
        if window is None or window.step != key[0]:
            tally.overhang_ns += stretch
    for step, phase in {key[:2] for key in parts}:
        result.phases[step, phase].busy_ns += stretch


def is_complete(rank: Rank, number: int, step: Step) -> bool:
    """Whether the step begins and its last phase ends inside the profiling window."""
    if step.is_cut:
        return False
    ends = [r.start_ns + r.dur_ns for r in rank.rows if r.step == number]
    end = max([step.host_end_ns, *ends])
    return rank.window_start <= step.host_start_ns and end <= rank.window_end


def decode_mean(truths: list[tuple[Rank, Figures]]) -> tuple[int, ...] | None:
    """Number of decode steps that are whole on all ranks, and means over steps and ranks.

    Step without waiting for work, idle, busy in forward or verify, in draft, in sample; None
    without such a step.
    """
    whole = [n for n, step in truths[0][0].steps.items() if step.kind == "decode"]
    whole = [n for n in whole if all(_is_whole(rank, truth, n) for rank, truth in truths)]
    if not whole:
        return None
    each = [_times(truth, n) for n in whole for _, truth in truths]
    return len(whole), *(round(sum(times) / len(each)) for times in zip(*each, strict=True))


def _is_whole(rank: Rank, truth: Figures, number: int) -> bool:
    step = rank.steps.get(number)
    return number in truth.windows and step is not None and is_complete(rank, number, step)


def _times(truth: Figures, number: int) -> tuple[int, ...]:
    window = truth.windows[number]
    dur = window.end_ns - window.start_ns - window.wait_ns
    busy = {phase: tally.busy_ns for (n, phase), tally in truth.phases.items() if n == number}
    target = busy.get("forward", 0) + busy.get("verify", 0)
    return dur, dur - window.busy_ns, target, busy.get("draft", 0), busy.get("sample", 0)
