"""Which GPUs are here, and whether their work can be traced."""

import csv
import os
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tracekit.collectors.context.gpu import sample_query
from tracekit.collectors.context.system_file import text_of
from tracekit.collectors.doctor.finding import Finding
from tracekit.collectors.process.tool import Answer, ask

_QUERY = ("nvidia-smi", "--query-gpu=name,driver_version,persistence_mode", "--format=csv,noheader")
_AMD = (("amd-smi", "list"), ("rocm-smi",))
_CAPABILITIES = (21, 38)  # CAP_SYS_ADMIN, CAP_PERFMON


def gpu_findings(root: Path = Path("/")) -> Iterator[Finding]:
    """GPUs, samples of them, permission to trace them; one finding where there is no GPU."""
    answer = ask(_QUERY)
    if not answer.is_found:
        yield _amd()
        return
    yield _nvidia(answer)
    if answer.problem is None:
        yield _samples()
        yield from _permission(root)


def _nvidia(answer: Answer) -> Finding:
    topic = "GPU"
    if answer.is_late:
        remedy = "a GPU or its driver hangs: look for Xid in dmesg; reset or reboot"
        return Finding(topic, "warning", f"nvidia-smi: {answer.problem}", remedy)
    if answer.problem:
        remedy = "the driver does not work: reload it, reboot after an update, or in a container"
        return Finding(topic, "warning", f"nvidia-smi: {answer.problem}", f"{remedy} --gpus all")
    rows = [
        row for row in csv.reader(answer.text.splitlines(), skipinitialspace=True) if len(row) == 3
    ]
    if not rows:
        return Finding(topic, "warning", "nvidia-smi names no GPU", "check nvidia-smi -L")
    models = Counter(name for name, _, _ in rows)
    found = ", ".join(f"{count} x {name}" for name, count in models.items())
    found += f", driver {rows[0][1]}"
    if any(mode == "Disabled" for _, _, mode in rows):
        remedy = "sudo nvidia-smi -pm 1; else each first use wakes the GPUs, and takes seconds"
        return Finding(topic, "warning", f"{found}; persistence mode off", remedy)
    return Finding(topic, "ok", found)


def _samples() -> Finding:
    query, problem = sample_query(os.environ.get("PATH", ""))
    if query:
        return Finding("GPU samples", "ok", "clocks, power, temperature, throttling each second")
    return Finding("GPU samples", "missing", str(problem), "update the driver, 470 or later")


def _permission(root: Path) -> Iterator[Finding]:
    """Source: NVIDIA's ERR_NVGPUCTRPERM page; CUPTI_ERROR_INSUFFICIENT_PRIVILEGES of Kineto."""
    found = re.search(
        r"^RmProfilingAdminOnly: (\d)", text_of(root / "proc/driver/nvidia/params"), re.M
    )
    if found is None:
        return
    topic = "GPU tracing"
    if found[1] == "0" or _is_privileged(root):
        yield Finding(topic, "ok", "allowed to this user")
        return
    remedy = (
        "if a trace has no kernels: options nvidia NVreg_RestrictProfilingToAdminUsers=0 in"
        " /etc/modprobe.d and reboot; in a container --cap-add SYS_ADMIN; or run as root"
    )
    yield Finding(topic, "warning", "counters of the GPU are for administrators only", remedy)


def _is_privileged(root: Path) -> bool:
    found = re.search(r"^CapEff:\s*([0-9a-f]+)", text_of(root / "proc/self/status"), re.M)
    return found is not None and any(int(found[1], 16) >> bit & 1 for bit in _CAPABILITIES)


def _amd() -> Finding:
    for command in _AMD:
        answer = ask(command)
        if answer.is_found:
            if answer.problem:
                found = f"{command[0]}: {answer.problem}"
                return Finding("GPU", "warning", found, "reload the driver, or reboot")
            return Finding("GPU", "ok", f"of AMD: {command[0]} answers")
    remedy = "load the driver, or start the container with --gpus all; a CPU can be captured too"
    return Finding("GPU", "missing", "neither nvidia-smi, amd-smi nor rocm-smi is here", remedy)
