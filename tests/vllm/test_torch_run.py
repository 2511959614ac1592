"""`tracekit capture --engine torch` and `tracekit.profile` with a real torch on the CPU."""

import os
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest
import readme
from cpu_server import vllm_python
from user import User

import tracekit

pytestmark = pytest.mark.vllm

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


@pytest.fixture(scope="module")
def python():
    return vllm_python()


def capture(folder, *command, **env):
    words = ["capture", "--engine", "torch", "--run", "train", "--steps", "4", "--"]
    return subprocess.run(
        [sys.executable, "-m", "tracekit", *words, *command],
        cwd=folder,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
    )


def rows(folder, sql):
    with duckdb.connect(folder / "tracekit.duckdb", read_only=True) as con:
        return con.execute(sql).fetchall()


def test_torchrun_gives_a_run_of_two_ranks_with_steps_and_collectives(tmp_path, python):
    """By the README's command."""
    script = {"script.py": HERE / "torch_train.py"}
    words = readme.words(readme.TORCH, ("--steps", "4"), NAME="train", **script)
    done = User(tmp_path, python.parent).run(words)
    assert "2 of 2 ranks" in done.stdout
    assert rows(tmp_path, "SELECT rank, count(*) FROM steps GROUP BY ALL ORDER BY ALL") == [
        (0, 4),
        (1, 4),
    ]
    of_steps = """
        SELECT rank, count(DISTINCT step) FROM activities
        WHERE category = 'all_reduce' GROUP BY ALL ORDER BY ALL
    """
    assert rows(tmp_path, of_steps) == [(0, 4), (1, 4)]


@pytest.mark.parametrize(("end", "code"), [("exit", 3), ("raise", 1)])
def test_a_script_that_fails_is_recorded_and_its_code_passed_on(tmp_path, python, end, code):
    env = {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "0"}
    done = capture(tmp_path, python, HERE / "torch_train.py", TRAIN_END=end, TRAIN_STEPS="2", **env)
    assert done.returncode == code, done.stderr
    run = tmp_path / "tracekit-runs" / "train"
    tracekit.ingest([run], run="failed", db=tmp_path / "tracekit.duckdb", replace=True)
    assert rows(tmp_path, "SELECT count(*) FROM steps WHERE run = 'failed'") == [(2,)]


def test_profile_around_a_loop(tmp_path, python):
    packages = tmp_path / "packages" / "tracekit"  # tracekit as that Python would have it installed
    packages.mkdir(parents=True)
    for path in [*(ROOT / "tracekit").iterdir(), ROOT / "collectors"]:
        (packages / path.name).symlink_to(path)
    env = {**os.environ, "PYTHONPATH": str(packages.parent)}
    script = [python, HERE / "torch_infer.py", tmp_path / "mine"]
    subprocess.run(script, env=env, check=True)
    tracekit.ingest([tmp_path / "mine"], db=tmp_path / "tracekit.duckdb")
    assert rows(tmp_path, "SELECT run, count(*) FROM steps GROUP BY ALL") == [("mine", 3)]
