"""Catalogue of the device work the generator emits: names, categories, implementations."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

MAIN, AUX, COPY = 7, 23, 27
"""Streams: the engine's own, the shared experts' and the output copies'."""

COLLECTIVES = frozenset(
    ["all_reduce", "all_gather", "reduce_scatter", "all_to_all", "send_recv", "collective_other"]
)


FUSED = frozenset({"ar_flashinfer", "ar_mnnvl_tail", "ar_aiter_tail"})
"""Keys of collectives that do other work too."""

TAILS = frozenset({"ar_mnnvl_tail", "ar_aiter_tail"})
"""Keys of kernels that end the collective before them, with no waiting of their own."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """A name as a trace shows it, with the class the generator knows it has.

    `impl` is empty where the truth does not assert one.
    """

    key: str
    category: str
    impl: str
    name: str

    @property
    def is_fused(self) -> bool:
        """Whether it does other work beside its collective."""
        return self.key in FUSED

    @property
    def event_category(self) -> str:
        """`cat` of its trace events."""
        if self.name.startswith("Mem"):
            return "gpu_memset" if self.category == "memset" else "gpu_memcpy"
        return "kernel"


@dataclass(frozen=True, slots=True)
class Work:
    """One piece of device work as a step plans it.

    `dur_ns` is nominal: ranks and jitter stretch it, and for a collective it is the transfer,
    counted from the last rank's start. `joins` is a stream whose work must be done first.
    `eager` work is never part of a piecewise graph. `bytes` is the size of a copy or message.
    `args` is JSON text that its event's args get on top; `comm` and `seq` are what they tell of
    a collective. `shape` is the input's of the operator that launches it, where it is recorded.
    """

    kernel: Kernel
    dur_ns: int
    stream: int = MAIN
    joins: int | None = None
    early: bool = False
    eager: bool = False
    bytes: int = 0
    args: str = ""
    comm: str = ""
    seq: int | None = None
    shape: tuple[int, ...] = ()
    grid: int = 0

    @property
    def blocks(self) -> int:
        """First number of its grid."""
        return self.grid or 1 + len(self.kernel.name) % 24

    @property
    def channels(self) -> int | None:
        """Of NCCL's own kernels, which have a block for each."""
        return self.blocks if self.kernel.name.startswith("ncclDevKernel_") else None


def _load() -> dict[str, Kernel]:
    path = Path(__file__).with_name("kernels.tsv")
    with path.open(encoding="utf-8") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return {r["key"]: Kernel(r["key"], r["category"], r["impl"], r["name"]) for r in rows}


KERNELS = _load()


def work(
    key: str,
    us: float,
    stream: int = MAIN,
    *,
    joins: int | None = None,
    early: bool = False,
    eager: bool = False,
    nbytes: int = 0,
    args: str = "",
    shape: tuple[int, ...] = (),
    grid: int = 0,
) -> Work:
    """Work of the catalogue's kernel `key`, nominally `us` microseconds long.

    `early` starts it before its predecessor on the stream has ended (programmatic dependent
    launch).
    """
    return Work(
        KERNELS[key], round(us * 1000), stream, joins, early, eager, nbytes, args,
        shape=shape, grid=grid,
    )  # fmt: skip
