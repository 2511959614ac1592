"""Times tracekit ingest against json.load, HTA and Perfetto, or measures its memory.

Usage: python benchmarks/ingest.py [--every | --memory] [--mb N ...] [--runs N] [--tools NAME ...]
       [--gz]

Prints Markdown tables for docs/performance.md. What it installs and writes is in build/bench.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import peers
import report
from measure import Case, ChildError, alternate

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
PUBLIC = ROOT.parent / "shared/traces/public"
USUAL = PUBLIC / "torch_v100_ddp_rank1_216k_events.json.gz"
EVERY_BYTES = 4_000_000  # the next smaller public traces have 1 MB
TRACEKIT = (sys.executable, "-m", "tracekit")
SPEED_MB = (500.0,)
MEMORY_MB = (250.0, 1000.0)


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line asks for."""

    mb: list[float]
    runs: int
    tools: list[str]
    gz: bool
    every: bool
    memory: bool
    keep: bool
    trace: Path | None
    folder: Path


def options_from(arguments: list[str]) -> Options:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Benchmark tracekit ingest.")
    parser.add_argument("--mb", type=float, nargs="+", help="plain sizes [500; memory: 250 1000]")
    parser.add_argument("--runs", type=int, default=5, help="runs of each, alternating [5]")
    parser.add_argument("--tools", nargs="+", choices=peers.NAMES, default=list(peers.NAMES))
    parser.add_argument("--gz", action="store_true", help="time on a .json.gz")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--every", action="store_true", help="each public trace of over 4 MB, a row")
    what.add_argument("--memory", action="store_true", help="tracekit alone: memory, .gz, reopen")
    parser.add_argument("--keep", action="store_true", help="leave traces and databases")
    parser.add_argument("--trace", type=Path, help="trace to scale up")
    parser.add_argument("--folder", type=Path, default=ROOT / "build/bench")
    given = parser.parse_args(arguments)
    given.mb = given.mb or list(MEMORY_MB if given.memory else SPEED_MB)
    return Options(**vars(given))


def source(options: Options) -> Path:
    """Trace to scale: the one given, else the public one, else a generated one."""
    if options.trace is not None:
        return options.trace
    if USUAL.exists():
        return USUAL
    out = options.folder / "generated"
    generate = ROOT / "sample_traces/generate.py"
    subprocess.run(
        [sys.executable, generate, out, "--dialect", "story_baseline", "--ranks", "1"], check=True
    )
    return next((out / "story_baseline/traces").glob("*rank0*"))


def scaled(trace: Path, folder: Path, mb: float, gz: bool) -> report.Trace:
    """The trace scaled up in a child: a measured process starts with its parent's peak memory."""
    name = trace.name.removesuffix(".gz") + (".gz" if gz else "")
    out = folder / f"{mb:.0f}mb{'_gz' if gz else ''}" / name
    out.parent.mkdir(parents=True, exist_ok=True)
    print(f"scaling to {mb:.0f} MB: {name}", file=sys.stderr)
    command: list[str | Path] = [sys.executable, HERE / "scale.py", trace, out, "--mb", str(mb)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    return report.Trace(path=out, source=trace.name, **json.loads(done.stdout))


def ingest_case(name: str, trace: Path, database: Path) -> Case:
    """Everything from traces to a finished database."""
    command: list[str | Path] = [*TRACEKIT, "ingest", trace, "--run", "bench", "--db", database]
    return Case(name, command, stale=[database])


def tools(options: Options) -> Iterable[peers.Tool]:
    """The other tools that can be had; says which cannot, and why."""
    for name in options.tools:
        if name != "tracekit":
            try:
                yield peers.tool(name, options.folder)
            except peers.MissingError as error:
                print(f"{name} skipped: {error}", file=sys.stderr)


def own_case(trace: Path) -> Case:
    """Loading of a trace with tracekit."""
    command = [*peers.loader(sys.executable, "tracekit"), trace]
    return Case("tracekit", command, stale=[trace.with_name("bench.duckdb")])


def speed(options: Options, trace: report.Trace) -> str:
    """Table of one trace and all tools."""
    found = list(tools(options))
    cases = [tool.case(trace.path) for tool in found]
    if "tracekit" in options.tools:
        cases.insert(0, own_case(trace.path))
    versions = {"tracekit": report.tracekit_version()} | {t.name: t.version for t in found}
    load = report.load_average()
    return report.speed_table(trace, alternate(cases, options.runs), versions, load)


def large_traces() -> Iterator[Path]:
    """Public traces of over 4 MB as plain text: a .gz ends with that size (RFC 1952)."""
    for path in sorted(PUBLIC.rglob("*.json.gz")):
        if int.from_bytes(path.read_bytes()[-4:], "little") > EVERY_BYTES:
            yield path


def every(options: Options) -> str:
    """Table of all large public traces and all tools; one scaled trace is there at a time."""
    found = list(tools(options))
    load = report.load_average()
    rows = []
    for path in large_traces():
        trace = scaled(path, options.folder, options.mb[0], options.gz)
        trace = replace(trace, source=str(path.relative_to(PUBLIC)))
        cases = [own_case(trace.path), *(tool.case(trace.path) for tool in found)]
        rows.append((trace, alternate(cases, options.runs)))
        if not options.keep:
            shutil.rmtree(trace.path.parent)
    if not rows:
        raise SystemExit(f"{PUBLIC}: no traces of over 4 MB; give --trace FILE without --every")
    return report.traces_table(rows, load)


def memory(options: Options, traces: Sequence[report.Trace]) -> str:
    """Table of tracekit alone: each trace ingested, then its breakdown by a new process."""
    cases = []
    databases = [trace.path.parent / "bench.duckdb" for trace in traces]
    for trace, database in zip(traces, databases, strict=True):
        breakdown: list[str | Path] = [*TRACEKIT, "breakdown", "bench", "--db", database]
        cases += [
            ingest_case(f"ingest {trace.title()}", trace.path, database),
            Case(f"breakdown {trace.title()}", breakdown),
        ]
    load = report.load_average()
    measured = alternate(cases, options.runs)
    sizes = [database.stat().st_size for database in databases]
    columns = zip(traces, measured[::2], measured[1::2], sizes, strict=True)
    rows = [report.Row(*column) for column in columns]
    return report.memory_table(rows, load)


def run(options: Options) -> None:
    """Scale, measure and print; the scaled traces and databases go away again."""
    if options.every:
        print(every(options))
        return
    trace = source(options)
    forms = (False, True) if options.memory else (options.gz,)
    traces = [scaled(trace, options.folder, mb, gz) for mb in options.mb for gz in forms]
    try:
        if options.memory:
            print(memory(options, traces))
        else:
            print("\n\n".join(speed(options, trace) for trace in traces))
    finally:
        for folder in () if options.keep else {trace.path.parent for trace in traces}:
            shutil.rmtree(folder)


def main(arguments: list[str]) -> int:
    """Run the benchmark; returns the exit code."""
    try:
        run(options_from(arguments))
    except ChildError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
