"""What can be captured on this machine, and what is missing."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from tracekit.collectors.doctor_engines import engine_findings
from tracekit.collectors.doctor_gpus import gpu_findings
from tracekit.collectors.doctor_system import system_findings
from tracekit.collectors.finding import Finding


def examine(out: Path, environment: Mapping[str, str]) -> Iterator[Finding]:
    """Findings as they are made, the engines first; `out` is where runs are to be written.

    Starts tools of the system and the engines' Pythons, never an engine.
    """
    yield from engine_findings(environment)
    yield from gpu_findings()
    yield from system_findings(out)
