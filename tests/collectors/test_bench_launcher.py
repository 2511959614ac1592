"""The process that starts the ranks of a benchmark, with ranks that are no benchmark."""

import subprocess
import sys
import time
from importlib.resources import files

import pytest

LAUNCHER = files("tracekit.collectors.bench") / "worker" / "tracekit_bench_launcher.py"
PLACE = "import os, signal, sys, time; rank = int(os.environ['RANK'])\n"


def launch(tmp_path, code, n_ranks=3):
    script = tmp_path / "rank.py"
    script.write_text(PLACE + code)
    command = [sys.executable, LAUNCHER, str(n_ranks), tmp_path / "store", script, "word"]
    return subprocess.run(command, capture_output=True, text=True, timeout=30)


def test_each_rank_knows_its_place(tmp_path):
    names = "RANK LOCAL_RANK WORLD_SIZE LOCAL_WORLD_SIZE TRACEKIT_BENCH_STORE"
    code = f"""
words = [*(os.environ[name] for name in {names!r}.split()), sys.argv[1]]
os.write(1, (" ".join(words) + "\\n").encode())  # at once: the ranks share the pipe
"""
    done = launch(tmp_path, code)
    assert done.returncode == 0
    store = f"file://{tmp_path / 'store'} word"
    assert sorted(done.stdout.splitlines()) == [f"{n} {n} 3 3 {store}" for n in range(3)]


@pytest.mark.parametrize(
    ("code", "exit_code", "said"),
    [
        ("sys.exit(7) if rank == 1 else time.sleep(600)", 7, "rank 1: exited with 7"),
        ("os.kill(os.getpid(), 9) if rank == 2 else sys.exit(1)", 137, "rank 2: killed by signal"),
    ],
)
def test_one_that_fails_ends_all_and_is_told(tmp_path, code, exit_code, said):
    done = launch(tmp_path, code)
    assert done.returncode == exit_code
    assert done.stdout.startswith(said)


def test_one_that_does_not_end_when_told_to_is_killed(tmp_path):
    pids = tmp_path / "pids"
    pids.mkdir()
    code = f"""
signal.signal(signal.SIGTERM, signal.SIG_IGN)
open(os.path.join({str(pids)!r}, str(os.getpid())), "w").close()
while len(os.listdir({str(pids)!r})) < 3:
    time.sleep(0.01)
sys.exit(1) if rank == 0 else time.sleep(600)
"""
    assert launch(tmp_path, code).returncode == 1
    time.sleep(0.2)  # for the kernel to bury them
    commands = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True).stdout
    assert str(tmp_path / "rank.py") not in commands
