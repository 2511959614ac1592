"""Clocks that differ: between GPUs of one host, and between hosts."""

from __future__ import annotations

from dataclasses import dataclass

from generator.machine import Machine


@dataclass(frozen=True, slots=True)
class Clocks:
    """How far the clocks of a machine stand apart, and how its collectives end.

    gpus: offset of each rank's GPU from its host, ns. hosts: offset of each host, ns, where the
    ranks are spread over several. completion_ns: ranks end within this time of each other.
    """

    gpus: tuple[int, ...] = ()
    hosts: tuple[int, ...] = ()
    completion_ns: int = 380

    def set(self, m: Machine) -> None:
        """Set the clocks of the machine's ranks."""
        m.completion_ns = self.completion_ns
        for rank, offset in zip(m.ranks, self.gpus, strict=False):
            rank.gpu_clock_ns = offset
        per_host = -(-len(m.ranks) // max(1, len(self.hosts)))
        for number, rank in enumerate(m.ranks if self.hosts else []):
            rank.clock_ns = self.hosts[number // per_host]
            rank.host_name = f"synthetic-host-{number // per_host}"


ON_ONE_CLOCK = Clocks()
