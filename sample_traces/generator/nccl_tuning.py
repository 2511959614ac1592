"""What NCCL's tuner chooses on eight PCIe GPUs: plain figures of its ideal-time model.

Latencies are the constants of NCCL 2.23 to 2.30 for PCIe, bandwidths those of two channels of
24 GB/s: Ring busbw B, 0.92 B and B / 2, times n / 2 (n - 1); Tree half of 0.92 B and less.
"""

from __future__ import annotations

from typing import NamedTuple

LATENCY_US = {
    ("all_reduce", "RING", "LL"): 20.6,
    ("all_reduce", "RING", "LL128"): 49.0,
    ("all_reduce", "RING", "SIMPLE"): 88.2,
    ("all_reduce", "TREE", "LL"): 20.8,
    ("all_reduce", "TREE", "LL128"): 40.6,
    ("all_reduce", "TREE", "SIMPLE"): 64.4,
    ("all_gather", "RING", "LL"): 13.6,
    ("all_gather", "RING", "LL128"): 31.5,
    ("all_gather", "RING", "SIMPLE"): 48.3,
}
ALGBW_GB_PER_S = {
    ("all_reduce", "RING", "LL"): 13.7,
    ("all_reduce", "RING", "LL128"): 25.2,
    ("all_reduce", "RING", "SIMPLE"): 27.4,
    ("all_reduce", "TREE", "LL"): 5.8,
    ("all_reduce", "TREE", "LL128"): 17.2,
    ("all_reduce", "TREE", "SIMPLE"): 22.1,
    ("all_gather", "RING", "LL"): 27.4,
    ("all_gather", "RING", "LL128"): 50.5,
    ("all_gather", "RING", "SIMPLE"): 54.9,
}


class Choice(NamedTuple):
    """How NCCL runs a message; `model_ns` is the time its model expects."""

    algorithm: str
    protocol: str
    channels: int
    model_ns: int


def choice(category: str, nbytes: int) -> Choice:
    """The fastest by the model; a message below 32 KiB takes one channel of the two."""
    times = {
        key: 1000 * us + nbytes / ALGBW_GB_PER_S[key]
        for key, us in LATENCY_US.items()
        if key[0] == category
    }
    best = min(times, key=lambda key: times[key])
    return Choice(best[1], best[2], 1 if nbytes < 32 << 10 else 2, round(times[best]))
