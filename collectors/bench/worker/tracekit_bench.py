"""One rank of `tracekit bench allreduce`: measures, records a trace; rank 0 writes the figures.

`python tracekit_bench.py SETTINGS`, with RANK, WORLD_SIZE and the like set as torchrun does. What
it prints is for the log; a rank that fails ends it with one line, `rank 1: ...`.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

import torch
from torch import distributed
from tracekit_bench_calls import (
    GRAPH_CALLS,
    Buffer,
    Call,
    Clock,
    DeviceClock,
    HostClock,
    runs_of,
)
from tracekit_bench_figures import Table, by_size, figures, over_ranks, timed

sys.path.append(str(Path(__file__).parents[2] / "engines" / "torch_hook"))
from tracekit_torch import Recording  # noqa: E402 - found by the line above

MIN_REPETITIONS = 3
SETTLE_S = 0.1
"""For gloo's threads to let go of the last collective; see engines/torch_hook."""

Point = dict[str, Any]


class StepRecording(Recording):
    """Its first step begins with the first `step`; what comes before is in the trace, in no step.

    Starting a profiler takes a rank up to a quarter of a second longer than another, and the first
    call would have that as its wait.
    """

    def start(self) -> None:
        """See `Recording`."""
        self._profiler.record_steps = False
        super().start()
        self._profiler.record_steps = True
        self.n_steps = 0


class Settings(NamedTuple):
    """What is asked for: message sizes in bytes, `burst` as [calls, bytes] in their order.

    `repetitions` of each size and of the burst are made, fewer where they take over `seconds`.
    """

    backend: str
    dtype: str
    sizes: list[int]
    burst: list[list[int]]
    warmups: int
    repetitions: int
    seconds: float
    has_graph: bool
    delayed_rank: int | None
    delay_ns: int
    n_recorded: int
    traces: str
    figures: str
    timeout_s: float


class Bench:
    """The measurements of this rank; all ranks make the same calls in the same order."""

    def __init__(self, settings: Settings, control: Any) -> None:
        """`control` is a gloo group, for barriers and figures."""
        is_cuda = settings.backend == "nccl"
        dtype = getattr(torch, settings.dtype)
        self._settings = settings
        self._control = control
        self._clock: Clock = DeviceClock() if is_cuda else HostClock()
        self._is_cuda = is_cuda
        self._burst = [n_bytes for n_calls, n_bytes in settings.burst for _ in range(n_calls)]
        largest = max([*settings.sizes, *self._burst])
        self._buffer = Buffer(largest, dtype, "cuda" if is_cuda else "cpu")
        is_delayed = settings.delayed_rank == distributed.get_rank()
        self._delay_ns = settings.delay_ns if is_delayed else 0

    def run(self) -> dict[str, Any]:
        """Members of calibration.json; equal on all ranks but for the window of the trace."""
        self._buffer.refuse_wrong()
        points = [point for n_bytes in self._settings.sizes for point in self._sweep(n_bytes)]
        bursts = []
        if self._burst:
            burst_points, burst = self._replay()
            points += burst_points
            bursts.append(burst)
        return {"points": points, "bursts": bursts, "window": self._record()}

    def _sweep(self, n_bytes: int) -> Iterator[Point]:
        """Eager, then in a graph.

        A barrier before each call keeps late ranks out of it. On a device the launch would be
        timed then: there calls follow each other, and wait for the other ranks by themselves.
        """
        before = _nothing if self._is_cuda else self._barrier
        eager = self._measure(f"eager {n_bytes} B", [self._buffer.eager(n_bytes)], before)
        yield self._point("eager", n_bytes, figures(by_size(*eager)[n_bytes]))
        if self._settings.has_graph:
            graph = [self._buffer.graph(n_bytes, GRAPH_CALLS)]
            replays = self._measure(f"graph {n_bytes} B", graph, _nothing)
            yield self._point("graph", n_bytes, figures(by_size(*replays)[n_bytes]))

    def _replay(self) -> tuple[list[Point], dict[str, Any]]:
        """The burst, all of its calls back to back; a barrier is only before the first."""
        settings = self._settings
        mode = "graph" if settings.has_graph else "eager"
        calls, own = self._own(f"burst {mode}", self._calls(mode), self._barrier, self._delay_ns)
        longest = over_ranks(own, self._control)
        shortest = by_size(calls, over_ranks(own, self._control, is_longest=False))
        delay = {
            "delayed_rank": settings.delayed_rank,
            "delay_ns": None if settings.delayed_rank is None else settings.delay_ns,
        }
        points = []
        for n_bytes, times in by_size(calls, longest).items():
            transfer = {"transfer_p50_ns": figures(shortest[n_bytes])["p50_ns"]}
            points.append(self._point("burst", n_bytes, figures(times)) | delay | transfer)
        totals = figures([row[-1] for row in longest])
        size = {"n_calls": len(self._burst), "bytes": sum(self._burst)}
        return points, {"mode": mode, **size, **totals, **delay}

    def _calls(self, mode: str) -> list[Call]:
        if mode == "eager":
            return [self._buffer.eager(n_bytes) for n_bytes in self._burst]
        is_split = self._settings.delayed_rank is not None
        return [self._buffer.graph(*run) for run in runs_of(self._burst, is_split)]

    def _measure(
        self, what: str, calls: Sequence[Call], before: Callable[[], None]
    ) -> tuple[Sequence[Call], Table]:
        calls, own = self._own(what, calls, before, 0)
        return calls, over_ranks(own, self._control)

    def _own(
        self, what: str, calls: Sequence[Call], before: Callable[[], None], delay_ns: int
    ) -> tuple[Sequence[Call], Table]:
        """Times of this rank, after as many warm-ups as are asked for."""
        _tell(what)
        self._barrier()
        warm = timed(calls, self._settings.warmups, self._clock, before, delay_ns)
        n = self._repetitions(min(row[-1] for row in warm))
        return calls, timed(calls, n, self._clock, before, delay_ns)

    def _repetitions(self, ns: int) -> int:
        """As many as fit, the same on all ranks; `ns` is what one takes."""
        ((slowest,),) = over_ranks([[max(1, ns)]], self._control)
        fitting = int(self._settings.seconds * 1e9 / slowest)
        return min(self._settings.repetitions, max(MIN_REPETITIONS, fitting))

    def _point(self, mode: str, n_bytes: int, found: dict[str, int]) -> Point:
        return {
            "mode": mode,
            "collective": "all_reduce",
            "dtype": self._settings.dtype,
            "bytes": n_bytes,
            "is_in_place": True,
            **found,
            "delayed_rank": None,
            "delay_ns": None,
        }

    def _record(self) -> dict[str, int]:
        """Trace of some bursts, else of some calls of each size: eager, since these have args.

        A round before the first step is warm-up, see `StepRecording`.
        """
        _tell("recording a trace")
        sequence = self._burst or self._settings.sizes
        calls = [self._buffer.eager(n_bytes) for n_bytes in sequence]
        recording = StepRecording(shapes=True)
        self._barrier()
        recording.start()
        timed(calls, 1, self._clock, _nothing)
        for _ in range(self._settings.n_recorded):
            recording.step()
            timed(calls, 1, self._clock, _nothing, self._delay_ns)
        recording.stop()
        recording.write(Path(self._settings.traces))
        return {"start_ns": recording.start_ns, "dur_ns": recording.end_ns - recording.start_ns}

    def _barrier(self) -> None:
        self._clock.settle()
        distributed.barrier(group=self._control)


