"""Calls of an all-reduce that can be timed: one by one, or as CUDA graphs of several."""

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import Any, NamedTuple, Protocol

import torch
from torch import distributed

GRAPH_CALLS = 16
"""Calls in a graph of the sweep: then the launch of the graph is a small part of what is timed."""

EXACT_UP_TO = 256
"""Numbers that bfloat16 can count to by ones."""

_SPIN_NS = 100_000
"""The end of a delay is waited out awake: a sleep ends up to this much late."""


class Call(NamedTuple):
    """What is timed as one: `n_calls` all-reduces of `n_bytes` each."""

    n_bytes: int
    n_calls: int
    run: Callable[[], object]


class Clock(Protocol):
    """Marks places in the work of a rank, and tells the time between two of them."""

    def mark(self) -> Any:
        """This place."""
        ...

    def settle(self) -> None:
        """Return when all work before has been done."""
        ...

    def ns(self, begin: Any, end: Any) -> int:
        """Time between two marks; `settle` comes first."""
        ...

    def delay(self, ns: int) -> None:
        """Let time pass in the work."""
        ...


class HostClock:
    """Of a CPU backend, whose calls return when they are done."""

    def mark(self) -> int:
        """See `Clock`."""
        return time.perf_counter_ns()

    def settle(self) -> None:
        """See `Clock`."""

    def ns(self, begin: int, end: int) -> int:
        """See `Clock`."""
        return end - begin

    def delay(self, ns: int) -> None:
        """See `Clock`; asleep but for the end, so that other ranks have the core."""
        end = time.perf_counter_ns() + ns
        time.sleep(max(0, ns - _SPIN_NS) / 1e9)
        while time.perf_counter_ns() < end:
            pass


class DeviceClock:
    """Of CUDA events in the current stream; a delay spins on the device, between the calls."""

    def __init__(self) -> None:
        self._cycles_per_ns = self._rate()

    def mark(self) -> Any:
        """See `Clock`."""
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def settle(self) -> None:
        """See `Clock`."""
        torch.cuda.synchronize()

    def ns(self, begin: Any, end: Any) -> int:
        """See `Clock`."""
        milliseconds: float = begin.elapsed_time(end)
        return round(milliseconds * 1e6)

    def delay(self, ns: int) -> None:
        """See `Clock`."""
        torch.cuda._sleep(round(ns * self._cycles_per_ns))

    def _rate(self, cycles: int = 10_000_000) -> float:
        for _ in range(2):  # the first loads the kernel
            begin = self.mark()
            torch.cuda._sleep(cycles)
            end = self.mark()
            self.settle()
        return cycles / self.ns(begin, end)


class Buffer:
    """Room for the largest message; each smaller one is its head."""

    def __init__(self, max_bytes: int, dtype: torch.dtype, device: str) -> None:
        self._item = torch.empty(0, dtype=dtype).element_size()
        self._room = torch.zeros(max_bytes // self._item, dtype=dtype, device=device)
        self._graphs: dict[tuple[int, int], Call] = {}

    def message(self, n_bytes: int) -> torch.Tensor:
        """Of zeros: sums stay what they are however often they are summed up."""
        return self._room[: n_bytes // self._item]

    def eager(self, n_bytes: int) -> Call:
        """One call as a program makes it."""
        return Call(n_bytes, 1, partial(distributed.all_reduce, self.message(n_bytes)))

    def graph(self, n_bytes: int, n_calls: int) -> Call:
        """As many calls in a CUDA graph, captured when it is first asked for."""
        if (n_bytes, n_calls) not in self._graphs:
            self._graphs[n_bytes, n_calls] = self._captured(n_bytes, n_calls)
        return self._graphs[n_bytes, n_calls]

    def refuse_wrong(self) -> None:
        """Raise ValueError unless ones add up to the number of ranks."""
        message, expected = self._room[:1].fill_(1), distributed.get_world_size()
        distributed.all_reduce(message)
        if message.item() != expected <= EXACT_UP_TO:
            raise ValueError(f"all_reduce of ones gave {message.item()}, not {expected}")
        message.zero_()

    def _captured(self, n_bytes: int, n_calls: int) -> Call:
        message = self.message(n_bytes)
        distributed.all_reduce(message)  # what is set up at the first call cannot be captured
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        # The watchdog of NCCL's process group asks for events in another thread meanwhile.
        with torch.cuda.graph(graph, capture_error_mode="thread_local"):
            for _ in range(n_calls):
                distributed.all_reduce(message)
        return Call(n_bytes, n_calls, graph.replay)


def runs_of(sequence: Sequence[int], is_split: bool) -> Iterator[tuple[int, int]]:
    """Size and number of calls that follow each other with it; all by themselves where split."""
    for n_bytes, calls in groupby(sequence):
        n_calls = len(list(calls))
        yield from [(n_bytes, 1)] * n_calls if is_split else [(n_bytes, n_calls)]
