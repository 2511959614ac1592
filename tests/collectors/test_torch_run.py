"""What `tracekit capture --engine torch` records of scripts, with a stand-in for torch.

tests/vllm/test_torch_run.py has the same with the real one.
"""

import os
import signal
import subprocess
import sys
import threading
import time

import duckdb
import pytest
from scripts import FAKE_TORCH, TRAIN, Script

import tracekit
from tracekit.collectors.run_folder import RunFolder

TWO_RANKS = """
    import os, subprocess, sys
    os.environ["WORLD_SIZE"] = "2"
    ranks = [
        subprocess.Popen([sys.executable, "worker.py"], env={**os.environ, "RANK": rank})
        for rank in "01"
    ]
    sys.exit(max(rank.wait() for rank in ranks))
"""


@pytest.fixture
def script(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return Script(RunFolder(tmp_path / "run"))


def steps(n):
    return [f"ProfilerStep#{number}" for number in range(n)]


def test_optimizer_steps_bound_the_recording(script):
    script.record(TRAIN.format(steps=9))
    assert script.error is None
    assert script.steps_of() == steps(3)
    assert script.run_json["status"] == "complete"
    assert script.run_json["engine"] == {"name": "torch", "version": "2.9.0"}


def test_the_window_is_that_of_the_trace(script):
    before = time.time_ns()
    (window,) = script.record(TRAIN.format(steps=9)).run_json["windows"]
    assert window["is_profiled"] is True
    assert before < window["start_ns"] < window["start_ns"] + window["dur_ns"] < time.time_ns()


def test_of_several_optimizers_the_first_counts(script):
    script.record("""
        import torch
        one, other = torch.optim.Optimizer(), torch.optim.Optimizer()
        for _ in range(3):
            one.step()
            other.step()
    """)
    assert script.steps_of() == steps(
        3
    )  # after one to warm up: two, and what is left of the script


def test_a_scope_around_the_whole_script_survives_all_recordings(script):
    script.record("""
        import torch
        from torch.autograd.profiler import record_function
        with record_function("outer"), record_function("inner"):
            model, optimizer = torch.nn.Module(), torch.optim.Optimizer()
            for _ in range(2):
                model(1)
                optimizer.step()
    """)
    assert script.error is None
    assert script.steps_of() == steps(2)


def test_a_script_without_steps_is_one_window(script):
    script.record("import torch; torch.nn.Module()(1)")
    assert script.error is None
    assert script.steps_of() == steps(1)


def test_what_came_before_the_first_call_of_a_model_is_dropped(script):
    script.record("""
        import time, torch
        time.sleep(0.5)
        torch.nn.Module()(1)
    """)
    (window,) = script.run_json["windows"]
    assert window["dur_ns"] < 500_000_000


def test_a_window_without_steps_ends_in_time(script, monkeypatch):
    monkeypatch.setattr("tracekit.collectors.engines.torch_run.EARLY_S", 0.1)
    script.record("""
        import time, torch
        torch.nn.Module()(1)
        deadline = time.monotonic() + 1.5
        while time.monotonic() < deadline:
            pass
    """)
    (window,) = script.run_json["windows"]
    assert 100_000_000 < window["dur_ns"] < 1_400_000_000


@pytest.mark.parametrize(
    ("end", "code"),
    [("raise ValueError('no luck')", 1), ("import sys; sys.exit(7)", 7), ("1", None)],
)
def test_the_trace_is_written_and_the_exit_code_passed_on(script, end, code):
    script.record(f"import torch; torch.nn.Module()(1)\n{end}")
    assert script.steps_of() == steps(1)
    assert code == (script.error and script.error.exit_code)


def test_a_script_that_a_signal_ends_writes_its_trace(script):
    script.record("import os, signal, torch; os.kill(os.getpid(), signal.SIGTERM)")
    assert script.steps_of() == steps(1)
    assert script.error.exit_code == 128 + signal.SIGTERM


def test_the_scripts_own_handler_of_sigterm_stays(script):
    script.record("""
        import os, signal, sys
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(9))
        import torch
        os.kill(os.getpid(), signal.SIGTERM)
    """)
    assert script.error.exit_code == 9
    assert script.steps_of() == steps(1)


def test_each_rank_writes_one_trace_and_a_launcher_none(script, tmp_path):
    (tmp_path / "worker.py").write_text(
        "import torch; torch.distributed.init_process_group('gloo')"
    )
    script.record(f"import torch\n{TWO_RANKS.replace('    ', '')}")
    assert script.error is None
    assert sorted(path.name for path in script.folder.traces.iterdir()) == [
        "rank0.pt.trace.json.gz",
        "rank1.pt.trace.json.gz",
    ]
    tracekit.ingest([script.folder.path], run="two", db=tmp_path / "two.duckdb")
    with duckdb.connect(tmp_path / "two.duckdb", read_only=True) as con:
        rows = con.sql("SELECT rank, count(*) FROM steps GROUP BY ALL ORDER BY ALL").fetchall()
    assert rows == [(0, 1), (1, 1)]


def test_a_rank_of_spawned_processes_is_known_after_they_leave_their_group(script):
    script.record("""
        import multiprocessing, torch
        def work(rank):
            torch.distributed.init_process_group("gloo", rank=rank, world_size=2)
            torch.nn.Module()(1)
            torch.distributed.destroy_process_group()
        if __name__ == "__main__":
            context = multiprocessing.get_context("spawn")
            ranks = [context.Process(target=work, args=(rank,)) for rank in range(2)]
            for rank in ranks: rank.start()
            for rank in ranks: rank.join()
    """)
    assert script.error is None
    assert (script.steps_of(0), script.steps_of(1)) == (steps(1), steps(1))


def test_helper_processes_of_a_rank_write_no_trace(script, tmp_path):
    (tmp_path / "helper.py").write_text("import torch; torch.nn.Module()(1)")
    script.record("""
        import subprocess, sys, torch
        optimizer = torch.optim.Optimizer()
        subprocess.run([sys.executable, "helper.py"], check=True)
        for _ in range(5): optimizer.step()
    """)
    assert script.steps_of() == steps(3)


def test_a_profiler_of_the_scripts_own_goes_first(script):
    script.record("""
        import torch
        own = torch.profiler.profile()
        own.start()
        own.stop()
    """)
    assert script.error is None
    assert "the script starts a profiler of its own" in script.log
    assert script.steps_of() == steps(1)


def test_a_sitecustomize_that_was_there_still_runs(script, tmp_path):
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text("print('here as ever')")
    path = os.pathsep.join([str(FAKE_TORCH), str(tmp_path / "site")])
    script.record("import torch", env={"PYTHONPATH": path})
    assert script.log.count("here as ever") == 1


def test_a_script_without_torch_is_told_of(script):
    script.record("print('hello')")
    assert "no process of the script imported torch" in str(script.error)
    assert script.run_json["status"] == "failed"


def test_a_full_disk_is_told_of_and_leaves_no_half_trace(script):
    script.record("import torch", env={"FAKE_TORCH": "full disk"})
    assert "is the disk full?" in str(script.error)
    assert list(script.folder.traces.glob("*")) == []


def test_a_rank_that_is_killed_is_missing(script):
    script.record("import os, torch; os.system(f'kill -9 {os.getpid()}')")
    assert script.error.exit_code == 128 + signal.SIGKILL


def test_ctrl_c_ends_the_script_and_keeps_its_trace(script, tmp_path):
    pid = tmp_path / "pid"

    def interrupt():
        while not (pid.exists() and pid.read_text()):
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    script.record(f"""
        import os, pathlib, time, torch
        torch.nn.Module()(1)
        pathlib.Path({str(pid)!r}).write_text(str(os.getpid()))
        time.sleep(60)
    """)
    assert script.error.exit_code == 130
    assert script.steps_of() == steps(1)
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)
    tracekit.ingest([script.folder.path], run="cut", db=tmp_path / "cut.duckdb")


def test_the_command_prints_the_breakdown(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("import torch\no = torch.optim.Optimizer()\nfor _ in range(9): o.step()")
    words = ["capture", "--engine", "torch", "--run", "mine", "--steps", "3", "--"]
    done = subprocess.run(
        [sys.executable, "-m", "tracekit", *words, sys.executable, script],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(FAKE_TORCH)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "3 steps" in done.stdout
