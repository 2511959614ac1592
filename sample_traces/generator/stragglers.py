"""Ranks that come late, and why."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from generator.machine import Machine

LAUNCH_DELAY_NS = 140_000


@dataclass(frozen=True, slots=True)
class Straggler:
    """A rank that comes late: its `device` computes longer, or its `host` launches late."""

    rank: int
    side: str


@contextmanager
def straggling(m: Machine, straggler: Straggler | None) -> Iterator[None]:
    """Work of a step in which one rank may come late; a late launch finds its device starved."""
    if straggler is None or straggler.rank >= len(m.ranks):
        yield
        return
    rank = m.ranks[straggler.rank]
    if straggler.side == "host":
        rank.now = max(rank.now, *rank.free.values()) + LAUNCH_DELAY_NS
    bias, slow = rank.bias, 1.9 if straggler.side == "device" else 1.0
    rank.bias, rank.speed = bias * slow, rank.speed * slow
    yield
    rank.bias = bias
