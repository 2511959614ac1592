"""One window of torch.profiler in one process, written as the trace of its rank."""

import gzip
import json
import os
import shutil
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

GZIP_LEVEL = 3  # the script waits for it: level 9 takes four times as long for 10 % fewer bytes


class World(NamedTuple):
    """Place of a process among those that work together."""

    rank: int
    size: int


def world() -> World | None:
    """What torch.distributed says, else what torchrun set; None where there is one process."""
    if distributed := _initialized_distributed():
        return World(distributed.get_rank(), distributed.get_world_size())
    rank, size = os.environ.get("RANK", ""), os.environ.get("WORLD_SIZE", "")
    return World(int(rank), int(size)) if rank.isdecimal() and size.isdecimal() else None


class Recording:
    """A profiler from `start` to `stop`; each `step` ends one `ProfilerStep#N` and begins the next.

    `start_ns` and `end_ns` are epoch times around it; `n_steps` counts the steps begun.
    """

    def __init__(self, *, shapes: bool = False, stacks: bool = False, memory: bool = False) -> None:
        from torch import profiler

        self.start_ns = self.end_ns = self.n_steps = 0
        self.world = world()
        self._knows_world = False
        self._profiler = profiler.profile(
            schedule=lambda step: profiler.ProfilerAction.RECORD,
            record_shapes=shapes,
            with_stack=stacks,
            profile_memory=memory,
        )

    def start(self) -> None:
        """Begin the window and its first step."""
        self.start_ns = time.time_ns()
        self._knows_world = _initialized_distributed() is not None  # torch then writes it itself
        self._profiler.start()
        self.n_steps = 1

    def step(self) -> None:
        """End the step and begin the next."""
        self._profiler.step()
        self.n_steps += 1

    def stop(self) -> None:
        """End the window and its last step."""
        self.world = world() or self.world
        if self.world and not self._knows_world:
            info = {"rank": self.world.rank, "world_size": self.world.size}
            self._profiler.add_metadata_json("distributedInfo", json.dumps(info))
        self._profiler.stop()
        self.end_ns = time.time_ns()

    def write(self, folder: Path) -> Path:
        """Write the trace of this rank, whole or not at all.

        Raises:
            OSError: it cannot be written, or the disk is full.
        """
        folder.mkdir(parents=True, exist_ok=True)
        target = folder / trace_name(self.world)
        plain, packed = (target.with_name(f".{target.name}.{end}") for end in ("json", "tmp"))
        try:
            self._profiler.export_chrome_trace(str(plain))
            _refuse_truncated(plain)
            with plain.open("rb") as source, gzip.open(packed, "wb", GZIP_LEVEL) as sink:
                shutil.copyfileobj(source, sink, 1 << 20)
            packed.replace(target)
        finally:
            for path in (plain, packed):
                if path.exists():
                    path.unlink()
        return target


def trace_name(place: World | None) -> str:
    """File name of a rank's trace; a process that works alone is rank 0."""
    return f"rank{place.rank if place else 0}.pt.trace.json.gz"


def _initialized_distributed() -> Any:
    distributed: Any = sys.modules.get("torch.distributed")
    is_ready = distributed and distributed.is_available() and distributed.is_initialized()
    return distributed if is_ready else None


def _refuse_truncated(path: Path) -> None:
    """Kineto reports no full disk: it leaves a file that ends early."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - 16))
        if not file.read().rstrip().endswith(b"}"):
            raise OSError(f"{path}: ends early; is the disk full?")
