"""Starts the ranks of a benchmark on this host, and ends all of them once one has failed.

`python tracekit_bench_launcher.py N_RANKS STORE WORKER...`: STORE is a file that is not there yet.
"""

import os
import subprocess
import sys
import time
from collections.abc import Sequence

POLL_S = 0.05
SETTLE_S = 0.5
"""For the others to fail too: a rank that was killed is told from those that only missed it."""

GRACE_S = 2.0


def main(n_ranks: int, store: str, worker: Sequence[str]) -> int:
    """Exit code: 0 where all ranks went well, else that of the rank that failed first."""
    workers = [_start(worker, rank, n_ranks, store) for rank in range(n_ranks)]
    try:
        failed = _first_failed(workers)
        if failed is None:
            return 0
        code = workers[failed].returncode
        print(f"rank {failed}: {_how(code)}", flush=True)  # noqa: T201 - into the log
        return code if code > 0 else 128 - code
    finally:
        _end(workers)


def _start(worker: Sequence[str], rank: int, n_ranks: int, store: str) -> "subprocess.Popen[bytes]":
    place = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": n_ranks, "LOCAL_WORLD_SIZE": n_ranks}
    env = {name: str(value) for name, value in place.items()}
    env["TRACEKIT_BENCH_STORE"] = f"file://{store}"
    return subprocess.Popen([sys.executable, *worker], env={**os.environ, **env})


def _first_failed(workers: Sequence["subprocess.Popen[bytes]"]) -> int | None:
    """Wait for the end of all, or of the first that fails; None where none did."""
    while not any(failed := [bool(worker.poll()) for worker in workers]):
        if all(worker.returncode == 0 for worker in workers):
            return None
        time.sleep(POLL_S)
    time.sleep(SETTLE_S)
    killed = [rank for rank, worker in enumerate(workers) if (worker.poll() or 0) < 0]
    return killed[0] if killed else failed.index(True)


def _how(code: int) -> str:
    return f"killed by signal {-code}" if code < 0 else f"exited with {code}"


def _end(workers: Sequence["subprocess.Popen[bytes]"]) -> None:
    for worker in workers:
        worker.terminate()
    deadline = time.monotonic() + GRACE_S
    for worker in workers:
        try:
            worker.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            worker.kill()


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2], sys.argv[3:]))
