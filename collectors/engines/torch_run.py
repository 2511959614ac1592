"""Engine torch: any script, started by python, torchrun or whatever starts those in the end."""

import json
import os
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from importlib import resources
from pathlib import Path
from typing import Any

from tracekit.collectors.context.gpu import gpus_sampled
from tracekit.collectors.context.interpreter import interpreter_of
from tracekit.collectors.engine import Launch
from tracekit.collectors.health import ended
from tracekit.collectors.options import ProfileOptions
from tracekit.collectors.process.job import POLL_S, WRITING_GRACE_S, Job, running
from tracekit.collectors.process.signals import Signals
from tracekit.collectors.recording import Recording
from tracekit.collectors.report import Report
from tracekit.collectors.run_folder import PROFILED, RunFolder
from tracekit.collectors.trace_files import check_ranks
from tracekit.errors import CaptureError

EARLY_S = 10.0
"""Longest recording of a script whose optimizer takes no step, in seconds."""

NOTES = ".torch"
"""Folder of the run in which processes say what they did, while the script runs."""

_TAIL_LINES = 12


class Torch:
    """Scripts that use torch, profiled by a hook in each process; see `Engine`."""

    name = "torch"

    def is_started_by(self, command: Sequence[str]) -> bool:
        """Never: a command that uses torch looks like any other, and has to be named."""
        return False

    def launch(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        options: ProfileOptions,
        folder: RunFolder,
    ) -> Launch:
        """The command as it is, with the hook in front of PYTHONPATH."""
        hook = resources.files("tracekit.collectors.engines") / "torch_hook"
        behind = environment.get("PYTHONPATH")
        return Launch(
            command=tuple(command),
            env={
                "PYTHONPATH": os.pathsep.join(filter(None, (str(hook), behind))),
                "TRACEKIT_TORCH": json.dumps(_settings(options, folder)),
            },
            trace_dir=folder.traces,
            python=interpreter_of(command, 0, environment),
        )

    def is_rank_trace(self, name: str) -> bool:
        """What the hook writes for a rank."""
        return name.startswith("rank") and name.endswith(".pt.trace.json.gz")


def record_script(
    launch: Launch,
    environment: Mapping[str, str],
    recorded: Recording,
    report: Report,
    signals: Signals,
) -> None:
    """Run a script to its end; each of its ranks writes a trace.

    Raises:
        CaptureError: it failed, with its exit code; or a rank wrote no trace.
    """
    folder = recorded.folder
    with _notes(recorded) as notes, ExitStack() as stack:
        stack.enter_context(gpus_sampled(folder.gpu_samples(PROFILED), report, signals))
        script = stack.enter_context(
            running(launch.command, environment, folder.script_log, signals, report)
        )
        script.grace_s = WRITING_GRACE_S
        report.stage(f"{folder.name}: the script runs")
        _wait_for_end(script, report)
        _check(script, notes, folder, report)
    recorded.finish()


def _settings(options: ProfileOptions, folder: RunFolder) -> dict[str, object]:
    """`Settings` of torch_hook/tracekit_torch_session.py."""
    return {
        "traces": str(folder.traces),
        "notes": str(folder.path / NOTES),
        "steps": options.steps,
        "warmup": max(1, options.delay_steps),
        "seconds": EARLY_S,
        "shapes": options.shapes,
        "stacks": options.stacks,
        "memory": options.memory,
    }


@contextmanager
def _notes(recorded: Recording) -> Iterator[Path]:
    """A folder for the notes of processes; what they say goes into run.json, however it ends."""
    notes = recorded.folder.path / NOTES
    notes.mkdir()
    try:
        yield notes
    finally:
        if ranks := _written(notes):
            recorded.add(engine={"name": Torch.name, "version": ranks[0]["torch"]})
            recorded.add_window(_window(ranks, recorded.folder))
        shutil.rmtree(notes)


def _window(ranks: Sequence[Mapping[str, Any]], folder: RunFolder) -> dict[str, object]:
    start_ns = min(rank["start_ns"] for rank in ranks)
    return {
        "name": PROFILED,
        "is_profiled": True,
        "start_ns": start_ns,
        "dur_ns": max(rank["end_ns"] for rank in ranks) - start_ns,
        "gpu_samples": folder.if_written(folder.gpu_samples(PROFILED)),
    }


def _said(notes: Path) -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in sorted(notes.glob("rank*.json"))]


def _written(notes: Path) -> list[dict[str, Any]]:
    return [said for said in _said(notes) if "error" not in said]


def _wait_for_end(script: Job, report: Report) -> None:
    while script.exit_code is None:
        report.detail("".join(script.tail(1)))
        time.sleep(POLL_S)


def _check(script: Job, notes: Path, folder: RunFolder, report: Report) -> None:
    if code := script.exit_code:
        for line in script.tail(_TAIL_LINES):
            report.note(line)
        raise _failure(script, code)
    errors = [said["error"] for said in _said(notes) if "error" in said]
    if errors:
        raise CaptureError(f"{folder.traces}: {errors[0]}; the script itself went well")
    if not any(notes.iterdir()):
        raise CaptureError(
            f"{script.log}: no process of the script imported torch; "
            "is it started by a Python that takes PYTHONPATH (not -I, -E)?"
        )
    check_ranks(folder, Torch(), len(list(notes.glob("rank*.claim"))) or 1)


def _failure(script: Job, code: int) -> CaptureError:
    """An error that passes the script's exit code on."""
    error = CaptureError(ended("script", script))
    error.exit_code = code if code > 0 else 128 - code
    return error
