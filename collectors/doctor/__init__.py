"""What can be captured on this machine, and what is missing."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from tracekit.collectors.doctor.engines import engine_findings
from tracekit.collectors.doctor.finding import Finding
from tracekit.collectors.doctor.gpus import gpu_findings
from tracekit.collectors.doctor.system import system_findings


def examine(out: Path, environment: Mapping[str, str]) -> Iterator[Finding]:
    """Findings as they are made, the engines first; `out` is where runs are to be written.

    Starts tools of the system and the engines' Pythons, never an engine.
    """
    yield from engine_findings(environment)
    yield from gpu_findings()
    yield from system_findings(out)