@contextmanager
def joined(settings: Settings) -> Iterator[Any]:
    """All ranks together; gives the group that they speak in beside the benchmark."""
    place = {name.lower(): int(os.environ[name]) for name in ("RANK", "WORLD_SIZE")}
    patience = timedelta(seconds=settings.timeout_s)
    if settings.backend == "nccl":
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", place["rank"])))
    distributed.init_process_group(
        settings.backend,
        init_method=os.environ.get("TRACEKIT_BENCH_STORE", "env://"),
        timeout=patience,
        **place,
    )
    is_gloo = settings.backend == "gloo"
    world = distributed.group.WORLD
    yield world if is_gloo else distributed.new_group(backend="gloo", timeout=patience)
    distributed.destroy_process_group()
    time.sleep(SETTLE_S)


def main(settings: Settings) -> None:
    """Measure; rank 0 writes what was found."""
    with joined(settings) as control:
        found = Bench(settings, control).run()
        if distributed.get_rank() == 0:
            gpu = torch.cuda.get_device_name() if settings.backend == "nccl" else None
            facts = {"backend": settings.backend, "n_ranks": distributed.get_world_size()}
            _write(Path(settings.figures), {**facts, "gpu": gpu, **found})
        distributed.barrier(group=control)


def _write(path: Path, found: dict[str, Any]) -> None:
    text = json.dumps({"format": 1, "tool": "tracekit", **found}, indent=1)
    draft = path.with_suffix(".tmp")
    draft.write_text(f"{text}\n", encoding="utf-8")
    draft.replace(path)


def _nothing() -> None:
    pass


def _tell(what: str) -> None:
    if distributed.get_rank() == 0:
        print(what, flush=True)  # noqa: T201 - into the log


def _told(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    sys.__excepthook__(kind, error, trace)
    first = next(iter(str(error).strip().splitlines()), "")
    print(f"rank {os.environ.get('RANK')}: {kind.__name__}: {first}", flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.excepthook = _told
    main(Settings(**json.loads(sys.argv[1])))
