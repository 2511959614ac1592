"""Runs a benchmark into a run folder: starts its ranks, or is one that torchrun started."""

import json
import os
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NoReturn

from tracekit.collectors.bench.plan import Place, Plan
from tracekit.collectors.context.machine import machine
from tracekit.collectors.context.versions import versions_of
from tracekit.collectors.failures import explained
from tracekit.collectors.health import ended
from tracekit.collectors.process.job import Job, running
from tracekit.collectors.process.signals import Signals
from tracekit.collectors.recording import Recording, recording
from tracekit.collectors.report import Report
from tracekit.collectors.run_folder import PROFILED
from tracekit.collectors.secrets import known_secrets, redacted_arguments, redacted_environment
from tracekit.errors import CaptureError

WORKER = files("tracekit.collectors.bench") / "worker"
POLL_S = 0.2
_TAIL_LINES = 12


def measure(
    plan: Plan,
    place: Place | None,
    environment: Mapping[str, str],
    report: Report,
    signals: Signals,
) -> dict[str, Any]:
    """Measure into the run folder; gives what calibration.json says.

    `place` is rank 0 of ranks that run already; None: all are started here.

    Raises:
        CaptureError: a rank failed, or all took too long; none of them is left.
    """
    folder, known = plan.folder, known_secrets(sys.orig_argv, environment)
    if plan.replaces:
        folder.remove()
    with (
        explained(folder.path, known),
        recording(folder, _context(plan, environment), known) as recorded,
        explained(folder.path, known),
        TemporaryDirectory(prefix="tracekit-bench-") as scratch,
    ):
        recorded.add(machine=machine(folder.machine))
        command = _command(plan, None if place else Path(scratch))
        with running(command, _worker_env(environment), folder.script_log, signals, report) as job:
            report.stage(f"{folder.name}: {plan.n_ranks} ranks measure")
            _wait(job, plan.timeout_s, report)
        return _finished(recorded)


def join(plan: Plan, environment: Mapping[str, str]) -> NoReturn:
    """Become another rank than 0: it measures, and has neither a folder nor a page."""
    command = _command(plan, None)
    os.execvpe(command[0], command, _worker_env(environment))


def _command(plan: Plan, store: Path | None) -> list[str]:
    """Of one rank; with a folder for their `store` the one that starts all."""
    worker = [str(WORKER / "tracekit_bench.py"), plan.settings()]
    if store is None:
        return [plan.torch.python, *worker]
    launcher = str(WORKER / "tracekit_bench_launcher.py")
    return [plan.torch.python, launcher, str(plan.n_ranks), str(store / "store"), *worker]


def _worker_env(environment: Mapping[str, str]) -> dict[str, str]:
    """One thread each, as torchrun has it: ranks would take cores from each other."""
    return {"OMP_NUM_THREADS": "1", **environment}


def _context(plan: Plan, environment: Mapping[str, str]) -> dict[str, object]:
    known = known_secrets(sys.orig_argv, environment)
    options = asdict(plan)
    del options["folder"], options["torch"]
    return {
        "engine": {"name": "torch", "version": plan.torch.version},
        "command": redacted_arguments(sys.orig_argv, known),
        "environment": redacted_environment(environment, known),
        "versions": versions_of([plan.torch.python], environment),
        "options": options,
    }


def _wait(job: Job, timeout_s: float, report: Report) -> None:
    deadline = time.monotonic() + timeout_s
    while (code := job.wait(POLL_S)) is None:
        report.detail("".join(job.tail(1)))
        if time.monotonic() > deadline:
            raise CaptureError(
                f"bench: not done after {timeout_s:g} s, its processes are ended; take smaller or "
                f"fewer --sizes, or raise --timeout; all they said is in {job.log}"
            )
    if code:
        lines = job.tail(_TAIL_LINES)
        for line in lines:
            report.note(line)
        raise CaptureError(ended("bench", job, _cause(lines)))


def _cause(lines: list[str]) -> str:
    """What the launcher says of a rank that was killed, else the first that a rank says itself."""
    said = [line for line in lines if line.startswith("rank ")]
    killed = [line for line in said if " killed by signal " in line]
    return next(iter(killed or said), "")


def _finished(recorded: Recording) -> dict[str, Any]:
    folder = recorded.folder
    found: dict[str, Any] = json.loads(folder.calibration.read_text("utf-8"))
    recorded.add_window({"name": PROFILED, "is_profiled": True, **found["window"]})
    recorded.finish()
    return found
