"""Start and stop of the profiler, and the machine it watches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from generator.batch import Batch
from generator.machine import Machine
from generator.rank import BASE_NS, Rank


@dataclass(frozen=True, slots=True)
class Size:
    """How much to generate; None is the dialect's own choice."""

    ranks: int | None = None
    steps: int | None = None
    seed: int = 1


class Runner(Protocol):
    """An engine: runs one step."""

    def step(self, number: int, batch: Batch) -> None:
        """Run step `number`; before the profiler runs where it is negative."""


def machine(name: str, ranks: int, size: Size) -> Machine:
    """Ranks of one engine on one host."""
    return Machine([make_rank(name, 0, r, r, size) for r in range(size.ranks or ranks)])


def make_rank(name: str, dp: int, rank: int, device: int, size: Size) -> Rank:
    """A rank on a device; the files of odd devices have another base time."""
    base = BASE_NS - (device % 2) * 3_600_000_000_000
    made = Rank(dp, rank, device, base, f"{size.seed}/{name}/{device}")
    # one card is a little slower than the others, as in real boxes: it arrives last
    made.bias = 1.12 if device == 5 else 1.0 + 0.01 * (device % 3)
    return made


def profile(m: Machine, runner: Runner, batches: Callable[[int], Batch], steps: int) -> None:
    """Run a step before the profiler starts, then `steps` under it."""
    runner.step(-1, batches(-1))
    open_window(m.ranks)
    for number in range(steps):
        runner.step(number, batches(number))
    close_window(m.ranks)


def profile_unevenly(
    m: Machine, runner: Runner, batches: Callable[[int], Batch], steps: int
) -> None:
    """The same, but rank 1 stops a step early and the last rank starts a step late."""
    early, late = m.ranks[1:-1][:1], m.ranks[-1:]
    runner.step(-1, batches(-1))
    open_window(m.ranks[:-1])
    runner.step(0, batches(0))
    open_window(late)
    for number in range(1, steps):
        if number == steps - 1:
            close_window(early)
        runner.step(number, batches(number))
    close_window([rank for rank in m.ranks if not rank.is_closed])


def lose_buffer(rank: Rank, step: int) -> None:
    """Take the middle third of a step's kernels out of a rank's trace, as a dropped buffer does."""
    mine = [i for i, row in enumerate(rank.rows) if row.step == step]
    lost = {*mine[len(mine) // 3 : 2 * len(mine) // 3]}
    kept = [i for i in range(len(rank.rows)) if i not in lost]
    rank.rows = [rank.rows[i] for i in kept]
    rank.device_events = [rank.device_events[i] for i in kept]


def open_window(ranks: list[Rank]) -> None:
    """Start profiling while the device still works on what was launched before."""
    for rank in ranks:
        first = rank.rows[0].start_ns
        end = max(rank.free.values())
        rank.window_start = end - (end - first) // 6 if end > rank.now else rank.now
        kept = [i for i, r in enumerate(rank.rows) if r.start_ns >= rank.window_start]
        rank.rows = [rank.rows[i] for i in kept]
        rank.device_events = [rank.device_events[i] for i in kept]
        rank.now = max(rank.now, rank.window_start) + 150_000
        rank.is_recording = True


def close_window(ranks: list[Rank]) -> None:
    """Stop profiling after the device has finished."""
    for rank in ranks:
        rank.now = rank.window_end = max(rank.now, *rank.free.values()) + 900_000
        rank.is_recording, rank.is_closed = False, True
