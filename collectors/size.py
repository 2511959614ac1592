"""How large the traces will be, guessed before anything is started."""

import shutil

from tracekit.collectors.options import ProfileOptions
from tracekit.collectors.run_folder import RunFolder
from tracekit.errors import CaptureError

STEP_BYTES = 200_000
"""Of one step of one rank, gzipped: some 10,000 events of 320 bytes, which shrink to 1/16.

Source: vLLM 0.32 on CPU writes 800 events a step for 4 layers; a large model has 61.
"""

STACKS_FACTOR = 6
"""Events with Python stacks to events without: 6,000 to 800 a step there."""

SPARE_BYTES = 4 * 1024 * 1024
"""A disk with less room is full: a trace of one step would not fit."""


def guessed_bytes(options: ProfileOptions, n_ranks: int) -> int:
    """Bytes of the traces of one profiled window; right within a factor of about 4."""
    factor = STACKS_FACTOR if options.stacks else 1
    return options.steps * n_ranks * STEP_BYTES * factor


def refuse_small_disk(
    folder: RunFolder, options: ProfileOptions, n_ranks: int | None, n_runs: int
) -> str:
    """The guess in words; raises CaptureError where the disk has no room for it.

    `n_ranks` None: as many as nobody knows.
    """
    needed = guessed_bytes(options, n_ranks or 1) * n_runs
    free = shutil.disk_usage(folder.path).free
    said = f"{_mb(needed)} MB of traces"
    if free < needed + SPARE_BYTES:
        raise CaptureError(
            f"{folder.path}: {_mb(free)} MB free, and about {said} to come; free space, choose "
            "another folder with --out, or take fewer --steps"
        )
    parts = [(n_ranks, "rank"), (options.steps, "step"), (n_runs, "run")]
    counted = (f"{n} {noun}{'s' if n > 1 else ''}" for n, noun in parts if n is not None)
    each = "" if n_ranks is not None else " of each rank"
    return f"about {said}{each} to come: {' x '.join(counted)}"


def _mb(n_bytes: int) -> str:
    return f"{n_bytes / 1e6:,.0f}"
