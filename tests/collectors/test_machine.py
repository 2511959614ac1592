"""Facts on the machine, with tools that are there, missing or broken."""

import json
import shutil
import subprocess

import pytest
from fake_tools import FAILING, GARBAGE, HANGING, NVIDIA_SMI

from tracekit.collectors.context import machine as module
from tracekit.collectors.context.machine import machine


def test_facts_are_plain_values_for_run_json(tools, tmp_path):
    facts = machine(tmp_path / "machine", tmp_path)
    assert json.loads(json.dumps(facts)) == facts
    assert facts["cpu"]["n_cores_allowed"] >= 1
    assert 0 < facts["memory"]["MemAvailable"] < facts["memory"]["MemTotal"]
    assert facts["gpus"] == []
    assert facts["git"] is None
    assert facts["problems"] == []
    assert not (tmp_path / "machine").exists()


def test_tools_are_kept_as_they_answer(tools, tmp_path):
    tools.put("nvidia-smi", NVIDIA_SMI)
    tools.put("rocm-smi", 'echo "rocm $*"')
    folder = tmp_path / "machine"
    facts = machine(folder, tmp_path)
    assert facts["gpus"][1] == {"index": "1", "name": "NVIDIA H100", "driver_version": "550.54"}
    assert (folder / "nvidia-smi_topo.txt").read_text() == (
        "        GPU0  GPU1\nGPU0     X    PIX\n"
    )
    assert (folder / "rocm-smi_topo.txt").read_text() == "rocm --showtopo\n"
    assert sorted(path.name for path in folder.iterdir()) == [
        "nvidia-smi.csv",
        "nvidia-smi_topo.txt",
        "rocm-smi.txt",
        "rocm-smi_topo.txt",
    ]


def test_a_tool_that_fails_is_told_and_not_kept(tools, tmp_path):
    tools.put("nvidia-smi", FAILING)
    facts = machine(tmp_path / "machine", tmp_path)
    assert facts["gpus"] == []
    assert facts["problems"][1] == (
        "nvidia-smi topo -m: exit code 18: Failed to initialize NVML:"
        " Driver/library version mismatch"
    )
    assert not (tmp_path / "machine").exists()


def test_a_tool_that_hangs_is_asked_once(tools, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "TOOL_TIMEOUT_S", 0.3)
    tools.put("nvidia-smi", f"echo x >> {tools.folder}/asked; {HANGING}")
    (problem,) = machine(tmp_path / "machine", tmp_path)["problems"]
    assert problem.endswith("no answer in 0.3 s")
    assert (tools.folder / "asked").read_text() == "x\n"
    assert not tools.is_running()


def test_garbage_is_no_gpu(tools, tmp_path):
    tools.put("nvidia-smi", GARBAGE)
    assert machine(tmp_path / "machine", tmp_path)["gpus"] == []


@pytest.fixture
def repository(tmp_path):
    folder = tmp_path / "repository"
    run = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", "init", "-q", "-b", "work", str(folder)], check=True)
    (folder / "a").write_text("a")
    subprocess.run([*run, "add", "a"], check=True)
    subprocess.run([*run, "commit", "-q", "-m", "a"], check=True)
    return folder


@pytest.mark.skipif(not shutil.which("git"), reason="needs git")
def test_state_of_git(repository):
    clean = machine(cwd=repository)["git"]
    assert len(clean.pop("commit")) == 40
    assert clean == {"branch": "work", "is_dirty": False}
    (repository / "untracked").write_text("x")
    assert machine(cwd=repository)["git"]["is_dirty"] is False
    (repository / "a").write_text("b")
    assert machine(cwd=repository)["git"]["is_dirty"] is True
