"""Runs commands as children and measures each: wall, CPU and load seconds, peak memory."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path


class ChildError(Exception):
    """A measured command failed; the message has the end of what it said."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One run of a command.

    `wall_s` includes the start of the process. `load_s` is what the command says it needed for
    loading alone, and `wall_s` where it says nothing. `cpu_s` is user and system time.
    """

    load_s: float
    wall_s: float
    cpu_s: float
    peak_bytes: int


@dataclass(frozen=True, slots=True)
class Case:
    """A command to be measured; `stale` are files to remove before each run.

    One that `may_fail` is left out of what is measured when it does.
    """

    name: str
    command: Sequence[str | Path]
    stale: Sequence[Path] = field(default=())
    may_fail: bool = False


@dataclass(frozen=True, slots=True)
class Samples:
    """All runs of one case."""

    case: Case
    runs: list[Sample]

    def best(self, figure: Callable[[Sample], float]) -> float:
        """Smallest of the runs."""
        return min(map(figure, self.runs))

    def peak_bytes(self) -> int:
        """Largest peak of the runs."""
        return max(run.peak_bytes for run in self.runs)

    def median(self, figure: Callable[[Sample], float]) -> float:
        """Median of the runs."""
        return statistics.median(map(figure, self.runs))


def alternate(cases: Sequence[Case], runs: int) -> list[Samples]:
    """Measure A B C A B C ...: what else the machine does then falls on all alike."""
    measured = [Samples(case, []) for case in cases]
    for number in range(runs):
        for samples in [*measured]:
            print(f"run {number + 1} of {runs}: {samples.case.name}", file=sys.stderr)
            if not _added(samples):
                measured.remove(samples)
    return measured


def _added(samples: Samples) -> bool:
    try:
        samples.runs.append(measure(samples.case))
    except ChildError as error:
        if not samples.case.may_fail:
            raise
        print(f"left out: {error}", file=sys.stderr)
        return False
    return True


def measure(case: Case) -> Sample:
    """Run the command once."""
    for path in case.stale:
        path.unlink(missing_ok=True)
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as log:
        started = time.perf_counter()
        child = subprocess.Popen(case.command, stdout=output, stderr=log)
        _, status, usage = os.wait4(child.pid, 0)
        wall_s = time.perf_counter() - started
        child.returncode = os.waitstatus_to_exitcode(status)
        said = [file.read() for file in (output, log) if file.seek(0) == 0]
    if child.returncode:
        raise ChildError(f"{case.name}: exit code {child.returncode}\n{''.join(said)[-2000:]}")
    return Sample(
        load_s=load_seconds(said[0]) or wall_s,
        wall_s=wall_s,
        cpu_s=usage.ru_utime + usage.ru_stime,
        peak_bytes=usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024),
    )


def load_seconds(output: str) -> float | None:
    """The loader's own figure: its last line is JSON. None where it is not."""
    last = output.strip().rpartition("\n")[2]
    return float(json.loads(last)["load_seconds"]) if last.startswith('{"load_seconds"') else None
