"""What a benchmark is to measure, and whether this machine can."""

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import NamedTuple

from tracekit.collectors.bench.sizes import DTYPES, Calls
from tracekit.collectors.context.interpreter import told_by
from tracekit.collectors.context.memory import memory_room
from tracekit.collectors.run_folder import RunFolder
from tracekit.errors import CaptureError

REPETITION_S = 2.0
"""Longest measurement of a size or of the burst, in seconds; three repetitions are made anyway."""

MAX_RECORDED_CALLS = 5_000
"""In the trace of a rank: 8 events and 3 kB each, before they are packed."""

COPIES = 3
"""Of the largest message, in each rank: the message, and what gloo and NCCL take beside it."""

PROCESS_BYTES = 400_000_000
"""Of a process that has imported torch."""

_PROBE = files("tracekit.collectors.bench") / "torch_probe.py"
_PROBE_TIMEOUT_S = 120.0
_GPUS = "a GPU of its own for each rank"


class Place(NamedTuple):
    """A rank of those that something else, such as torchrun, has started."""

    rank: int
    n_ranks: int
    n_local: int


class Delay(NamedTuple):
    """A rank that waits before each of its calls of the burst."""

    rank: int
    ns: int


@dataclass(frozen=True, slots=True)
class TorchFacts:
    """What torch of the chosen Python can do on this machine."""

    python: str
    version: str
    backends: tuple[str, ...]
    n_gpus: int
    gpu_bytes: int | None

    @property
    def backend(self) -> str:
        """The one to use where the user names none."""
        return "nccl" if self.n_gpus and "nccl" in self.backends else "gloo"


@dataclass(frozen=True, slots=True)
class Plan:
    """Sizes in bytes and a burst to measure over `n_ranks`, each `repetitions` times.

    `like` names the run and step that the burst is of; None where the user wrote it.
    """

    folder: RunFolder
    torch: TorchFacts
    backend: str
    n_ranks: int
    dtype: str
    sizes: tuple[int, ...]
    burst: tuple[Calls, ...]
    like: Mapping[str, object] | None
    warmups: int
    repetitions: int
    n_recorded: int
    has_graph: bool
    delay: Delay | None
    timeout_s: float
    replaces: bool

    def settings(self) -> str:
        """`Settings` of worker/tracekit_bench.py."""
        return json.dumps(
            {
                "backend": self.backend,
                "dtype": self.dtype,
                "sizes": self.sizes,
                "burst": self.burst,
                "warmups": self.warmups,
                "repetitions": self.repetitions,
                "seconds": REPETITION_S,
                "has_graph": self.has_graph,
                "delayed_rank": self.delay.rank if self.delay else None,
                "delay_ns": self.delay.ns if self.delay else 0,
                "n_recorded": self._fitting(),
                "traces": str(self.folder.traces),
                "figures": str(self.folder.calibration),
                "timeout_s": self.timeout_s,
            }
        )

    def refuse_impossible(self, place: Place | None) -> None:
        """Raise CaptureError where torch, GPUs or memory do not allow it."""
        if self.backend not in self.torch.backends:
            raise CaptureError(
                f"--backend {self.backend}: torch {self.torch.version} of {self.torch.python} has "
                f"{' and '.join(self.torch.backends) or 'no backend'}; choose another"
            )
        n_local = place.n_local if place else self.n_ranks
        if self.backend == "nccl" and n_local > self.torch.n_gpus:
            raise CaptureError(
                f"--ranks {n_local}: NCCL needs {_GPUS}, {self.torch.n_gpus} are here; take fewer"
            )
        if self.delay and self.delay.rank >= self.n_ranks:
            raise CaptureError(
                f"--delay-rank {self.delay.rank}: the ranks are 0 to {self.n_ranks - 1}; take one"
            )
        self._refuse_uneven()
        self._refuse_large(n_local)

    def shared_cores(self, place: Place | None) -> int | None:
        """Cores here that ranks of a CPU backend take turns on; None where each has its own."""
        n_cores = len(os.sched_getaffinity(0))
        n_local = place.n_local if place else self.n_ranks
        return n_cores if self.backend == "gloo" and n_local > n_cores else None

    def _fitting(self) -> int:
        """Bursts to record."""
        n_calls = sum(call.n_calls for call in self.burst) or len(self.sizes)
        return max(1, min(self.n_recorded, MAX_RECORDED_CALLS // n_calls))

    def _all_bytes(self) -> Iterable[int]:
        return (*self.sizes, *(call.n_bytes for call in self.burst))

    def _refuse_uneven(self) -> None:
        for n_bytes in self._all_bytes():
            if n_bytes % DTYPES[self.dtype]:
                raise CaptureError(
                    f"{n_bytes} bytes: no whole number of {self.dtype} "
                    f"({DTYPES[self.dtype]} bytes each); choose another size or --dtype"
                )

    def _refuse_large(self, n_local: int) -> None:
        largest = max(self._all_bytes())
        if self.backend == "nccl":
            room, needed, where = self.torch.gpu_bytes, COPIES * largest, "a GPU"
        else:
            memory = memory_room()
            room = memory.left_bytes - memory.reserve_bytes if memory else None
            needed, where = n_local * (COPIES * largest + PROCESS_BYTES), "this machine"
        if room is not None and needed > room:
            raise CaptureError(
                f"{largest:,} bytes: the message takes {needed / 1e9:.1f} GB, "
                f"{max(0, room) / 1e9:.1f} GB of {where} can be used; "
                "take smaller --sizes or fewer --ranks"
            )


def place_of(environment: Mapping[str, str]) -> Place | None:
    """Which rank this process is; None where nothing else starts the ranks.

    Raises:
        CaptureError: the variables that say it do not agree.
    """
    words = [environment.get(name, "") for name in ("RANK", "WORLD_SIZE")]
    if not any(words):
        return None
    if not all(word.isdecimal() for word in words) or int(words[0]) >= int(words[1]):
        raise CaptureError(
            f"RANK={words[0]} WORLD_SIZE={words[1]}: no rank of that many; "
            "unset both, or start it with torchrun"
        )
    for name in ("MASTER_ADDR", "MASTER_PORT"):
        if name not in environment:
            raise CaptureError(
                f"{name}: not set, but RANK is; unset RANK and WORLD_SIZE, or use torchrun"
            )
    local = environment.get("LOCAL_WORLD_SIZE", "")
    rank, n_ranks = map(int, words)
    return Place(rank, n_ranks, int(local) if local.isdecimal() else n_ranks)


def torch_of(python: str, environment: Mapping[str, str]) -> TorchFacts:
    """What torch of `python` can do.

    Raises:
        CaptureError: it is no Python, or has no torch.
    """
    told, problem = told_by([python], environment, _PROBE, _PROBE_TIMEOUT_S)
    if problem:
        raise CaptureError(f"{python}: {problem}; name a Python that has torch with --python")
    if not told["torch"]:
        raise CaptureError(
            f"{python}: no torch in it ({told['problem']}); name one that has it with --python"
        )
    return TorchFacts(
        python, told["torch"], tuple(told["backends"]), told["n_gpus"], told["gpu_bytes"]
    )
