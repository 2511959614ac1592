"""Truth about collectives: which activities are one call, who waited, how long it took."""

from __future__ import annotations

from dataclasses import dataclass

from generator.rank import Rank, Row


@dataclass(frozen=True, slots=True)
class Part:
    """One rank's share of a call; `start_ns` by its GPU's clock."""

    rank: Rank
    rows: tuple[Row, ...]

    @property
    def start_ns(self) -> int:
        """Start, by its GPU's clock."""
        return self.rows[0].start_ns

    @property
    def true_start_ns(self) -> int:
        """Start, on the one axis of all ranks."""
        return self.start_ns - self.rank.gpu_clock_ns

    @property
    def dur_ns(self) -> int:
        """Duration to the end of its last kernel."""
        return self.rows[-1].start_ns + self.rows[-1].dur_ns - self.start_ns


@dataclass(frozen=True, slots=True)
class Collective:
    """One call as the traces hold it; a call that a rank's trace lacks is not matched.

    is_replayed_alike: a graph's replay holds it, in a phase of a step (or outside of steps) whose
    calls all ranks hold; else times tell which belong together.
    """

    parts: tuple[Part, ...]
    n_ranks: int
    n_kernels: int
    is_replayed_alike: bool

    @property
    def is_matched(self) -> bool:
        """Whether the trace of every rank holds the whole of it."""
        has_all = len(self.parts) == self.n_ranks > 1
        return has_all and all(len(part.rows) == self.n_kernels for part in self.parts)

    @property
    def last_start_ns(self) -> int:
        """When the last rank came."""
        return max(part.true_start_ns for part in self.parts)

    @property
    def transfer_ns(self) -> int:
        """The shortest duration."""
        return min(part.dur_ns for part in self.parts)

    @property
    def match(self) -> str:
        """How its ranks can be found."""
        if not self.is_matched:
            return "none"
        if self.parts[0].rows[0].item.seq is not None:
            return "exact"
        return "template" if self.is_replayed_alike else "order"


def collectives(ranks: list[Rank]) -> list[Collective]:
    """All calls in the traces, in the order in which they were made."""
    found: dict[int, dict[Rank, list[Row]]] = {}
    beside: dict[tuple[object, ...], set[int]] = {}
    for rank in ranks:
        for row in rank.rows:
            if row.call:
                found.setdefault(row.call.number, {}).setdefault(rank, []).append(row)
                beside.setdefault(_place(rank, row), set()).add(row.call.number)
    return [_collective(found[number], beside) for number in sorted(found)]


def _place(rank: Rank, row: Row) -> tuple[object, ...]:
    return rank, row.step, row.phase, row.category


def _collective(
    rows: dict[Rank, list[Row]], beside: dict[tuple[object, ...], set[int]]
) -> Collective:
    parts = tuple(Part(rank, tuple(mine)) for rank, mine in rows.items())
    first = parts[0].rows[0]
    assert first.call is not None
    calls = [beside[_place(part.rank, part.rows[0])] for part in parts]
    is_alike = first.graph > 0 and all(numbers == calls[0] for numbers in calls)
    return Collective(parts, first.call.n_ranks, max(len(part.rows) for part in parts), is_alike)
