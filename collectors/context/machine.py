"""What a capture ran on: simple facts for run.json, and what tools of the system say.

Files, each only where its tool is there and answers:

    nvidia-smi.csv        `nvidia-smi --query-gpu=... --format=csv`: a heading, a row per GPU
    nvidia-smi_topo.txt   `nvidia-smi topo -m`: how GPUs, network cards and CPUs are connected
    amd-smi_*, rocm-smi_* the same of AMD's tools
    lscpu.txt             `lscpu`
"""

import csv
import os
import platform
import socket
from pathlib import Path

from tracekit.collectors.context.memory import AVAILABLE, memory_rooms
from tracekit.collectors.context.system_file import text_of
from tracekit.collectors.process.tool import Answer, ask

TOOL_TIMEOUT_S = 20.0  # without persistence mode nvidia-smi wakes each GPU, some seconds of eight

GPU_FIELDS = (
    "index,name,uuid,pci.bus_id,driver_version,memory.total,pcie.link.gen.current,pcie.link.gen.max"
    ",pcie.link.width.current,pcie.link.width.max,clocks.sm,clocks.mem,clocks.max.sm,clocks.max.mem"
    ",power.limit,persistence_mode"
)
"""Known to all drivers from 450 on. Of an idle GPU the current link and clocks are low."""

TOOLS = {
    "nvidia-smi.csv": ("nvidia-smi", f"--query-gpu={GPU_FIELDS}", "--format=csv"),
    "nvidia-smi_topo.txt": ("nvidia-smi", "topo", "-m"),
    "amd-smi_static.txt": ("amd-smi", "static"),
    "amd-smi_topology.txt": ("amd-smi", "topology"),
    "rocm-smi.txt": ("rocm-smi",),
    "rocm-smi_topo.txt": ("rocm-smi", "--showtopo"),
    "lscpu.txt": ("lscpu",),
}


def machine(folder: Path | None = None, cwd: Path | None = None) -> dict[str, object]:
    """Facts on this machine, and the state of git in `cwd`; files of tools go to `folder`.

    A fact that the system does not tell is None. Sizes are in bytes. `gpus` has a row of
    nvidia-smi for each GPU, in its words and units; `problems` says which tool failed, and how.
    """
    answers = _ask_tools()
    if folder:
        _write(answers, folder)
    return {
        "host_name": socket.gethostname(),
        "os": _os_name(),
        "kernel": platform.release(),
        "cpu": cpu(),
        "memory": memory(),
        "clock_source": clock_source(),
        "gpus": _rows(answers.get("nvidia-smi.csv")),
        "git": _git(cwd or Path()),
        "problems": [
            f"{' '.join(TOOLS[name])}: {answer.problem}"
            for name, answer in answers.items()
            if answer.problem and answer.is_found
        ],
    }


def memory() -> dict[str, int]:
    """MemTotal, MemAvailable, and the limits of our control groups by their files."""
    sizes: dict[str, int] = {}
    for room in memory_rooms():
        if room.source == AVAILABLE:
            sizes |= {"MemTotal": room.total_bytes, AVAILABLE: room.left_bytes}
        else:
            sizes[room.source] = room.total_bytes
    return sizes


def clock_source() -> str | None:
    """What the kernel reads the time from: tsc is fast, hpet and acpi_pm slow down every event."""
    return _line(Path("/sys/devices/system/clocksource/clocksource0/current_clocksource"))


def cpu() -> dict[str, object]:
    """Model, cores (all, and those this process may use), NUMA nodes, frequency governor."""
    return {
        "model": _field(Path("/proc/cpuinfo"), "model name"),
        "architecture": platform.machine(),
        "n_cores": os.cpu_count(),
        "n_cores_allowed": len(os.sched_getaffinity(0)),
        "n_numa_nodes": len(list(Path("/sys/devices/system/node").glob("node[0-9]*"))) or None,
        "governor": _line(Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")),
    }


def _ask_tools() -> dict[str, Answer]:
    """Each tool's answer; one that hung is not asked a second time."""
    answers: dict[str, Answer] = {}
    hanging = set()
    for name, command in TOOLS.items():
        if command[0] not in hanging:
            answers[name] = ask(command, timeout_s=TOOL_TIMEOUT_S)
            if answers[name].is_late:
                hanging.add(command[0])
    return answers


def _write(answers: dict[str, Answer], folder: Path) -> None:
    for name, answer in answers.items():
        if answer.text and not answer.problem:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(answer.text, encoding="utf-8")


def _rows(answer: Answer | None) -> list[dict[str, str]]:
    """Rows as long as the heading; others are no rows."""
    if answer is None or answer.problem:
        return []
    rows = csv.reader(answer.text.splitlines(), skipinitialspace=True)
    heading = next(rows, [])
    return [dict(zip(heading, row, strict=True)) for row in rows if len(row) == len(heading)]


def _git(cwd: Path) -> dict[str, object] | None:
    """Commit, branch (None: detached), and whether tracked files differ; None outside of a tree."""
    command = ["git", "-c", "core.fsmonitor=false", "--no-optional-locks", "-C", str(cwd), "status"]
    answer = ask([*command, "--porcelain=v2", "--branch", "--untracked-files=no"])
    if answer.problem:
        return None
    lines = answer.text.splitlines()
    said = dict(line[2:].split(" ", 1) for line in lines if line.startswith("# branch."))
    branch = said.get("branch.head")
    return {
        "commit": said.get("branch.oid"),
        "branch": None if branch == "(detached)" else branch,
        "is_dirty": any(not line.startswith("#") for line in lines),
    }


def _os_name() -> str | None:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME")
    except OSError:
        return None


def _field(path: Path, name: str) -> str | None:
    lines = text_of(path).splitlines()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(name)), None)


def _line(path: Path) -> str | None:
    return text_of(path).strip() or None
