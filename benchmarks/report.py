"""Markdown of what was measured."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from statistics import geometric_mean

from measure import Sample, Samples

MB = 1_000_000


@dataclass(frozen=True, slots=True)
class Trace:
    """A scaled trace; `plain_bytes` are those before compression."""

    path: Path
    source: str
    plain_bytes: int
    events: int
    copies: int

    def title(self) -> str:
        """Size and form."""
        return f"{self.plain_bytes / MB:,.0f} MB{' .gz' if self.path.suffix == '.gz' else ''}"


@dataclass(frozen=True, slots=True)
class Row:
    """Row of the memory table: one trace."""

    trace: Trace
    ingest: Samples
    breakdown: Samples
    database_bytes: int


def load_s(run: Sample) -> float:
    """Seconds of loading alone."""
    return run.load_s


def wall_s(run: Sample) -> float:
    """Seconds of the whole process."""
    return run.wall_s


def cpu_s(run: Sample) -> float:
    """Seconds of all cores, user and system."""
    return run.cpu_s


def speed_table(
    trace: Trace, measured: Sequence[Samples], versions: dict[str, str], load: float
) -> str:
    """One row per tool; `load x`, `wall x` and `CPU x` are multiples of tracekit's seconds."""
    base = next((s for s in measured if s.case.name == "tracekit"), None)
    heads = ["tool", "load s", "wall s", "CPU s", "MB/s", "events/s", "peak MB"]
    heads += ["load x", "wall x", "CPU x"]
    rows = [
        [
            f"{samples.case.name} ({versions[samples.case.name]})",
            *(both(samples, figure) for figure in (load_s, wall_s, cpu_s)),
            f"{trace.plain_bytes / MB / samples.best(load_s):,.0f}",
            f"{trace.events / samples.best(load_s):,.0f}",
            f"{samples.peak_bytes() / MB:,.0f}",
            *(ratio(samples, base, figure) if base else "" for figure in (load_s, wall_s, cpu_s)),
        ]
        for samples in measured
    ]
    what = f"{trace.title()}, {trace.events:,} events ({trace.source} x {trace.copies})"
    return "\n".join([setting(what, measured, load), "", *table(heads, rows)])


def traces_table(rows: Sequence[tuple[Trace, Sequence[Samples]]], load: float) -> str:
    """One row per trace: other tools' loading as multiples of tracekit's, their means below."""
    names = list(dict.fromkeys(s.case.name for _, measured in rows for s in measured[1:]))
    heads = ["trace", "MB", "events", "tracekit load s", "MB/s", "peak MB"]
    factors = [[factor(measured, name) for name in names] for _, measured in rows]
    cells = [
        [*trace_cells(trace, measured[0]), *(f"{one:.1f}" if one else "-" for one in own)]
        for (trace, measured), own in zip(rows, factors, strict=True)
    ]
    means = [f"{geometric_mean(filter(None, own)):.1f}" for own in zip(*factors, strict=True)]
    top = setting("one rank each", rows[0][1], load)
    last = ["geometric mean", *[""] * (len(heads) - 1), *means]
    return "\n".join([top, "", *table(heads + [f"{name} x" for name in names], [*cells, last])])


def trace_cells(trace: Trace, own: Samples) -> list[str]:
    """What tracekit needs for one trace."""
    return [
        trace.source.removesuffix(".json.gz"),
        f"{trace.plain_bytes / MB:,.0f}",
        f"{trace.events:,}",
        both(own, load_s),
        f"{trace.plain_bytes / MB / own.best(load_s):,.0f}",
        f"{own.peak_bytes() / MB:,.0f}",
    ]


def factor(measured: Sequence[Samples], name: str) -> float | None:
    """A tool's best loading as a multiple of tracekit's, the first; None where it has none."""
    found = (samples for samples in measured if samples.case.name == name)
    best = next((samples.best(load_s) for samples in found), None)
    return best and best / measured[0].best(load_s)


def memory_table(rows: Sequence[Row], load: float) -> str:
    """One row per trace, and the ratios between them."""
    heads = ["trace", "events", "wall s", "CPU s", "peak MB", "database MB", "breakdown s"]
    cells = [
        [
            row.trace.title(),
            f"{row.trace.events:,}",
            both(row.ingest, wall_s),
            both(row.ingest, cpu_s),
            f"{row.ingest.peak_bytes() / MB:,.0f}",
            f"{row.database_bytes / MB:,.0f}",
            both(row.breakdown, wall_s),
        ]
        for row in rows
    ]
    what = f"copies of {rows[0].trace.source}"
    top = setting(what, [row.ingest for row in rows], load)
    return "\n".join([top, "", *table(heads, cells), "", *ratios(rows)])


def ratios(rows: Sequence[Row]) -> Iterable[str]:
    """.gz to plain of each size, and the peak of the largest trace to that of the smallest."""
    plain, packed = rows[::2], rows[1::2]
    for one, other in zip(plain, packed, strict=True):
        yield f"- time of {other.trace.title()} / plain: {ratio(other.ingest, one.ingest, wall_s)}"
    for first, *_, last in (plain, packed) if len(plain) > 1 else ():
        peaks = last.ingest.peak_bytes() / first.ingest.peak_bytes()
        yield f"- peak of {last.trace.title()} / {first.trace.title()}: {peaks:.2f}"


def setting(what: str, measured: Sequence[Samples], load: float) -> str:
    """How the numbers below it were taken."""
    runs = len(measured[0].runs)
    return (
        f"{what}; best of {runs} alternating runs (medians in brackets), largest peak; "
        f"{machine()}, load average {load:.1f} at the start."
    )


def machine() -> str:
    """Cores, memory and Python."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    python = platform.python_version()
    return f"{os.cpu_count()} cores, {memory / 2**30:.0f} GB, {platform.system()}, Python {python}"


def load_average() -> float:
    """Processes that wanted to run in the last minute."""
    return os.getloadavg()[0]


def tracekit_version() -> str:
    """Of tracekit and of DuckDB."""
    return f"{version('tracekit-llm')}, DuckDB {version('duckdb')}"


def both(samples: Samples, figure: Callable[[Sample], float]) -> str:
    """Best and median."""
    return f"{samples.best(figure):.2f} ({samples.median(figure):.2f})"


def ratio(samples: Samples, base: Samples, figure: Callable[[Sample], float]) -> str:
    """Best to best, median to median."""
    best = samples.best(figure) / base.best(figure)
    return f"{best:.2f} ({samples.median(figure) / base.median(figure):.2f})"


def table(heads: list[str], rows: Iterable[list[str]]) -> Iterable[str]:
    """Lines of a table: the first column left, the others right."""
    yield f"| {' | '.join(heads)} |"
    yield "|---" + "|--:" * (len(heads) - 1) + "|"
    for row in rows:
        yield f"| {' | '.join(row)} |"
