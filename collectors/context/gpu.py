"""Samples every GPU once a second while a window runs: a throttled one is the usual straggler.

What `nvidia-smi --query-gpu=... --format=csv,nounits -l 1` writes goes to the file as it is: a
heading, then one row per GPU and second. Values are parted by `, ` and stand in this order:

    timestamp                   2026/11/29 12:03:32.123, in UTC (nvidia-smi runs with TZ=UTC)
    index                       0, 1, ... as nvidia-smi counts, whatever CUDA_VISIBLE_DEVICES says
    uuid                        GPU-5ad2..., the same in all tools
    clocks.current.sm [MHz]     1980
    clocks.current.memory [MHz] 2619
    power.draw [W]              412.57
    temperature.gpu             61, degrees Celsius
    clocks_event_reasons.active 0x0000000000000004, bits of NVML's nvmlClocksEventReasons;
                                clocks_throttle_reasons.active before driver 535
    pcie.link.gen.current       4: under load, since a link slows down while its GPU idles
    pcie.link.width.current     16

The last two are left out where the driver does not know them. What a GPU does not tell reads
`[N/A]`, `[Not Supported]` or `[Unknown Error]`. The last line may be cut off.

Source: NVIDIA's documentation of nvidia-smi, drivers 470 to 580; not yet seen on a GPU.
"""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Self

from tracekit.collectors.process.signals import Signals
from tracekit.collectors.process.tool import ask, end
from tracekit.collectors.report import Report

_FIELDS = "timestamp,index,uuid,clocks.sm,clocks.mem,power.draw,temperature.gpu"
_LINK = "pcie.link.gen.current,pcie.link.width.current"
_QUERIES = tuple(
    ",".join(filter(None, (_FIELDS, f"clocks_{reasons}_reasons.active", link)))
    for link in (_LINK, "")
    for reasons in ("event", "throttle")
)
"""From what new drivers know to what old ones do: an unknown field is an error."""

_GRACE_S = 2.0


@contextmanager
def gpus_sampled(out: Path, report: Report, signals: Signals) -> Iterator[None]:
    """Sample while the body runs, and tell what kept it from that."""
    sampler = GpuSampler(out)
    with signals.deferred(), sampler, signals.allowed():
        yield
    if sampler.problem:
        report.note(f"GPUs are not sampled: {sampler.problem}")


class GpuSampler:
    """Writes samples of all GPUs into `out` while its context lasts; no file without nvidia-smi.

    `problem` says what kept it from sampling; None also where there is no nvidia-smi.
    """

    def __init__(self, out: Path) -> None:
        """`out` is a csv file to be, in a folder that is there."""
        self.problem: str | None = None
        self._out = out
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        query, self.problem = sample_query(os.environ.get("PATH", ""))
        if query:
            self._process = _start(query, self._out)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """End nvidia-smi; nothing is left of an empty file."""
        if self._process is None:
            return
        if (code := self._process.poll()) is not None:
            self.problem = f"nvidia-smi: ended with exit code {code} while it sampled"
        _stop(self._process)
        self._process = None
        if self._out.stat().st_size == 0:
            self._out.unlink()


@cache
def sample_query(path: str) -> tuple[str | None, str | None]:
    """What this driver can be asked each second, or the problem; `path` is where tools are."""
    problem = None
    for query in _QUERIES:
        answer = ask(["nvidia-smi", f"--query-gpu={query}", "--format=csv,nounits"])
        if answer.problem is None:
            return query, None
        if not answer.is_found:
            return None, None
        problem = f"nvidia-smi: {answer.problem}"
        if answer.is_late:
            break
    return None, problem


def _start(query: str, out: Path) -> "subprocess.Popen[bytes]":
    with out.open("wb") as file:
        return subprocess.Popen(
            ["nvidia-smi", f"--query-gpu={query}", "--format=csv,nounits", "-l", "1"],
            env={**os.environ, "LC_ALL": "C", "TZ": "UTC"},
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )


def _stop(process: "subprocess.Popen[bytes]") -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGTERM)
    with suppress(subprocess.TimeoutExpired):
        process.wait(_GRACE_S)
    end(process)
