"""`with tracekit.profile(folder):` in a script, with a stand-in for torch."""

import json
import os
import subprocess
import sys
import textwrap

import duckdb
import pytest
from scripts import FAKE_TORCH, Script

import tracekit
from tracekit.collectors.run_folder import RunFolder


def run(folder, code, env=None, torch=FAKE_TORCH):
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), "--hf-token", "hf_planted0secret0here"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(torch), **(env or {})},
        capture_output=True,
        text=True,
    )


def n_steps(folder, tmp_path):
    db = tmp_path / "profile.duckdb"
    tracekit.ingest([folder], run="profile", db=db)
    with duckdb.connect(db, read_only=True) as con:
        return con.execute("SELECT count(*) FROM steps").fetchone()[0]


def test_warm_up_is_left_out_and_steps_bound_the_window(tmp_path):
    done = run(
        tmp_path,
        """
        import tracekit
        with tracekit.profile("out", steps=3, warmup=2) as p:
            for _ in range(10): p.step()
        """,
    )
    assert done.returncode == 0, done.stderr
    assert n_steps(tmp_path / "out", tmp_path) == 3


def test_the_folder_says_what_ran_and_keeps_no_secret(tmp_path):
    run(tmp_path, "import tracekit\nwith tracekit.profile('out'): pass", {"HF_TOKEN": "planted1"})
    text = (tmp_path / "out" / "run.json").read_text()
    said = json.loads(text)
    assert said["engine"] == {"name": "torch", "version": "2.9.0"}
    assert said["files"] == {"traces/rank0.pt.trace.json.gz": "trace"}
    assert "planted" not in text


def test_a_body_that_fails_is_written_and_its_error_stays(tmp_path):
    done = run(tmp_path, "import tracekit\nwith tracekit.profile('out'): raise ValueError('mine')")
    assert done.stderr.strip().endswith("ValueError: mine")
    assert n_steps(tmp_path / "out", tmp_path) == 1


def test_each_rank_writes_into_the_same_folder(tmp_path):
    for rank in "10":
        code = "import tracekit\nwith tracekit.profile('out'): pass"
        assert run(tmp_path, code, {"RANK": rank, "WORLD_SIZE": "2"}).returncode == 0
    names = [path.name for path in sorted((tmp_path / "out" / "traces").iterdir())]
    assert names == ["rank0.pt.trace.json.gz", "rank1.pt.trace.json.gz"]


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("with tracekit.profile('out', warmup=5) as p: p.step()", "nothing recorded, 1 calls"),
        ("for _ in range(2):\n  with tracekit.profile('out'): pass", "is there already"),
    ],
)
def test_what_cannot_be_recorded_is_told(tmp_path, code, message):
    assert message in run(tmp_path, f"import tracekit\n{code}").stderr


def test_without_torch_the_extra_is_named(tmp_path):
    done = run(tmp_path, "import tracekit\nwith tracekit.profile('out'): pass", torch=tmp_path)
    assert "pip install 'tracekit-llm[torch]'" in done.stderr


def test_in_a_capture_the_trace_goes_to_the_capture(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    script = Script(RunFolder(tmp_path / "run"))
    script.record("""
        import torch, tracekit
        torch.nn.Module()(1)
        with tracekit.profile("out") as p:
            for _ in range(9): p.step()
    """)
    assert script.error is None
    assert script.steps_of() == ["ProfilerStep#0", "ProfilerStep#1", "ProfilerStep#2"]
    assert not (tmp_path / "out").exists()
