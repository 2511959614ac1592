"""Whether memory, disk, clock and limits of this machine let a capture run through."""

import resource
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tracekit.collectors.context.machine import clock_source, cpu
from tracekit.collectors.context.memory import memory_room
from tracekit.collectors.doctor.finding import Finding

GB = 1e9
MIN_SHM_BYTES = 1 << 30
"""Ranks of one server exchange tensors there; Docker gives 64 MB."""

MIN_DISK_BYTES = 10 * GB
MIN_OPEN_FILES = 8192
MAX_CLOCK_READ_NS = 400.0
"""Python's own part is about 40 ns; a clock that needs a system call takes 200 to 2,000."""

_N_READS = 2000


def system_findings(out: Path) -> Iterator[Finding]:
    """Findings on this machine; `out` is where runs are to be written."""
    yield _memory()
    yield from _shared_memory(Path("/dev/shm"))
    yield _out(out)
    yield _clock()
    yield _cpu()
    yield _limits()


def _memory() -> Finding:
    room = memory_room()
    if room is None:
        return Finding("memory", "warning", "the system does not tell what is left")
    if room.left_bytes < 2 * room.reserve_bytes:
        remedy = (
            "stop other processes, or raise the limit: a profile takes memory until it is written"
        )
        return Finding("memory", "warning", str(room), remedy)
    return Finding("memory", "ok", str(room))


def _shared_memory(folder: Path) -> Iterator[Finding]:
    if not folder.is_dir():
        return
    free = shutil.disk_usage(folder).free
    found = f"{free / GB:.2f} GB free in {folder}"
    if free < MIN_SHM_BYTES:
        remedy = "ranks exchange data there: docker run --ipc=host or --shm-size=16g; free it"
        yield Finding("shared memory", "warning", found, remedy)
    else:
        yield Finding("shared memory", "ok", found)


def _out(out: Path) -> Finding:
    """Writes a file without a name beside where runs will be; nothing of it stays."""
    topic = "run folders"
    home = next(folder for folder in (out, *out.absolute().parents) if folder.exists())
    try:
        with tempfile.TemporaryFile(dir=home):
            free = shutil.disk_usage(home).free
    except OSError as error:
        found = f"{home}: not writable: {error.strerror}"
        return Finding(topic, "missing", found, "choose another folder with --out DIR")
    found = f"{out}: writable, {free / GB:.1f} GB free"
    if free < MIN_DISK_BYTES:
        remedy = "traces of eight ranks take gigabytes: make room, or --out DIR on another disk"
        return Finding(topic, "warning", found, remedy)
    return Finding(topic, "ok", found)


def _clock() -> Finding:
    source, read_ns = clock_source() or "unknown", clock_read_ns()
    found = f"{source}, {read_ns:.0f} ns a read"
    if read_ns > MAX_CLOCK_READ_NS:
        remedy = "each traced event reads it twice: boot with clocksource=tsc tsc=reliable"
        return Finding("clock", "warning", found, remedy)
    return Finding("clock", "ok", found)


def clock_read_ns() -> float:
    """Least time of one reading of the clock, in ns."""
    times = [time.perf_counter_ns() for _ in range(_N_READS)]
    blocks = zip(times, times[100:], strict=False)
    return min(later - earlier for earlier, later in blocks) / 100


def _cpu() -> Finding:
    facts = cpu()
    found = f"{facts['n_cores_allowed']} of {facts['n_cores']} cores"
    if nodes := facts["n_numa_nodes"]:
        found += f", {nodes} NUMA node{'s' if nodes != 1 else ''}"
    if facts["governor"] == "powersave":
        remedy = "sudo cpupower frequency-set -g performance: launches are bound by one core"
        return Finding("CPU", "warning", f"{found}, governor powersave", remedy)
    return Finding("CPU", "ok", found)


def _limits() -> Finding:
    files, processes, locked = (
        resource.getrlimit(limit)[0]
        for limit in (resource.RLIMIT_NOFILE, resource.RLIMIT_NPROC, resource.RLIMIT_MEMLOCK)
    )
    found = (
        f"{_count(files)} open files, {_count(processes)} processes, {_size(locked)} locked memory"
    )
    if 0 <= files < MIN_OPEN_FILES:
        return Finding("limits", "warning", found, "ulimit -n 65536, or docker run --ulimit nofile")
    if locked >= 0 and Path("/sys/class/infiniband").is_dir():
        return Finding("limits", "warning", found, "ulimit -l unlimited: InfiniBand locks memory")
    return Finding("limits", "ok", found)


def _count(limit: int) -> str:
    return "unlimited" if limit == resource.RLIM_INFINITY else f"{limit:,}"


def _size(limit: int) -> str:
    return "unlimited" if limit == resource.RLIM_INFINITY else f"{limit / 1e6:,.0f} MB"
